/** CORS: preflights without an API key, and what a web page of an allowed origin may read. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type Service } from '../support/http/service.ts';
import { requestOf, talk } from '../support/http/wire.ts';

const SHOP = 'https://shop.example';
const EXPOSED =
  'Link, Location, Idempotent-Replayed, Deprecation, Sunset, Retry-After, Allow, ' +
  'WWW-Authenticate, X-Request-Id';

async function start(t: TestContext, corsOrigins?: readonly string[]): Promise<Service> {
  const service = await startService(corsOrigins === undefined ? {} : { corsOrigins });
  t.after(() => service.close());
  return service;
}

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

const OTHER = 'https://other.example';

/** Configured origins, the origin of a preflight, its status, and who may read the response. */
const PREFLIGHTS: readonly (readonly [
  origins: readonly string[] | undefined,
  origin: string,
  status: number,
  allowed: string | null,
  vary: string | null,
])[] = [
  [undefined, SHOP, 401, null, null],
  [[OTHER, SHOP], SHOP, 204, SHOP, 'Origin'],
  [['*'], 'https://anything.example', 204, '*', null],
  ...['https://evil.example', 'https://shop.example.evil', 'null', 'HTTPS://SHOP.example'].map(
    (origin) => [[SHOP], origin, 401, null, 'Origin'] as const,
  ),
];

for (const [origins, origin, status, allowed, vary] of PREFLIGHTS) {
  const listed = origins === undefined ? 'no origins' : origins.join(' and ');
  test(`With ${listed}, a preflight from ${origin} without an API key is ${status}`, async (t) => {
    const service = await start(t, origins);
    const headers = { Origin: origin };
    // Without a preflight, OPTIONS of /readyz needs no API key.
    const paths = ['/v1/pets', '/v1/pets/1', ...(status === 204 ? ['/readyz'] : [])];
    for (const path of paths) {
      const response = await preflight(service, origin, path);
      assert.equal(response.status, status, path);
      assert.equal(response.headers.get('access-control-allow-origin'), allowed);
      assert.equal(response.headers.get('vary'), vary);
      if (status !== 204) continue;
      assert.equal(response.headers.get('access-control-allow-methods'), 'GET, HEAD, POST');
      const fields = response.headers.get('access-control-allow-headers');
      assert.equal(fields, 'Authorization, Content-Type, Idempotency-Key, X-Request-Id');
    }
    const responses = [
      await service.fetch('/v1/pets', { headers }),
      await service.fetch('/v1/pets/1', { headers }),
      await service.post('{', headers),
      // Without the fields of a preflight, OPTIONS needs an API key.
      await service.fetch('/v1/pets', {
        method: 'OPTIONS',
        headers: { ...headers, Authorization: '' },
      }),
    ];
    assert.deepEqual(
      responses.map((response) => response.status),
      [200, 404, 400, 401],
    );
    for (const response of responses) {
      assert.equal(response.headers.get('access-control-allow-origin'), allowed);
      const exposed = response.headers.get('access-control-expose-headers');
      assert.equal(exposed, allowed === null ? null : EXPOSED);
      assert.equal(response.headers.get('vary'), vary);
    }
  });
}

const BROKEN_HEADER = requestOf('GET /v1/pets', [`Origin: ${SHOP}`, 'A broken field']);
const LONG_HEADER = requestOf('GET /v1/pets', [`origin:${SHOP}\t`, `X: ${'x'.repeat(20_000)}`]);
const BROKEN_BODY = requestOf(
  'POST /v1/pets',
  [`Origin: ${SHOP}`, 'Transfer-Encoding: chunked'],
  'no chunk\r\n',
);

for (const [what, bytes, status] of [
  ['a header that is not well-formed', BROKEN_HEADER, 400],
  ['a header that is too long', LONG_HEADER, 431],
  ['a body that is not well-formed', BROKEN_BODY, 400],
  ['CONNECT', requestOf('CONNECT a:1', [`Origin: ${SHOP}`]), 405],
] as const) {
  test(`A web page of an allowed origin may read the error for ${what}`, async (t) => {
    const cases = [
      [[SHOP], SHOP, EXPOSED, 'Origin'],
      [['*'], '*', EXPOSED, undefined],
      [['https://other.example'], undefined, undefined, 'Origin'],
      [undefined, undefined, undefined, undefined],
    ] as const;
    for (const [origins, allowed, exposed, vary] of cases) {
      const service = await start(t, origins);
      const [answer] = await talk(service.port, bytes);
      assert.equal(answer?.status, status);
      const { headers } = answer!;
      assert.equal(headers.get('access-control-allow-origin'), allowed);
      assert.equal(headers.get('access-control-expose-headers'), exposed);
      assert.equal(headers.get('vary'), vary);
    }
  });
}

test('Any web page may read the description, and each error at its path', async (t) => {
  for (const origins of [undefined, ['https://other.example']]) {
    const service = await start(t, origins);
    const asked = await preflight(service, SHOP, '/openapi.json');
    assert.equal(asked.status, 204);
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
    for (const answer of answers) {
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    }
  }
});
