/** CORS: preflights without an API key, and what a web page of an allowed origin may read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY, openService, type Service } from '../support/http/service.ts';
import { lastRequestOf } from '../support/http/requests.ts';
import { talk } from '../support/http/wire.ts';

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

const request = (line: string, field = 'X: x', body = ''): string =>
  lastRequestOf(line, [`origin:${SHOP}\t`, field], body);

/** Requests of the shop, and their statuses. */
const REQUESTS: readonly (readonly [bytes: string, status: number])[] = [
  [request('GET /v1/pets'), 200],
  [request('GET /v1/pets/1'), 404],
  [request('POST /v1/pets', 'X: x', '{'), 400],
  // Without the fields of a preflight, OPTIONS needs an API key.
  [request('OPTIONS /v1/pets').replace(KEY, 'no'), 401],
];

/** Configured origins, who may read a response to a page of the shop, and its Vary. */
const CONFIGURED = [
  [undefined, null, null],
  [[OTHER, SHOP], SHOP, 'Origin'],
  [['*'], '*', null],
  [[OTHER], null, 'Origin'],
] as const;

for (const [corsOrigins, allowed, vary] of CONFIGURED) {
  const listed = corsOrigins?.join(' and ') ?? 'no origin';
  const can = allowed === null ? 'cannot' : 'can';
  test(`If ${listed} is configured, a page of the shop ${can} read responses`, async (t) => {
    const service = await openService(t, { corsOrigins });
    for (const path of ['/v1/pets', '/v1/pets/1']) {
      const { status, headers } = await preflight(service, SHOP, path);
      assert.equal(status, allowed === null ? 401 : 204, path);
      assert.equal(headers.get('access-control-allow-origin'), allowed);
      assert.equal(headers.get('vary'), vary);
      if (allowed === null) continue;
      assert.equal(headers.get('access-control-allow-methods'), 'GET, HEAD, POST');
      const fields = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id';
      assert.equal(headers.get('access-control-allow-headers'), fields);
    }
    for (const origin of allowed === SHOP ? [`${SHOP}.evil`, 'null', 'HTTPS://SHOP.example'] : []) {
      assert.equal((await preflight(service, origin)).status, 401, origin);
    }
    for (const [bytes, status] of REQUESTS) {
      const [answer] = await talk(service.port, bytes);
      assert.equal(answer?.status, status);
      const names = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'];
      const told = names.map((name) => answer!.headers.get(name) ?? null);
      assert.deepEqual(told, [allowed, allowed === null ? null : EXPOSED, vary]);
    }
    // Any web page may read the description.
    const { headers } = await service.fetch('/openapi.json', { headers: { Origin: SHOP } });
    assert.equal(headers.get('access-control-allow-origin'), '*');
  });
}
