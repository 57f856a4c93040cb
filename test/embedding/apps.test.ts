/** The app as a value: its files, its store, its prefix, and that it changes nothing else. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { createApp, openApp } from '../../src/app.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { HEADERS, KEY, openMemoryApp, ROOT, serve } from './program.ts';

const run = promisify(execFile);

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

test('A second app on one data file is refused, and changes nothing', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const app = await openApp({ dataFile, apiKeys: [KEY] });
  await assert.rejects(openApp({ dataFile, apiKeys: [KEY] }), /in use/);
  await app.pets.create({ name: 'Rex', categoryId: 7n });
  await app.close();
  const again = await openApp({ dataFile, apiKeys: [KEY] });
  assert.equal((await again.pets.count()).total, 1);
  await again.close();
});

test('An app that is closed while it opens releases its data file', async (t) => {
  const options = { dataFile: join(tempDir(t), 'pets.json'), apiKeys: [KEY] };
  for (let round = 0; round < 3; round += 1) {
    const app = createApp(options);
    const opening = app.open();
    await app.close();
    const next = await openApp(options);
    await next.close();
    await opening;
  }
  const atUrl = await openApp({ ...options, dataFile: pathToFileURL(options.dataFile) });
  await atUrl.close();
});

test('An imported app adds no process listener and does not keep the process alive', async (t) => {
  const script = `
    const before = process.eventNames();
    const { openApp } = await import(${JSON.stringify(join(ROOT, 'dist', 'index.js'))});
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

test('With a prefix, every path and every link begins with it', async (t) => {
  const app = await openMemoryApp(t, { prefix: '/shop/pets.2' });
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

test('With a prefix, the same paths need an API key as without', async (t) => {
  const { listener } = await openMemoryApp(t, { prefix: '/shop' });
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

test('A store may return any promise, and its bug or an invalid id is a 500', async (t) => {
  const store = createMemoryStore();
  const foreign = runInNewContext('(value) => Promise.resolve(value)') as <T>(
    value: T | Promise<T>,
  ) => Promise<T>;
  const app = await openMemoryApp(t, {
    store: {
      ...store,
      list: (query) => foreign(store.list(query)),
      get: (id) => (id === 1n ? foreign(undefined) : Promise.reject(new Error('A bug'))),
      create: async (newPet) => {
        const pet = await store.create(newPet);
        return foreign(pet.id === 1n ? pet : { ...pet, id: '\n2' as unknown as bigint });
      },
    },
  });
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
