/**
 * The app as a value: its files, its store and its prefix; its states: each row of the table in
 * core/app/service.ts, and each way between two of them; and its listener in servers of other
 * programs: plain, after middleware, mounted.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { createApp, openApp } from '../../src/app.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { createHttpServer } from '../../src/index.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { CHUNKED, CREATE, requestOf } from '../support/http/requests.ts';
import { KEY, listenFor, openService } from '../support/http/service.ts';
import { statusesOf, talk } from '../support/http/wire.ts';
import { ROOT } from '../support/process/carry.ts';
import { runNode } from '../support/process/process.ts';

test('An app whose API keys are all for the metrics only logs a warning, also later', () => {
  const warnings: unknown[] = [];
  const log = (...line: readonly unknown[]): void => void warnings.push(line);
  const scraper = { key: 'scraper', only: 'metrics' } as const;
  const app = createApp({ store: createMemoryStore(), apiKeys: [scraper, KEY], log });
  assert.deepEqual(warnings, []);
  app.setApiKeys([scraper]);
  const event = 'No API key is valid for the API, only for single rights';
  assert.deepEqual(warnings, [['warn', event, { keys: 1 }]]);
  createApp({ store: createMemoryStore(), apiKeys: [scraper], log });
  assert.equal(warnings.length, 2);
});

test('Without a logger, the reason of a 500 is a warning of the process', async (t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const store = { ...createMemoryStore(), list: () => Promise.reject(new Error('A bug')) };
  const service = await openService(t, { store });
  assert.equal((await service.fetch('/v1/pets')).status, 500);
  await new Promise(setImmediate);
  const [{ name, message } = new Error('no warning')] = warnings;
  assert.match(`${name}: ${message}`, /^PetstoreWarning: A request failed: Error: A bug\n/);
});

test('The data file may be a path or a file: URL; an app that is closed while it opens releases it', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const url = pathToFileURL(path);
  for (const [index, dataFile] of [path, url, url.href].entries()) {
    const options = { dataFile, apiKeys: [KEY] };
    const closed = createApp(options);
    const opening = closed.open();
    await closed.close();
    const app = await openApp(options);
    await opening;
    assert.equal((await app.pets.create({ name: 'Rex', categoryId: 7 })).id, BigInt(index + 1));
    await app.close();
  }
});

test('The package can be loaded with require, and serves where the built-in objects are frozen', async () => {
  const script = `
    const { openApp } = require(${JSON.stringify(join(ROOT, 'dist', 'index.js'))});
    void openApp({ memory: true, apiKeys: ['a-key'] }).then(({ listener }) => {
      const server = require('node:http').createServer(listener).listen(0, async () => {
        const url = 'http://127.0.0.1:' + server.address().port + '/v1/pets';
        const headers = { Authorization: 'Bearer a-key', Connection: 'close' };
        const answers = [await fetch(url), await fetch(url, { headers })];
        console.log(answers.map(({ status }) => status).join());
        process.exit();
      });
    });`;
  const run = await runNode(['--frozen-intrinsics', '-e', script]);
  assert.equal(run.stdout, '401,200\n', run.stderr);
});

/** Requests, the status without an API key and with it, and what the response has. */
const AT_SHOP: readonly (readonly [string, number, number, RegExp?])[] = [
  ['POST /shop/v1/pets', 401, 201, /^\/shop\/v1\/pets\/1$/m],
  ['POST /shop/v1/pets', 401, 201],
  ['GET /shop/v1/pets?limit=1', 401, 200, /^<\/shop\/v1\/pets\?limit=1&after=1>; rel="next"$/m],
  ['GET /shop/v1/pets/1', 401, 200, /^<\/shop\/v1\/pets>; rel="successor-version"$/m],
  ['GET /shop/openapi.json', 200, 200, /"servers":\[\{"url":"\/shop"/],
  ['GET /shop/v1/dogs', 401, 404],
  ['GET /shop/v1', 401, 404],
  ['GET /%73hop/v1/dogs', 401, 404],
  ['GET /shop/metrics', 401, 200],
  ['GET /shop/livez', 200, 200],
  ['GET /shop', 404, 404],
  ['GET /v1/pets', 404, 404],
];

test('With a prefix, every path and link begins with it, and the same paths need an API key', async (t) => {
  const service = await openService(t, { prefix: '/shop' });
  for (const [line, withoutKey, withKey, part = /^/] of AT_SHOP) {
    const [method = '', path = ''] = line.split(' ');
    const body = method === 'POST' ? Buffer.from('{"name":"Rex","categoryId":7}') : null;
    const noKey = { method, body, headers: { Authorization: '' } };
    assert.equal((await service.fetch(path, noKey)).status, withoutKey, line);
    const response = await service.fetch(path, { method, body });
    assert.equal(response.status, withKey, line);
    const fields = ['Location', 'Link'].map((name) => response.headers.get(name));
    assert.match([...fields, await response.text()].join('\n'), part);
  }
});

test('A store may return any promise, and its bug or an invalid id is a 500', async (t) => {
  const [store, reason] = [createMemoryStore(), new Error('Lost')];
  const foreign = runInNewContext('(value) => Promise.resolve(value)') as <T>(
    value: T | Promise<T>,
  ) => Promise<T>;
  const service = await openService(t, {
    store: {
      ...store,
      list: (query) => foreign(store.list(query)),
      // A value that has no text.
      get: (id) => (id === 1n ? foreign(undefined) : Promise.reject(Object.create(null))),
      lost: Promise.reject(reason),
      create: async (newPet) => {
        const pet = await store.create(newPet);
        return foreign(pet.id === 1n ? pet : { ...pet, id: '\n2' as unknown as bigint });
      },
    },
  });
  assert.equal((await service.fetch('/v1/pets')).status, 200);
  assert.equal((await service.fetch('/v1/pets/1')).status, 404);
  assert.equal((await service.fetch('/v1/pets/2')).status, 500);
  assert.equal((await service.post({ name: 'a', categoryId: 1 })).status, 201);
  assert.equal((await service.post({ name: 'a', categoryId: 1 })).status, 500);
  assert.equal(await service.app.lost, reason);
});

test('Options may be inherited, as those of a class', async (t) => {
  const options = { store: createMemoryStore(), apiKeys: [KEY], corsOrigins: ['*'] };
  const { listener } = createApp(Object.create(options) as typeof options);
  const port = await listenFor(t, createHttpServer(listener));
  const { headers } = await fetch(`http://127.0.0.1:${port}/livez`, { headers: { Origin: 'a' } });
  assert.equal(headers.get('Access-Control-Allow-Origin'), '*');
});

const STARTING = 'The service is starting';
const STOPPING = 'The service is stopping';
const REASON = 'No space is left';

type Event = 'open' | 'drain' | 'close';

/** What leads to a state, and what list, create and /readyz have there: a result, or an error. */
const ROWS: readonly (readonly [events: readonly Event[], ...outcomes: string[]])[] = [
  [[], STARTING, STARTING, STARTING],
  [['open'], 'pets', 'a pet', REASON],
  [['open', 'drain'], 'pets', STOPPING, STOPPING],
  [['drain'], STOPPING, STOPPING, STOPPING],
  [['drain', 'open'], 'pets', STOPPING, STOPPING],
  [['drain', 'drain'], STOPPING, STOPPING, STOPPING],
  [['close'], STOPPING, STOPPING, STOPPING],
  [['open', 'close'], 'pets', STOPPING, STOPPING],
  [['open', 'drain', 'close'], 'pets', STOPPING, STOPPING],
  [['close', 'drain'], STOPPING, STOPPING, STOPPING],
  [['close', 'close'], STOPPING, STOPPING, STOPPING],
];

for (const [events, ...expected] of ROWS) {
  test(`After [${events.join(', ')}] an app has ${expected.join(', ')}`, async (t) => {
    const store = { ...createMemoryStore(), unreadiness: () => REASON };
    const app = createApp({ store, apiKeys: [KEY] });
    // All at once, so that `open` is still in progress at the next event.
    await Promise.all(events.map((event) => app[event]()));
    const port = await listenFor(t, createHttpServer(app.listener));
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    assert.equal(ready.status, 503);
    const messageOf = ({ name, message }: Error): string => {
      assert.equal(name, 'StoreUnavailableError');
      return message;
    };
    const outcomes = [
      await app.pets.list().then(() => 'pets', messageOf),
      await app.pets.create({ name: 'Rex', categoryId: 7 }).then(() => 'a pet', messageOf),
      ((await ready.json()) as { message: string }).message,
    ];
    assert.deepEqual(outcomes, expected);
  });
}

test('An app whose store did not open says so, and no longer that it is starting', async (t) => {
  // A folder is no data file.
  const app = createApp({ dataFile: tempDir(t), apiKeys: [KEY] });
  await assert.rejects(app.open());
  const message = 'The service did not start';
  await assert.rejects(app.pets.list(), { name: 'StoreUnavailableError', message });
  await assert.rejects(app.pets.create({ name: 'Rex', categoryId: 7 }), { message });
  const port = await listenFor(t, createHttpServer(app.listener));
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  assert.deepEqual([ready.status, ((await ready.json()) as Error).message], [503, message]);
  await app.close();
  await assert.rejects(app.pets.list(), { message: STOPPING });
  // Nobody can close an app that openApp does not return.
  const begun = t.mock.method(globalThis, 'setInterval').mock;
  const ended = t.mock.method(globalThis, 'clearInterval').mock;
  await assert.rejects(openApp({ dataFile: tempDir(t), apiKeys: [KEY] }));
  assert.deepEqual([begun.callCount(), ended.callCount()], [1, 1]);
});

test('An app drains and closes its store, and does not open after it was closed', async (t) => {
  const drain = (): never => {
    throw new Error('A bug');
  };
  const { app } = await openService(t, { store: { ...createMemoryStore(), drain } });
  assert.throws(() => app.drain(), /^Error: A bug$/);
  await assert.rejects(app.pets.create({ name: 'Rex', categoryId: 7 }), { message: STOPPING });
  let closes = 0;
  const store = { ...createMemoryStore(), close: async () => void (closes += 1) };
  const closed = createApp({ store, apiKeys: ['a-key'] });
  await closed.close();
  assert.equal(closes, 1);
  await assert.rejects(closed.open(), { name: 'AbortError' });
  // A stop during the start is no failed start.
  const opening = createApp({ dataFile: tempDir(t), apiKeys: [KEY] });
  const opened = assert.rejects(opening.open());
  await opening.close();
  await opened;
  await assert.rejects(opening.pets.list(), { message: STOPPING });
});

const HEADERS = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };

for (const [what, prepare, created, failures] of [
  ['read', (request) => request.toArray(), 500, 2],
  ['given an encoding', async (request) => request.setEncoding('utf8'), 500, 2],
  ['paused', async (request) => request.pause(), 201, 0],
] as readonly [string, (request: IncomingMessage) => Promise<unknown>, number, number][]) {
  test(`If other code has ${what} the body, a POST is ${created}, and the log has a reason`, async (t) => {
    const logged: unknown[] = [];
    const { app } = await openService(t, {
      log: (_level, event, details) => logged.push([event, details]),
    });
    const server = createServer((request, response) => {
      void prepare(request).then(() => app.listener(request, response));
    });
    const port = await listenFor(t, server);
    for (const [line, fields, body, status] of [
      ['POST /v1/pets', [], '{"name":"Rex","categoryId":7}', created],
      ['POST /v1/pets', [], 'x'.repeat(70_000), 413],
      ['POST /v1/pets', [CHUNKED], '0\r\n\r\n', created === 201 ? 400 : 500],
      ['GET /v1/pets', [], '', 200],
    ] as const) {
      const close = ['Connection: close', ...fields];
      assert.deepEqual(statusesOf(await talk(port, requestOf(line, close, body))), [status]);
    }
    const reason = /^\["A request failed".*put the listener before any body parser/;
    assert.equal(logged.length, failures);
    for (const entry of logged) assert.match(JSON.stringify(entry), reason);
  });
}

test('On a server of node:http, no request is handled behind one that HTTP refuses', async (t) => {
  const { app } = await openService(t);
  const port = await listenFor(t, createServer(app.listener));
  const bytes = requestOf('GET /livez', ['Host: b']) + CREATE;
  assert.deepEqual(statusesOf(await talk(port, bytes)), [400]);
  assert.equal((await app.pets.count()).total, 0);
});

test('Mounted by Express at its prefix, the app serves; at another path, a 404 names the reason', async (t) => {
  const cases = [
    ['/shop', '/shop', '/v1/pets', false],
    ['', '/np', '/v1/pets', true],
    ['/shop', '/np', '/v1/pets?limit=1', true],
    ['/np', '/npc', '/v1/pets', true],
    ['/np', '/np', '/v1/pet', false],
    ['/np', '/NP', '/v1/pets', false],
    ['/np/shop', '/np', '/v1/pets', false],
    ['', '/v1', '/pet', false],
    ['', '/v1/pets', '/', false],
    ['', '', '/v1/pet', false],
  ] as const;
  for (const [prefix, mount, url, isTold] of cases) {
    const { app } = await openService(t, { prefix });
    const server = createServer((request, response) => {
      Object.assign(request, { originalUrl: mount + url, url });
      app.listener(request, response);
    });
    const port = await listenFor(t, server);
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: HEADERS });
    assert.equal(response.status, mount + url === `${prefix}/v1/pets` ? 200 : 404);
    const { message = '' } = (await response.json()) as { message?: string };
    const told = `: the listener is mounted at ${mount}, and its prefix must begin with that`;
    assert.equal(message.endsWith(told), isTold, `${mount} with ${prefix}: ${message}`);
  }
});

test('A wrapper of write that ignores its callback does not stop a long page', async (t) => {
  const { app } = await openService(t);
  for (let pet = 0; pet < 50; pet += 1) {
    await app.pets.create({ name: 'x'.repeat(10_000), categoryId: 1n });
  }
  let ended: Promise<unknown> = Promise.resolve();
  // As the package compression of Express does.
  const server = createServer((request, response) => {
    const write = response.write.bind(response) as (chunk: string, encoding: string) => boolean;
    response.write = (chunk: string, encoding: unknown) => write(chunk, encoding as string);
    ended = once(response, 'finish');
    app.listener(request, response);
  });
  const url = `http://127.0.0.1:${await listenFor(t, server)}/v1/pets?limit=50`;
  const answer = await fetch(url, { headers: HEADERS });
  assert.equal(((await answer.json()) as unknown[]).length, 50);
  await ended;
});
