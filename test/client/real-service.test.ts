/** The client and the service together: each operation, what it keeps exact, and its failures. */

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { createClient, type NewPet, type PetStoreClient } from '../../src/client/client.ts';
import type { PetStore } from '../../src/model/pet-store.ts';
import { StoreUnavailableError } from '../../src/model/pet-store.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { forAll, randomInt64, randomText } from '../support/random.ts';
import { KEY, listen, startService, type Service } from '../support/http/service.ts';

let service: Service;
let client: PetStoreClient;

before(async () => {
  service = await startService();
  client = clientOf(service);
});
after(() => service.close());

function clientOf({ origin }: Service, apiKey = KEY): PetStoreClient {
  return createClient({ baseUrl: `${origin}/v1`, apiKey, retries: 0 });
}

test('A pet that was created is the one that is got, and listed', async () => {
  const rex = await client.createPet({ name: 'Rex', categoryId: 7, status: 'available' });
  assert.deepEqual(rex, { id: rex.id, name: 'Rex', categoryId: 7n, status: 'available' });
  assert.equal(typeof rex.id, 'bigint');
  assert.deepEqual(await client.getPet(rex.id), rex);
  const page = await client.listPets({ after: rex.id - 1n, limit: 1 });
  assert.deepEqual(page, { pets: [rex], next: undefined });
});

test('A pet without a status has none when it comes back', async () => {
  const pet = await client.createPet({ name: 'Rex', categoryId: 7 });
  assert.deepEqual(Object.keys(pet), ['id', 'name', 'categoryId']);
  const copy = await client.createPet(pet);
  assert.deepEqual(copy, { ...pet, id: pet.id + 1n });
});

const EXACT: readonly NewPet[] = [
  { name: '', categoryId: 2n ** 63n - 1n },
  { name: '1', categoryId: -(2n ** 63n) },
  { name: '"\\"1', categoryId: 2n ** 53n + 1n },
  { name: '\ud800', categoryId: 0 },
  { name: '\udc00x\ud83d', categoryId: -1 },
  { name: '🐶👨‍👩‍👧\u0000\u2028\ufeff', categoryId: Number.MAX_SAFE_INTEGER },
  { name: '\ufeff', categoryId: Number.MIN_SAFE_INTEGER },
];

test('Integers come back exactly, and names character for character', async () => {
  const newPets = [...EXACT];
  forAll(50, (random) => {
    newPets.push({ name: randomText(random, 12), categoryId: randomInt64(random) });
  });
  for (const { name, categoryId } of newPets) {
    const pet = await client.createPet({ name, categoryId });
    assert.deepEqual(pet, { id: pet.id, name, categoryId: BigInt(categoryId) });
    assert.deepEqual(await client.getPet(pet.id), pet);
  }
});

test('All pets come, each once and in order, over many pages', async (t) => {
  const own = await startService();
  t.after(() => own.close());
  const filled = clientOf(own);
  const statuses = ['available', 'sold', 'pending', undefined] as const;
  for (let i = 0; i < 250; i += 1) {
    await filled.createPet({ name: `Pet ${i}`, categoryId: i, status: statuses[i % 4] });
  }
  const idsOf = async (...[query]: Parameters<PetStoreClient['allPets']>): Promise<number[]> => {
    const ids: number[] = [];
    for await (const { id } of filled.allPets(query)) ids.push(Number(id));
    return ids;
  };
  const all = Array.from({ length: 250 }, (_, index) => index + 1);
  assert.deepEqual(await idsOf(), all);
  assert.deepEqual(await idsOf({ limit: 7 }), all);
  assert.deepEqual(await idsOf({ limit: undefined, after: 245 }), all.slice(245));
  const available = all.filter((id) => id % 4 === 1);
  assert.deepEqual(await idsOf({ status: 'available', limit: 10 }), available);

  const first = await filled.listPets();
  assert.equal(first.pets.length, 20);
  const second = await filled.listPets(first.next);
  assert.equal(second.pets[0]!.id, 21n);
  assert.deepEqual(await idsOf(second.next), all.slice(40));
});

test('Pages are asked for only as far as the pets are', async (t) => {
  const own = await startService();
  t.after(() => own.close());
  let requests = 0;
  const counted: typeof fetch = (...args) => {
    requests += 1;
    return fetch(...args);
  };
  const counting = createClient({ baseUrl: `${own.origin}/v1`, apiKey: KEY, fetch: counted });
  for (let i = 0; i < 5; i += 1) await counting.createPet({ name: 'Rex', categoryId: i });
  requests = 0;
  for await (const { id } of counting.allPets({ limit: 2 })) if (id === 3n) break;
  assert.equal(requests, 2);
});

test('A service that cannot be reached is told as such, with the reason', async () => {
  const closed = await startService();
  await closed.close();
  const { host } = new URL(closed.origin);
  const message = `at ${closed.origin} cannot reach the service: connect ECONNREFUSED ${host}`;
  const alone = clientOf(closed);
  await assert.rejects(alone.createPet({ name: 'Rex', categoryId: 7 }), {
    code: 'network_failure',
    message: `createPet ${message}; no pet was added`,
  });
  await assert.rejects(alone.listPets(), { message: `listPets ${message}` });
});

test('A failure has the code, the message and the status of the Error body', async () => {
  await assert.rejects(client.getPet(2n ** 62n), {
    name: 'PetStoreError',
    code: 'not_found',
    message: 'There is no pet with the id "4611686018427387904"',
    status: 404,
  });
  const expected = { code: 'invalid_parameter', status: 400, message: /limit must.*; status must/ };
  await assert.rejects(client.listPets({ limit: 101, status: 'lost' as 'sold' }), expected);
  const newPet = { name: 'Rex', categoryId: 1, status: 'lost' as 'sold' };
  await assert.rejects(client.createPet(newPet), { code: 'invalid_body', status: 400 });
  const long = { name: 'x'.repeat(70_000), categoryId: 1 };
  await assert.rejects(client.createPet(long), { code: 'body_too_large', status: 413 });
});

for (const [path, code] of [
  ['', 'unknown_path'],
  ['/', 'unknown_path'],
  ['/v1/v1', 'unknown_path'],
  ['/v2', 'unknown_path'],
  ['/v1/pets', 'not_found'],
] as const) {
  test(`A base URL that ends in '${path}' fails with a hint to the right one`, async () => {
    const lost = createClient({ baseUrl: `${service.origin}${path}`, apiKey: KEY, retries: 0 });
    const message = /; check the base URL: it ends in \/v1, such as https:\/\/host\/v1$/;
    await assert.rejects(lost.listPets(), { code, status: 404, message });
    await assert.rejects(lost.createPet({ name: 'Rex', categoryId: 1 }), { message });
    if (code === 'unknown_path')
      await assert.rejects(lost.getPet(1), { code, status: 404, message });
  });
}

test('A key that is not valid is refused with unauthorized', async () => {
  const stranger = clientOf(service, 'another-key');
  const expected = { name: 'PetStoreError', code: 'unauthorized', status: 401 };
  await assert.rejects(stranger.listPets(), expected);
  await assert.rejects(stranger.createPet({ name: 'Rex', categoryId: 1 }), expected);
  await assert.rejects(stranger.getPet(1n), expected);
});

test('After its removal getPet is refused with operation_removed', async (t) => {
  const own = await startService({ now: () => Date.parse('2030-12-05T00:00:00Z') });
  t.after(() => own.close());
  await assert.rejects(clientOf(own).getPet(1n), { code: 'operation_removed', status: 410 });
});

test('A create that the store cannot take is tried again, and adds one pet', async (t) => {
  const store = createMemoryStore();
  let refusals = 2;
  const failing: PetStore = {
    ...methodsOf(store),
    create(pet) {
      refusals -= 1;
      if (refusals >= 0) return Promise.reject(new StoreUnavailableError('The disk is full'));
      return store.create(pet);
    },
  };
  const own = await startService({ store: failing });
  t.after(() => own.close());
  const waits: number[] = [];
  const clock = {
    now: () => 0,
    random: () => 0,
    startTimer(ms: number, callback: () => void) {
      if (ms === 30_000) return () => undefined;
      waits.push(ms);
      queueMicrotask(callback);
      return () => undefined;
    },
  };
  const patient = createClient({ baseUrl: `${own.origin}/v1`, apiKey: KEY, clock });
  await patient.createPet({ name: 'Rex', categoryId: 1 });
  assert.equal((await patient.listPets()).pets.length, 1);
  assert.ok(waits.length === 2 && waits.every((ms) => ms > 1000), `${waits}`);
});

test('A service that cannot be reached is a network_failure, with its cause', async () => {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  const nobody = createClient({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: KEY, retries: 0 });
  await assert.rejects(nobody.listPets(), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'network_failure');
    assert.ok(error.cause instanceof Error);
    return true;
  });
});

test('A connection that breaks in mid answer is a network_failure', async (t) => {
  let asked = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked += 1;
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'Content-Length': 100 });
    response.write('[{"id":1', () => response.destroy());
  });
  const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
  t.after(() => server.close());
  const startTimer = (ms: number, callback: () => void): (() => void) => {
    if (ms < 30_000) queueMicrotask(callback);
    return () => undefined;
  };
  const clock = { now: () => 0, random: () => 0, startTimer };
  const unlucky = createClient({ baseUrl, apiKey: KEY, clock });
  await assert.rejects(unlucky.listPets(), { code: 'network_failure' });
  assert.equal(asked, 3);
  const adding = unlucky.createPet({ name: 'Rex', categoryId: 1 });
  await assert.rejects(adding, { code: 'network_failure', message: /is not known/ });
  assert.equal(asked, 4);
});

test('A request that is aborted, or takes too long, ends without its answer', async (t) => {
  const arrived: (() => void)[] = [];
  const server = createServer(() => arrived.shift()!());
  const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const slow = createClient({ baseUrl, apiKey: KEY });
  const controller = new AbortController();
  arrived.push(() => controller.abort(new Error('Never mind')));
  const listing = slow.listPets({}, { signal: controller.signal });
  await assert.rejects(listing, { message: 'Never mind' });
  arrived.push(() => undefined);
  await assert.rejects(slow.listPets({}, { timeoutMs: 1 }), { code: 'timeout' });
});

function methodsOf(store: PetStore): PetStore {
  return {
    list: (query) => store.list(query),
    get: (id) => store.get(id),
    create: (pet) => store.create(pet),
    count: () => store.count(),
    problem: () => store.problem(),
    close: () => store.close(),
  };
}
