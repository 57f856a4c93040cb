/** CORS: preflights without an API key, and what a web page of an allowed origin may read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openService, type Service } from '../support/http/service.ts';
import { requestOf, talk } from '../support/http/wire.ts';

const SHOP = 'https://shop.example';
const OTHER = 'https://other.example';
const EXPOSED =
  'Link, Location, Idempotent-Replayed, Deprecation, Sunset, Retry-After, Allow, ' +
  'WWW-Authenticate, X-Request-Id';

function preflight(service: Service, origin: string, path = '/v1/pets'): Promise<Response> {
  return fetch(`${service.origin}${path}`, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type',
    },
  });
}

/** What every response says: who may read it, what of it, and what that depends on. */
function corsOf(headers: { get(name: string): string | null | undefined }): readonly unknown[] {
  const names = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'];
  return names.map((name) => headers.get(name) ?? null);
}

const BROKEN = requestOf('GET /v1/pets', [`Origin: ${SHOP}`, 'A broken field']);
const LONG = requestOf('GET /v1/pets', [`origin:${SHOP}\t`, `X: ${'x'.repeat(20_000)}`]);
const CHUNKED = [`Origin: ${SHOP}`, 'Transfer-Encoding: chunked'];
/** Requests that a part of the service refuses before the listener, and their statuses. */
const REFUSED: readonly (readonly [bytes: string, status: number])[] = [
  [BROKEN, 400],
  [LONG, 431],
  [requestOf('POST /v1/pets', CHUNKED, 'no chunk\r\n'), 400],
  [requestOf('CONNECT a:1', [`Origin: ${SHOP}`]), 405],
];

/** Configured origins, who may read a response to a page of the shop, and its Vary. */
const CONFIGURED: readonly (readonly [
  origins: readonly string[] | undefined,
  allowed: string | null,
  vary: string | null,
])[] = [
  [undefined, null, null],
  [[OTHER, SHOP], SHOP, 'Origin'],
  [['*'], '*', null],
  [[OTHER], null, 'Origin'],
];

for (const [corsOrigins, allowed, vary] of CONFIGURED) {
  const listed = corsOrigins?.join(' and ') ?? 'no origin';
  const can = allowed === null ? 'cannot' : 'can';
  test(`If ${listed} is configured, a page of the shop ${can} read responses`, async (t) => {
    const service = await openService(t, corsOrigins === undefined ? {} : { corsOrigins });
    const expected = [allowed, allowed === null ? null : EXPOSED, vary];
    for (const path of ['/v1/pets', '/v1/pets/1']) {
      const response = await preflight(service, SHOP, path);
      assert.equal(response.status, allowed === null ? 401 : 204, path);
      const { headers } = response;
      assert.equal(corsOf(headers)[0], allowed);
      assert.equal(headers.get('vary'), vary);
      if (allowed === null) continue;
      assert.equal(headers.get('access-control-allow-methods'), 'GET, HEAD, POST');
      const fields = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id';
      assert.equal(headers.get('access-control-allow-headers'), fields);
    }
    const headers = { Origin: SHOP };
    const responses = [
      await service.fetch('/v1/pets', { headers }),
      await service.fetch('/v1/pets/1', { headers }),
      await service.post('{', headers),
      // Without the fields of a preflight, OPTIONS needs an API key.
      await fetch(`${service.origin}/v1/pets`, { method: 'OPTIONS', headers }),
    ];
    assert.deepEqual(
      responses.map((response) => response.status),
      [200, 404, 400, 401],
    );
    for (const response of responses) assert.deepEqual(corsOf(response.headers), expected);
    for (const [bytes, status] of REFUSED) {
      const [answer] = await talk(service.port, bytes);
      assert.equal(answer?.status, status);
      assert.deepEqual(corsOf(answer!.headers), expected);
    }
  });
}

test('Another origin than a configured one needs an API key for a preflight', async (t) => {
  const service = await openService(t, { corsOrigins: [SHOP] });
  for (const origin of ['https://shop.example.evil', 'null', 'HTTPS://SHOP.example']) {
    assert.equal((await preflight(service, origin)).status, 401, origin);
  }
});

test('Any web page may read the description, and each error at its path', async (t) => {
  for (const options of [{}, { corsOrigins: [OTHER] }]) {
    const service = await openService(t, options);
    const asked = await preflight(service, SHOP, '/openapi.json');
    assert.equal(asked.headers.get('access-control-allow-methods'), 'GET, HEAD');
    assert.equal(asked.headers.get('access-control-allow-headers'), '*, Authorization');
    const headers = { Origin: SHOP };
    const answers = [
      asked,
      await service.fetch('/openapi.json', { headers }),
      await service.fetch('/openapi.json', { headers, method: 'POST', body: '{}' }),
      await service.fetch('/openapi.json', { headers, method: 'OPTIONS' }),
      await service.fetch('/openapi.json?%', { headers }),
    ];
    const statuses = answers.map((answer) => answer.status);
    assert.deepEqual(statuses, [204, 200, 405, 204, 400]);
    for (const answer of answers) assert.equal(corsOf(answer.headers)[0], '*');
  }
});
