/**
 * The log: JSON lines that nothing in a request can forge, request ids, and the access log. CORS:
 * preflights without an API key, and what a web page of an allowed origin may read.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { methodsOf } from '../../src/core/http/router.ts';
import type { PageQuery } from '../../src/core/pets/pet-store.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { createJsonLogger, LineWriter } from '../../src/process/json-log.ts';
import { APP_OPERATIONS } from '../support/description/description.ts';
import { lastRequestOf } from '../support/http/requests.ts';
import { KEY, openService, type Service } from '../support/http/service.ts';
import { talk } from '../support/http/wire.ts';

/** Starts a service, and returns the entries that it logs. */
async function start(t: TestContext, options: object = {}) {
  const entries: Record<string, unknown>[] = [];
  const log = createJsonLogger((line) => entries.push(JSON.parse(line) as Record<string, unknown>));
  const service = await openService(t, { log, accessLog: true, ...options });
  return { service, entries };
}

test('The access log has one line per response, without the query or an API key', async (t) => {
  const apiKeys = ['plain', { key: 'secret-1', name: 'shop-2026' }];
  const { service, entries } = await start(t, { apiKeys });
  const requests = [
    ['/v1/pets?limit=3&token=secret', 'Bearer secret-1', 'shop-2026', 'listPets', 200],
    ['/v1/pets', 'Bearer plain', '', 'listPets', 200],
    ['/v1/pets', 'Bearer guessed', '', '', 401],
    ['/v1/none', '', '', '', 401],
    ['/livez', 'Bearer secret-1', '', 'livez', 200],
  ] as const;
  for (const [path, Authorization, key, operation, status] of requests) {
    const headers = { Authorization, 'X-Forwarded-For': '203.0.113.7' };
    const response = await service.fetch(path, { headers });
    const { time, durationMs, requestId, ...rest } = entries.at(-1)!;
    const expected = { level: 'info', event: 'Answered', client: '127.0.0.1', method: 'GET' };
    const bytes = (await response.text()).length;
    const [plain] = path.split('?');
    assert.deepEqual(rest, { ...expected, path: plain, operation, key, status, bytes });
    assert.match(String(time), /^20[0-9]{2}-[0-9-]+T[0-9:.]+Z$/);
    assert.ok(Number(durationMs) >= 0);
    assert.equal(requestId, response.headers.get('x-request-id'));
  }
  await service.fetch('/v1/pets', { method: 'HEAD', headers: { Authorization: 'Bearer plain' } });
  assert.equal(entries[requests.length]!['bytes'], 0);
  assert.doesNotMatch(JSON.stringify(entries), /secret|guessed|203\.0\.113/);
});

test('The access log has the address of a connection that closed early', async (t) => {
  const store = createMemoryStore();
  const list = async (query: PageQuery): Promise<unknown> => {
    socket.destroy();
    await once(socket, 'close');
    return store.list(query);
  };
  const { service, entries } = await start(t, { store: { ...store, list } });
  const connected = once(service.server, 'connection');
  const failing = assert.rejects(service.fetch('/v1/pets'));
  const [socket] = (await connected) as [Socket];
  await failing;
  while (entries.length === 0) await nextTurn();
  assert.equal(entries[0]!['client'], '127.0.0.1');
});

test("A client's request id is kept if it is short and plain, and replaced if not", async (t) => {
  const { service, entries } = await start(t);
  const sendId = async (id: string): Promise<string> => {
    const response = await service.fetch('/v1/pets', { headers: { 'X-Request-Id': id } });
    const used = response.headers.get('x-request-id');
    assert.equal(entries.at(-1)!['requestId'], used);
    return used ?? '';
  };
  for (const id of ['a', 'abc-123_X.y', 'x'.repeat(64)]) assert.equal(await sendId(id), id);
  for (const id of ['x'.repeat(65), 'a b', 'a"b', 'a,b', '', 'é']) {
    assert.match(await sendId(id), /^[0-9a-f]{8}-[0-9a-f-]{27}$/, id);
  }
});

test('A log entry is one line of JSON, with bigints as text, and long texts truncated', () => {
  const lines: string[] = [];
  const log = createJsonLogger((line) => lines.push(line));
  const [longest, forged] = ['x'.repeat(4096), '"}\r\n{"level":"error"}\u2028'];
  // A pair of surrogates is not split.
  const split = longest.replace('x', '') + '😀';
  for (const cause of [longest, `${longest}x`, split, 2n ** 63n, forged]) {
    log('info', 'Told', { cause });
  }
  const causes = lines.map((line) => (JSON.parse(line) as { cause: unknown }).cause);
  const cuts = [`${longest}…`, split.replace('😀', '…')];
  assert.deepEqual(causes, [longest, ...cuts, '9223372036854775808', forged]);
  assert.doesNotMatch(lines.join(''), /[\r\n]/);
});

test('Without an access log, responses have no request id, and a log that throws or rejects does no harm', async (t) => {
  const log = (): never => {
    throw new Error('The log is broken');
  };
  const rejects = async (): Promise<never> => log();
  const { service, entries } = await start(t, { accessLog: false });
  assert.equal((await service.fetch('/v1/pets')).headers.get('x-request-id'), null);
  assert.deepEqual(entries, []);
  for (const broken of [log, rejects]) {
    const { service } = await start(t, { log: broken });
    assert.equal((await service.fetch('/v1/pets')).status, 200);
    assert.equal((await service.fetch('/v1/none')).status, 404);
  }
});

test('A failure of the service is logged with its cause and the request', async (t) => {
  const list = (): never => {
    throw new Error('The cause\nof it all');
  };
  const { service, entries } = await start(t, { store: { ...createMemoryStore(), list } });
  const response = await service.fetch('/v1/pets?limit=3&token=secret');
  assert.equal(response.status, 500);
  assert.ok(!(await response.text()).includes('cause'));
  const { time: _, cause, ...failure } = entries.find(({ level }) => level === 'error')!;
  const requestId = response.headers.get('x-request-id');
  const expected = { level: 'error', event: 'A request failed', method: 'GET', path: '/v1/pets' };
  assert.deepEqual(failure, { ...expected, requestId });
  assert.match(String(cause), /The cause\nof it all/);
});

const SHOP = 'https://shop.example';
const OTHER = 'https://other.example';
const EXPOSED =
  'Link, Location, Idempotent-Replayed, Deprecation, Sunset, Retry-After, Allow, ' +
  'WWW-Authenticate, X-Request-Id';

const ASKED = 'authorization,content-type,sentry-trace,traceparent';
/** Those of all operations. */
const METHODS = methodsOf(APP_OPERATIONS).join(', ');

function preflight(
  service: Service,
  origin: string,
  path = '/v1/pets',
  asked = ASKED,
): Promise<Response> {
  return fetch(`${service.origin}${path}`, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': asked,
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
      // What the page asked for, as a tool that traces requests does.
      assert.equal(headers.get('access-control-allow-headers'), ASKED);
      assert.equal(headers.get('access-control-allow-methods'), METHODS);
    }
    const usual = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id';
    for (const wrong of ['', 'a b', 'a,', 'a;q=1']) {
      const { headers } = await preflight(service, SHOP, '/v1/pets', wrong);
      const fields = headers.get('access-control-allow-headers');
      assert.equal(fields, allowed === null ? null : usual);
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

test('At most 1 MiB waits for the reader of the log; the rest is dropped, counted and told', async () => {
  let written = '';
  let take: (() => void) | undefined;
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      written += chunk;
      take = done;
    },
  });
  const told: number[] = [];
  const lines = new LineWriter(stream, (dropped) => void told.push(dropped));
  const line = 'x'.repeat(9999);
  for (let count = 0; count < 1000; count += 1) lines.write(line);
  assert.deepEqual([stream.writableLength, lines.dropped, told], [1_050_000, 895, []]);
  while (stream.writableLength > 0) {
    take?.();
    await new Promise(setImmediate);
  }
  assert.deepEqual([written.length, told], [1_050_000, [895]]);
  lines.write(line);
  assert.deepEqual([written.length, lines.dropped], [1_060_000, 895]);
});

test('A line of the log that its disk does not take counts as dropped', async () => {
  const disk = new Writable({ write: (_line, _encoding, done) => done(new Error('ENOSPC')) });
  disk.on('error', () => undefined);
  const lines = new LineWriter(disk, () => undefined);
  lines.write('line');
  await new Promise(setImmediate);
  assert.equal(lines.dropped, 1);
});
