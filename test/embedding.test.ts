/**
 * The app within other programs: mounted, beside others like it, over another store, and as the
 * README shows it.
 */

import assert from 'node:assert/strict';
import { constants } from 'node:buffer';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, request as tlsRequest } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { createApp, openApp, type App } from '../src/app.ts';
import { createClient, stringifyPet as stringifyFromClient } from '../src/client/client.ts';
import { stopServer } from '../src/http/stop-server.ts';
import { StoreUnavailableError, type PetStore } from '../src/model/pet-store.ts';
import { InvalidPetError } from '../src/model/pet-text.ts';
import { stringifyPet } from '../src/model/stringify-pet.ts';
import { createMemoryStore } from '../src/stores/memory-store.ts';
import { CERTIFICATE_PEM, KEY_PEM } from './support/process/certificate.ts';
import { tempDir } from './support/disk/temp-dir.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const KEY = 'a-key';
const HEADERS = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  return listen(t, createServer(listener));
}

async function listen(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function openMemoryApp(t: TestContext, prefix = ''): Promise<App> {
  const app = await openApp({ store: createMemoryStore(), apiKeys: [KEY], prefix });
  t.after(() => app.close());
  return app;
}

test('Two apps on two files in one process are two services', async (t) => {
  const folder = tempDir(t);
  const apps = await Promise.all(
    ['first', 'second'].map((name) =>
      openApp({ dataFile: join(folder, `${name}.json`), apiKeys: [`${name}-key`] }),
    ),
  );
  const [first, second] = await Promise.all(apps.map(({ listener }) => serve(t, listener)));
  const post = (host: string, key: string, name: string): Promise<Response> =>
    fetch(`http://${host}/v1/pets`, {
      method: 'POST',
      headers: { ...HEADERS, Authorization: `Bearer ${key}` },
      body: JSON.stringify({ name, categoryId: 7 }),
    });
  assert.equal((await post(first!, 'first-key', 'Rex')).status, 201);
  assert.equal((await post(second!, 'first-key', 'Rex')).status, 401);
  const answer = await post(second!, 'second-key', 'Tom');
  assert.equal(await answer.text(), '{"id":1,"name":"Tom","categoryId":7}');
  await apps[0]!.close();
  assert.equal((await post(second!, 'second-key', 'Tim')).status, 201);
  await apps[1]!.close();
  const stored = readFileSync(join(folder, 'first.json'), 'utf8');
  assert.deepEqual(JSON.parse(stored), [{ id: 1, name: 'Rex', categoryId: 7 }]);
});

test('The second app on one file is refused, and harms neither it nor the first', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const app = await openApp({ dataFile, apiKeys: [KEY] });
  await assert.rejects(openApp({ dataFile, apiKeys: [KEY] }), /in use/);
  await app.pets.create({ name: 'Rex', categoryId: 7n });
  await app.close();
  const again = await openApp({ dataFile, apiKeys: [KEY] });
  assert.equal((await again.pets.count()).total, 1);
  await again.close();
});

test('To import and to use the app adds no listener, and nothing that keeps the process', async (t) => {
  const script = `
    const before = process.eventNames();
    const { openApp } = await import(${JSON.stringify(join(root, 'dist', 'index.js'))});
    const app = await openApp({ dataFile: 'pets.json', apiKeys: ['a-key'] });
    await app.pets.create({ name: 'Rex', categoryId: 7n });
    const added = process.eventNames().filter((name) => !before.includes(name));
    await app.close();
    process.on('exit', () => console.log(JSON.stringify(added)));`;
  const args = ['--input-type=module', '-e', script];
  const { stdout, stderr } = await run(process.execPath, args, {
    cwd: tempDir(t),
    timeout: 60_000,
  });
  assert.deepEqual([stdout, stderr], ['[]\n', '']);
});

test('Under a prefix, every path and every link has it', async (t) => {
  const app = await openMemoryApp(t, '/shop/pets.2');
  const host = await serve(t, (request, response) => {
    if (request.url?.startsWith('/shop/') === true) app.listener(request, response);
    else response.end('something else');
  });
  const send = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://${host}${path}`, { headers: HEADERS, ...init });
  const body = '{"name":"Rex","categoryId":7}';
  for (const id of [1, 2]) {
    const created = await send('/shop/pets.2/v1/pets', { method: 'POST', body });
    assert.equal(created.headers.get('Location'), `/shop/pets.2/v1/pets/${id}`);
  }
  const list = await send('/shop/pets.2/v1/pets?limit=1');
  assert.equal(list.headers.get('Link'), '</shop/pets.2/v1/pets?limit=1&after=1>; rel="next"');
  const pet = await send('/shop/pets.2/v1/pets/1');
  assert.equal(pet.headers.get('Link'), '</shop/pets.2/v1/pets>; rel="successor-version"');
  assert.equal((await send('/shop/pets.2/readyz', { headers: {} })).status, 200);
  const description = await send('/shop/pets.2/openapi.json');
  const { servers } = (await description.json()) as { servers: { url: string }[] };
  assert.equal(servers[0]?.url, '/shop/pets.2');
  assert.equal(await (await send('/v1/pets')).text(), 'something else');
});

test('Under a prefix, what needs a key and what is not there is told apart as without', async (t) => {
  const { listener } = await openMemoryApp(t, '/shop');
  const host = await serve(t, listener);
  const cases: readonly (readonly [path: string, withoutKey: number, withKey: number])[] = [
    ['/shop/v1/pets', 401, 200],
    ['/shop/v1/dogs', 401, 404],
    ['/shop/v1', 401, 404],
    ['/%73hop/v1/dogs', 401, 404],
    ['/shop/metrics', 401, 200],
    ['/shop/livez', 200, 200],
    ['/shop/v2/pets', 404, 404],
    ['/shop', 404, 404],
    ['/v1/pets', 404, 404],
    ['/livez', 404, 404],
    ['/shop/shop/v1/pets', 404, 404],
  ];
  for (const [path, withoutKey, withKey] of cases) {
    assert.equal((await fetch(`http://${host}${path}`)).status, withoutKey, path);
    assert.equal(
      (await fetch(`http://${host}${path}`, { headers: HEADERS })).status,
      withKey,
      path,
    );
  }
});

test('A prefix that is no plain path is a TypeError', () => {
  for (const prefix of ['shop', '/', '/shop/', '//shop', '/a b', '/{id}', '/%41', '/..', '/a/.']) {
    const create = (): App => createApp({ store: createMemoryStore(), apiKeys: [KEY], prefix });
    assert.throws(create, { name: 'TypeError', message: /^prefix: / }, prefix);
  }
});

const UNREADABLE: object = {
  get [Symbol.toStringTag](): string {
    throw new Error('Not for you');
  },
};

test('What an app cannot be made with is told at once, in a TypeError', async () => {
  const store = createMemoryStore();
  const create = (options: object): App => createApp({ store, apiKeys: [KEY], ...options });
  const options = {
    dataFile: 'pets.json',
    apiKeys: ['good', 'not good', ''],
    prefix: 'shop',
    corsOrigins: ['https://a.example', '*', 'https://a.example/'],
    bodyLimitBytes: 0,
  };
  assert.throws(() => create(options), {
    name: 'TypeError',
    message: [
      'apiKeys[1]: a key must be of visible ASCII characters, without a space',
      'apiKeys[2]: a key must not be empty',
      'corsOrigins[2]: expected an origin such as https://shop.example, or *, not "https://a.example/"',
      'dataFile, memory, etcd, store: expected one of them',
      'prefix: expected segments such as /shop, not "shop"',
      'bodyLimitBytes: expected an integer from 1 to 5242880, not 0',
    ].join('; '),
  });
  for (const apiKeys of [undefined, 'a-key']) {
    assert.throws(() => create({ apiKeys }), /^TypeError: apiKeys: expected an array of keys$/);
  }
  const wrong: readonly (readonly [options: object, message: string])[] = [
    [{ apiKeys: [] }, 'apiKeys: expected one key at least'],
    [{ apiKeys: [undefined] }, 'apiKeys[0]: a key must be a string'],
    [{ apiKeys: Array(1001).fill('k') }, 'apiKeys: expected at most 1000 keys'],
    [{ apiKeys: [{ key: 7 }] }, 'apiKeys[0]: a key must be a string'],
    [{ apiKeys: [['k']] }, 'apiKeys[0]: a key must be a string'],
    [{ apiKeys: [{ key: 'k', name: 7 }] }, 'apiKeys[0]: a name must be a string'],
    [{ apiKeys: [{ key: 'k', name: 'sha256' }] }, 'apiKeys[0]: a name must not be sha256'],
    [{ apiKeys: [{ key: 'k', only: 'pets' }] }, "apiKeys[0]: only must be 'metrics'"],
    [
      { apiKeys: [{ key: 'k', nmae: 'x' }] },
      'apiKeys[0]: beside the key, only name and only are options of it',
    ],
    [{ apiKeys: ['k', { key: 'k' }] }, 'apiKeys[1]: the key is configured already (apiKeys[0])'],
    [{ corsOrigins: '*' }, 'corsOrigins: expected an array of origins, not "*"'],
    [{ prefix: null }, 'prefix: expected segments such as /shop, not null'],
    [{ log: console }, /^log: expected a function, not Object/],
    [{ now: 5 }, 'now: expected a function, not 5'],
    [{ accessLog: 'on' }, 'accessLog: expected true or false, not "on"'],
    [{ page: 'on' }, 'page: expected true or false, not "on"'],
    [{ runtime: 1 }, 'runtime: expected an object with nodeVersion and openConnections, not 1'],
    [{ runtime: {} }, 'runtime: expected an object with nodeVersion and openConnections, not {}'],
    // Newer ones of Node can show it.
    [
      { prefix: UNREADABLE },
      /^prefix: expected segments such as \/shop, not (something else|\{.*)$/,
    ],
    [
      { apiKeys: [, 'k', ,] },
      'apiKeys[0]: a key must be a string; apiKeys[2]: a key must be a string',
    ],
    [
      { corsOrigins: [Object.create(null)] },
      /^corsOrigins\[0\]: expected an origin .*, not \[Object: null prototype\] {}$/,
    ],
    [{ corsOrigins: [['https://a.example']] }, /^corsOrigins\[0\]: .*, not \[ 'https:/],
    [{ corsOrigins: [,] }, /^corsOrigins\[0\]: .*, not undefined$/],
    [
      { store: undefined, dataFile: new URL('file://host/x'), apiKeys: [] },
      /^apiKeys: expected one key at least; dataFile: expected a path or a file: URL, not URL/,
    ],
    [
      { store: {} },
      'store: expected a PetStore, but it has no list, get, create, count, problem, close',
    ],
    [{ store: { ...store, get: 1 } }, 'store: expected a PetStore, but it has no get'],
    [{ apiKey: 'k' }, 'apiKey: there is no such option, did you mean apiKeys?'],
    [
      { store: undefined, etcd: { endpoints: ['http://e:1'] }, bodyLimitBytes: 1_048_577 },
      'bodyLimitBytes: expected at most 1048576 on etcd, not 1048577',
    ],
    [{ store: undefined, dataFile: 7 }, 'dataFile: expected a path or a file: URL, not 7'],
    [{ store: undefined, dataFile: '' }, 'dataFile: expected a path or a file: URL, not ""'],
    [
      { store: undefined, dataFile: new URL('http://a/b') },
      /^dataFile: expected a path or a file: URL, not URL/,
    ],
  ] as readonly (readonly [object, string])[];
  for (const [options, message] of wrong) {
    assert.throws(() => create(options), { name: 'TypeError', message });
  }
  assert.throws(() => createApp(undefined as never), /^TypeError: Expected an object of options$/);
  const app = create({});
  for (const keys of [[], ['a b'], [7], 'k', ['k', 'k'], [{ key: 'k', name: '' }]]) {
    assert.throws(() => app.setApiKeys(keys as string[]), /^TypeError: apiKeys/);
  }
  assert.throws(() => create({ store: undefined }), /^TypeError: dataFile, memory, etcd, store: /);
  // The longest body that still has room a hundred times in a page, which is one string.
  for (const bodyLimitBytes of [-1, 1.5, NaN, Infinity, 5_242_881, '65536']) {
    assert.throws(() => create({ bodyLimitBytes }), /^TypeError: bodyLimitBytes: /);
  }
  for (const bodyLimitBytes of [1, 5_242_880]) await create({ bodyLimitBytes }).close();
});

test('A page of the longest pets fits in a string, and no longer page is asked for', async (t) => {
  const longest = 5_242_880 + '{"id":9223372036854775807,},\n'.length;
  assert.ok(100 * longest < constants.MAX_STRING_LENGTH);
  const store = createMemoryStore();
  const limits: number[] = [];
  const list: PetStore['list'] = (query) => {
    limits.push(query.limit);
    return store.list(query);
  };
  const { pets } = await openApp({ store: { ...store, list }, apiKeys: [KEY] });
  t.after(() => store.close());
  for (let i = 0; i < 101; i += 1) await pets.create({ name: '', categoryId: 7n });
  let count = 0;
  for await (const _ of pets.all()) count += 1;
  assert.deepEqual([count, limits], [101, [100, 100]]);
});

test('An app that is closed while it opens lets go of its data file', async (t) => {
  const options = { dataFile: join(tempDir(t), 'pets.json'), apiKeys: [KEY] };
  for (let round = 0; round < 3; round += 1) {
    const app = createApp(options);
    const opening = app.open();
    await app.close();
    // Nothing is in use any more as soon as it is closed.
    const next = await openApp(options);
    await next.close();
    await opening;
    await assert.rejects(createClosed().open(), /closed/);
  }
  const atUrl = await openApp({ ...options, dataFile: pathToFileURL(options.dataFile) });
  await atUrl.close();
});

function createClosed(): App {
  const app = createApp({ store: createMemoryStore(), apiKeys: [KEY] });
  void app.close();
  return app;
}

test('What a store gives may be any promise; its bug, or an id that no answer can hold, is a 500', async (t) => {
  const store = createMemoryStore();
  const foreign = runInNewContext('(value) => Promise.resolve(value)') as <T>(
    value: T | Promise<T>,
  ) => Promise<T>;
  const app = await openApp({
    store: {
      ...store,
      list: (query) => foreign(store.list(query)),
      get: (id) => (id === 1n ? foreign(undefined) : Promise.reject(new Error('A bug'))),
      create: async (newPet) => {
        const pet = await store.create(newPet);
        return foreign(pet.id === 1n ? pet : { ...pet, id: '\n2' as unknown as bigint });
      },
    },
    apiKeys: [KEY],
  });
  t.after(() => app.close());
  const host = await serve(t, app.listener);
  const statusOf = async (path: string, body?: string): Promise<number> => {
    const init = body === undefined ? {} : { method: 'POST', body };
    return (await fetch(`http://${host}${path}`, { ...init, headers: HEADERS })).status;
  };
  assert.equal(await statusOf('/v1/pets'), 200);
  assert.equal(await statusOf('/v1/pets/1'), 404);
  assert.equal(await statusOf('/v1/pets/2'), 500);
  assert.equal(await statusOf('/v1/pets', '{"name":"a","categoryId":1}'), 201);
  assert.equal(await statusOf('/v1/pets', '{"name":"a","categoryId":1}'), 500);
});

test('A plain server that is stopped cuts what is half sent', async (t) => {
  const { listener } = await openMemoryApp(t);
  const server = createServer(listener);
  const host = await listen(t, server);
  const client = connect(Number(host.split(':')[1]), '127.0.0.1');
  const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n`;
  client.write(`${head}Content-Length: 9\r\n\r\n{`);
  await once(server, 'request');
  await Promise.all([stopServer(server, 50), once(client, 'close')]);
});

test('Behind a body parser a POST is a 500 at once, and the log says why', async (t) => {
  const logged: unknown[] = [];
  const app = await openApp({
    store: createMemoryStore(),
    apiKeys: [KEY],
    log: (_level, event, details) => logged.push([event, details]),
  });
  t.after(() => app.close());
  const host = await serve(t, (request, response) => {
    void request.toArray().then(() => app.listener(request, response));
  });
  for (const body of ['{"name":"Rex","categoryId":7}', 'x'.repeat(70_000)]) {
    const init = { method: 'POST', headers: { ...HEADERS, 'Content-Type': 'application/json' } };
    const answer = await fetch(`http://${host}/v1/pets`, { ...init, body });
    assert.equal(answer.status, body.length > 65_536 ? 413 : 500);
  }
  assert.equal((await fetch(`http://${host}/v1/pets`, { headers: HEADERS })).status, 200);
  assert.match(JSON.stringify(logged), /A request failed.*put the listener before any body parser/);
});

test('Mounted as Express does it, the paths and links have the mount, when it is the prefix', async (t) => {
  const app = await openMemoryApp(t, '/shop');
  await app.pets.create({ name: 'Rex', categoryId: 7n });
  await app.pets.create({ name: 'Tom', categoryId: 7n });
  const host = await serve(t, (request, response) => {
    // What app.use('/shop', listener) does.
    Object.assign(request, { originalUrl: request.url, baseUrl: '/shop' });
    request.url = request.url!.slice('/shop'.length);
    app.listener(request, response);
  });
  const list = await fetch(`http://${host}/shop/v1/pets?limit=1`, { headers: HEADERS });
  assert.equal(list.status, 200);
  assert.equal(list.headers.get('Link'), '</shop/v1/pets?limit=1&after=1>; rel="next"');
});

test('Mounted as Express does it, a prefix that is not the mount is told of', async (t) => {
  const cases = [
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
    const app = await openMemoryApp(t, prefix);
    const host = await serve(t, (request, response) => {
      Object.assign(request, { originalUrl: mount + url, url });
      app.listener(request, response);
    });
    const response = await fetch(`http://${host}/`, { headers: HEADERS });
    const { message } = (await response.json()) as { message: string };
    assert.equal(response.status, 404);
    const told = `: the listener is mounted at ${mount}, and its prefix must begin with that`;
    assert.equal(message.endsWith(told), isTold, `${mount} with ${prefix}: ${message}`);
  }
});

test('A host that has set a status before, as Koa does, does not change the response', async (t) => {
  const app = await openMemoryApp(t);
  const host = await serve(t, (request, response) => {
    response.statusCode = 404;
    app.listener(request, response);
  });
  assert.equal((await fetch(`http://${host}/v1/pets`, { headers: HEADERS })).status, 200);
  assert.equal((await fetch(`http://${host}/v1/pets`)).status, 401);
});

test('A long page goes through a wrapper that drops the callback of write', async (t) => {
  const app = await openMemoryApp(t);
  for (let pet = 0; pet < 50; pet += 1) {
    await app.pets.create({ name: 'x'.repeat(10_000), categoryId: 1n });
  }
  const signal = AbortSignal.timeout(20_000);
  let ended: Promise<unknown> = Promise.resolve();
  // As the package compression of Express does.
  const host = await serve(t, (request, response) => {
    const write = response.write.bind(response) as (chunk: string, encoding: string) => boolean;
    response.write = (chunk: string, encoding: unknown) => write(chunk, encoding as string);
    ended = once(response, 'finish', { signal });
    app.listener(request, response);
  });
  const answer = await fetch(`http://${host}/v1/pets?limit=50`, { headers: HEADERS, signal });
  assert.equal(((await answer.json()) as unknown[]).length, 50);
  await ended;
});

test('A plain server is enough, for a client that waits for 100 Continue, too', async (t) => {
  const { listener } = await openMemoryApp(t);
  const host = await serve(t, listener);
  const { stdout } = await run(process.execPath, [
    '--input-type=module',
    '-e',
    WAITING_CLIENT,
    host,
  ]);
  assert.equal(stdout.trim(), '201 {"id":1,"name":"Rex","categoryId":7}');
});

const WAITING_CLIENT = `
  import { request } from 'node:http';
  const call = request('http://' + process.argv[1] + '/v1/pets', {
    method: 'POST',
    headers: { Authorization: 'Bearer ${KEY}', Expect: '100-continue', 'Content-Length': 29 },
  });
  call.flushHeaders();
  call.once('continue', () => call.end('{"name":"Rex","categoryId":7}'));
  call.on('response', async (answer) => {
    console.log(answer.statusCode, (await answer.toArray()).join(''));
  });`;

test('The listener serves https as it does http', async (t) => {
  const { listener } = await openMemoryApp(t);
  const server = createTlsServer({ key: KEY_PEM, cert: CERTIFICATE_PEM }, listener);
  const host = await listen(t, server as unknown as Server);
  const call = tlsRequest(`https://${host}/v1/pets`, { ca: CERTIFICATE_PEM, headers: HEADERS });
  call.end();
  const [answer] = (await once(call, 'response')) as [import('node:http').IncomingMessage];
  assert.equal(answer.statusCode, 200);
  assert.equal((await answer.toArray()).join(''), '[]');
});

test('The pets as values are those that requests see, exact to the last digit', async (t) => {
  const app = await openMemoryApp(t);
  const host = await serve(t, app.listener);
  const categoryId = 2n ** 63n - 1n;
  const created = await app.pets.create({ name: 'R\u0000\ud800é', categoryId, status: 'sold' });
  assert.deepEqual(created, { id: 1n, name: 'R\u0000\ud800é', categoryId, status: 'sold' });
  const text = await (await fetch(`http://${host}/v1/pets/1`, { headers: HEADERS })).text();
  assert.match(text, /"categoryId":9223372036854775807,"status":"sold"\}$/);
  const init = { method: 'POST', headers: HEADERS, body: '{"name":"Tom","categoryId":-1}' };
  await fetch(`http://${host}/v1/pets`, init);
  const tom = { id: 2n, name: 'Tom', categoryId: -1n };
  assert.deepEqual(await app.pets.get(2n), tom);
  assert.equal(await app.pets.get(3n), undefined);
  assert.deepEqual(await app.pets.list(), { pets: [created, tom], next: undefined });
  assert.deepEqual(await app.pets.list({ limit: 1 }), { pets: [created], next: 1n });
  assert.deepEqual(await app.pets.list({ after: 1n }), { pets: [tom], next: undefined });
  assert.deepEqual(await app.pets.list({ status: 'pending' }), { pets: [], next: undefined });
  assert.equal((await app.pets.count()).total, 2);
});

test('A program gives the app and the client the same values, and gets the same values', async (t) => {
  const app = await openMemoryApp(t);
  const host = await serve(t, app.listener);
  const client = createClient({ baseUrl: `http://${host}/v1`, apiKey: KEY });
  for (const categoryId of [7, 7n, -0, Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n, -(2n ** 63n)]) {
    const given = { name: 'R\u0000\ud800é', categoryId, status: 'sold' } as const;
    const own = await app.pets.create(given);
    const sent = await client.createPet(given);
    assert.deepEqual(sent, { ...own, id: own.id + 1n });
    assert.deepEqual(own, { ...given, id: own.id, categoryId: BigInt(categoryId) });
    for (const id of [own.id, Number(own.id)]) {
      assert.deepEqual(await app.pets.get(id), await client.getPet(id));
      const query = { limit: 1, after: id };
      assert.deepEqual((await app.pets.list(query)).pets, (await client.listPets(query)).pets);
    }
    const path = `http://${host}/v1/pets/${own.id}`;
    const text = await (await fetch(path, { headers: HEADERS })).text();
    assert.deepEqual([stringifyPet(own), stringifyFromClient(own)], [text, text]);
  }
  const problems: readonly (readonly [value: unknown, problem: string])[] = [
    [1.5, 'must be a bigint or a safe integer, not 1.5'],
    [2 ** 53, 'must be a bigint or a safe integer, not 9007199254740992'],
    ['7', 'must be a bigint or a safe integer, not "7"'],
    [2n ** 63n, /^\w+ must be from -9223372036854775808 to .*807, not 9223372036854775808$/.source],
  ];
  for (const [value, problem] of problems) {
    const given = { name: 'Rex', categoryId: value as bigint };
    const message = new RegExp(problem);
    await assert.rejects(app.pets.create(given), { name: 'InvalidPetError', message });
    await assert.rejects(client.createPet(given), { message });
    await assert.rejects(app.pets.get(value as bigint), { message });
    await assert.rejects(client.getPet(value as bigint), { message });
    await assert.rejects(app.pets.list({ after: value as bigint }), { message });
    await assert.rejects(client.listPets({ after: value as bigint }), { message });
  }
});

test('All pets come page by page, also those that are added meanwhile', async (t) => {
  const { pets } = await openMemoryApp(t);
  for (let i = 0; i < 1234; i += 1) {
    await pets.create({ name: `Pet ${i}`, categoryId: 7n, ...(i % 3 === 0 && { status: 'sold' }) });
  }
  const ids: bigint[] = [];
  for await (const { id } of pets.all()) {
    ids.push(id);
    if (id === 700n) await pets.create({ name: 'Late', categoryId: 7n });
  }
  assert.deepEqual(
    ids,
    Array.from({ length: 1235 }, (_, index) => BigInt(index + 1)),
  );
  let sold = 0;
  for await (const { status } of pets.all({ status: 'sold' })) sold += status === 'sold' ? 1 : -9;
  assert.equal(sold, 412);
});

test('The pets as values are refused with the reason', async (t) => {
  const app = createApp({ store: createMemoryStore(), apiKeys: [KEY] });
  const rex = { name: 'Rex', categoryId: 7n };
  await assert.rejects(app.pets.get(1n), StoreUnavailableError);
  await assert.rejects(app.pets.create(rex), StoreUnavailableError);
  await app.open();
  t.after(() => app.close());
  for (const limit of [0, -1, 1.5, NaN, Infinity]) {
    await assert.rejects(app.pets.list({ limit }), RangeError);
  }
  const query = { limit: '1', status: 'lost', after: 1.5 } as object;
  await assert.rejects(app.pets.list(query), {
    name: 'RangeError',
    message:
      'limit must be an integer from 1 on, not "1"; ' +
      'status must be one of available, pending, sold, not "lost"; ' +
      'after must be a bigint or a safe integer, not 1.5',
  });
  await assert.rejects(app.pets.create({ ...rex, categoryId: 2n ** 63n }), InvalidPetError);
  await assert.rejects(app.pets.create({ ...rex, status: 'lost' as 'sold' }), InvalidPetError);
  app.drain();
  await assert.rejects(app.pets.create(rex), /^StoreUnavailableError: The service is stopping$/);
  assert.equal(await app.pets.get(1n), undefined);
});

test('The programs that the README shows do what it says', async (t) => {
  const folder = consumerFolder(t);
  for (const [name, text] of readmePrograms()) writeFileSync(join(folder, name), text);
  const shop = spawn(process.execPath, ['shop.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 2] });
  let printed = '';
  for await (const chunk of shop.stdout!) {
    printed += String(chunk);
    if (/^port [0-9]+$/m.test(printed) && printed.includes('1n Rex\n')) break;
  }
  const origin = `http://127.0.0.1:${/^port ([0-9]+)$/m.exec(printed)![1]}`;
  const answer = await fetch(`${origin}/shop/v1/pets`, { headers: HEADERS });
  assert.equal(await answer.text(), '[{"id":1,"name":"Rex","categoryId":7,"status":"sold"}]');
  assert.match(await (await fetch(origin)).text(), /^The pets are at/);
  shop.kill('SIGTERM');
  assert.deepEqual(await once(shop, 'exit'), [0, null]);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await run(
    process.execPath,
    ['--test', '--test-reporter=tap', 'map-store.test.mjs'],
    {
      cwd: folder,
      env,
    },
  );
  assert.match(stdout, /# pass [2-9][0-9]\n# fail 0/);
});

/** The blocks of src/README.md that begin with their file's name, on a port that they print. */
function readmePrograms(): ReadonlyMap<string, string> {
  const readme = readFileSync(join(root, 'src', 'README.md'), 'utf8');
  const blocks = readme.matchAll(/^```js\n\/\/ (\S+\.mjs)\n([^]*?)^```$/gm);
  const programs = new Map([...blocks].map(([, name, text]) => [name!, text!]));
  const names = ['shop.mjs', 'map-store.mjs', 'map-store.test.mjs', 'sqlite-store.mjs'];
  assert.deepEqual([...programs.keys()], names);
  const anyPort = 'server.listen(0, () => console.log(`port ${server.address().port}`))';
  const shop = programs.get('shop.mjs')!;
  assert.ok(shop.includes('server.listen(8080)'));
  return programs.set('shop.mjs', shop.replace('server.listen(8080)', anyPort));
}

/** A folder of a program that has the package installed, as a link. */
function consumerFolder(t: TestContext): string {
  const folder = tempDir(t);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules', 'petstore'), 'dir');
  return folder;
}

test('A consumer in strict TypeScript compiles against the declarations', async (t) => {
  const folder = consumerFolder(t);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const types = join(root, 'node_modules', '@types');
  const options = ['--strict', '--skipLibCheck', 'false', '--exactOptionalPropertyTypes'];
  const modules = [
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--typeRoots',
    types,
    '--types',
    'node',
  ];
  const args = [tsc, ...options, ...modules, '--noEmit', 'consumer.ts'];
  const { stdout } = await run(process.execPath, args, { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  assert.equal(stdout, '');
});

const CONSUMER = `
import { createServer } from 'node:http';
import { createHttpServer, createMemoryStore, openApp, stringifyPet, type Pet, type PetStore } from 'petstore';
import { testPetStoreContract } from 'petstore/contract';

const store: PetStore = createMemoryStore();
const app = await openApp({ store, apiKeys: ['a-key'], prefix: '/shop' });
createServer(app.listener).listen(0);
createHttpServer(app.listener).close();
const rex: Pet = await app.pets.create({ name: 'Rex', categoryId: 7n });
const id: bigint = rex.id;
const rexText: string = stringifyPet((await app.pets.get(7)) ?? rex);
// @ts-expect-error A text is no id.
await app.pets.get('7');
// @ts-expect-error There is no such status.
await app.pets.list({ status: 'lost' });
testPetStoreContract('The memory store', () => () => store, { isDurable: false });
await app.close();
export { id, rexText };
`;

test('A program may create with a key of its own, which stores one pet', async (t) => {
  const app = await openMemoryApp(t);
  const create = (name: string, idempotencyKey?: string) =>
    app.pets.create({ name, categoryId: 7n }, { idempotencyKey });
  const rex = { id: 1n, name: 'Rex', categoryId: 7n };
  for (let call = 0; call < 3; call += 1) assert.deepEqual(await create('Rex', 'k'), rex);
  await assert.rejects(create('Tom', 'k'), { name: 'KeyReusedError' });
  assert.equal((await create('Rex')).id, 2n);
  for (const key of ['', 'two words', 'x'.repeat(256), 7 as unknown as string]) {
    await assert.rejects(create('Rex', key), RangeError);
  }
});

test('The keys of a program and those of requests never meet', async (t) => {
  const app = await openMemoryApp(t);
  const host = await serve(t, app.listener);
  await app.pets.create({ name: 'Rex', categoryId: 7n }, { idempotencyKey: 'k' });
  const headers = { ...HEADERS, 'Idempotency-Key': 'k' };
  const body = '{"name":"Tom","categoryId":7}';
  const answer = await fetch(`http://${host}/v1/pets`, { method: 'POST', headers, body });
  assert.equal(answer.status, 201);
});

test('Over a store without keys, a create with one is refused in plain words', async (t) => {
  const { createOnce: _, ...store } = createMemoryStore();
  const app = await openApp({ store, apiKeys: [KEY] });
  t.after(() => app.close());
  const creating = app.pets.create({ name: 'Rex', categoryId: 7n }, { idempotencyKey: 'k' });
  await assert.rejects(
    creating,
    new TypeError('The store remembers no keys: it has no createOnce'),
  );
  assert.equal((await app.pets.count()).total, 0);
});
