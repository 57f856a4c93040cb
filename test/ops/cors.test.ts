/** Browsers: preflights without a key, and what a page of an allowed origin may read. */

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

test('By default no answer speaks of origins, and a preflight needs a key', async (t) => {
  const service = await start(t);
  const answer = await preflight(service, SHOP);
  assert.equal(answer.status, 401);
  const list = await service.fetch('/v1/pets', { headers: { Origin: SHOP } });
  for (const { headers } of [answer, list]) {
    assert.equal(headers.get('access-control-allow-origin'), null);
    assert.equal(headers.get('vary'), null);
  }
});

test('A preflight from a listed origin is answered without a key', async (t) => {
  const service = await start(t, ['https://other.example', SHOP]);
  for (const path of ['/v1/pets', '/v1/pets/1', '/readyz']) {
    const answer = await preflight(service, SHOP, path);
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get('access-control-allow-origin'), SHOP);
    assert.equal(answer.headers.get('access-control-allow-methods'), 'GET, HEAD, POST');
    const allowed = answer.headers.get('access-control-allow-headers');
    assert.equal(allowed, 'Authorization, Content-Type, Idempotency-Key, X-Request-Id');
    assert.equal(answer.headers.get('vary'), 'Origin');
  }
});

test('Another origin is told nothing, and a cache that the answer depends on it', async (t) => {
  const service = await start(t, [SHOP]);
  for (const origin of [
    'https://evil.example',
    'https://shop.example.evil',
    'null',
    'HTTPS://SHOP.example',
  ]) {
    const answer = await preflight(service, origin);
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
    assert.equal(answer.headers.get('vary'), 'Origin');
  }
});

test('OPTIONS that is no preflight still needs a key', async (t) => {
  const service = await start(t, [SHOP]);
  const answer = await fetch(`${service.origin}/v1/pets`, {
    method: 'OPTIONS',
    headers: { Origin: SHOP },
  });
  assert.equal(answer.status, 401);
});

test('Every answer to an allowed origin may be read, errors too', async (t) => {
  const service = await start(t, [SHOP]);
  const headers = { Origin: SHOP };
  const answers = [
    await service.fetch('/v1/pets', { headers }),
    await service.fetch('/v1/pets/1', { headers }),
    await service.fetch('/v1/pets', { headers: { ...headers, Authorization: '' } }),
    await service.post('{', headers),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 404, 401, 400],
  );
  for (const answer of answers) {
    assert.equal(answer.headers.get('access-control-allow-origin'), SHOP);
    assert.equal(answer.headers.get('access-control-expose-headers'), EXPOSED);
    assert.equal(answer.headers.get('vary'), 'Origin');
  }
});

test('With * every origin is allowed, and the answer is the same for all', async (t) => {
  const service = await start(t, ['*']);
  const answer = await preflight(service, 'https://anything.example');
  assert.equal(answer.status, 204);
  assert.equal(answer.headers.get('access-control-allow-origin'), '*');
  assert.equal(answer.headers.get('vary'), null);
});

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
  test(`A page of an allowed origin may read the error for ${what}`, async (t) => {
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

test('The description, and each error at its path, may be read by any page', async (t) => {
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
