/** The client with a real service: each operation, exact values, and failures of the network. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { systemClock, type Clock } from '../../src/client/clock.ts';
import { createClient, type PetStoreClient } from '../../src/client/client.ts';
import { StoreUnavailableError, type PetStore } from '../../src/model/pet-store.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import {
  KEY,
  listenFor,
  openService,
  startService,
  type Service,
} from '../support/http/service.ts';

let service: Service;
let client: PetStoreClient;

before(async () => {
  service = await startService();
  client = clientOf(service);
});
after(() => service.close());

/** Returns a client, which retries only on the given clock. */
function clientOf({ origin }: Service, apiKey = KEY, clock?: Clock): PetStoreClient {
  return createClient({ baseUrl: `${origin}/v1`, apiKey, retries: clock ? 2 : 0, clock });
}

test('A created pet is the one that getPet and listPets return, exact in both directions', async () => {
  const names = { name: '\ud800🐶\u0000\u2028\ufeff', categoryId: -(2n ** 63n) };
  for (const newPet of [names, { ...names, status: 'available' } as const]) {
    const pet = await client.createPet(newPet);
    assert.deepEqual(pet, { id: pet.id, ...newPet });
    assert.deepEqual(await client.getPet(pet.id), pet);
    const page = await client.listPets({ after: pet.id - 1n, limit: 1 });
    assert.deepEqual(page, { pets: [pet], next: undefined });
    assert.deepEqual(await client.createPet(pet), { ...pet, id: pet.id + 1n });
  }
});

test('allPets yields each pet once and in order, and fetches no page too many', async (t) => {
  const own = await openService(t);
  let requests = 0;
  const counted: typeof fetch = (...args) => {
    requests += 1;
    return fetch(...args);
  };
  const filled = createClient({ baseUrl: `${own.origin}/v1`, apiKey: KEY, fetch: counted });
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

  requests = 0;
  for await (const { id } of filled.allPets({ limit: 2 })) if (id === 3n) break;
  assert.equal(requests, 2);
});

test('If no connection can be opened, the error says why, and that no pet was added', async (t) => {
  const closed = await openService(t);
  await closed.close();
  const { host } = new URL(closed.origin);
  const message = `at ${closed.origin} cannot reach the service: connect ECONNREFUSED ${host}`;
  const alone = clientOf(closed);
  await assert.rejects(alone.createPet({ name: 'Rex', categoryId: 7 }), {
    code: 'network_failure',
    message: `createPet ${message}; no pet was added`,
    status: undefined,
  });
  await assert.rejects(alone.listPets(), (error: Error) => {
    assert.equal(error.message, `listPets ${message}`);
    return error.cause instanceof Error;
  });
});

test('An error has the code, the message and the status of the Error body', async () => {
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
  test(`With a base URL that ends in '${path}' the error has a hint`, async () => {
    const lost = createClient({ baseUrl: `${service.origin}${path}`, apiKey: KEY, retries: 0 });
    const message = /; check the base URL: it ends in \/v1, such as https:\/\/host\/v1$/;
    await assert.rejects(lost.listPets(), { code, status: 404, message });
    await assert.rejects(lost.createPet({ name: 'Rex', categoryId: 1 }), { message });
    if (code === 'unknown_path')
      await assert.rejects(lost.getPet(1), { code, status: 404, message });
  });
}

test('An invalid API key is refused with unauthorized', async () => {
  const stranger = clientOf(service, 'another-key');
  const expected = { name: 'PetStoreError', code: 'unauthorized', status: 401 };
  await assert.rejects(stranger.listPets(), expected);
  await assert.rejects(stranger.createPet({ name: 'Rex', categoryId: 1 }), expected);
  await assert.rejects(stranger.getPet(1n), expected);
});

test('After its removal getPet is refused with operation_removed', async (t) => {
  const own = await openService(t, { now: () => Date.parse('2030-12-05T00:00:00Z') });
  await assert.rejects(clientOf(own).getPet(1n), { code: 'operation_removed', status: 410 });
});

test('A create that the store refuses twice is retried, and adds one pet', async (t) => {
  const { createOnce: _, ...memory } = createMemoryStore();
  let refusals = 2;
  const create: PetStore['create'] = async (pet) => {
    refusals -= 1;
    if (refusals < 0) return memory.create(pet);
    throw new StoreUnavailableError('The disk is full');
  };
  const own = await openService(t, { store: { ...memory, create } });
  const waits: number[] = [];
  const patient = clientOf(own, KEY, {
    ...systemClock,
    startTimer(ms, callback) {
      if (ms === 30_000) return () => undefined;
      waits.push(ms);
      queueMicrotask(callback);
      return () => undefined;
    },
  });
  await patient.createPet({ name: 'Rex', categoryId: 1 });
  assert.equal((await patient.listPets()).pets.length, 1);
  assert.ok(waits.length === 2 && waits.every((ms) => ms > 1000), `${waits}`);
});

test('A call whose connection breaks, or that takes too long, ends without its response', async (t) => {
  const server = createServer(({ method }, response) => {
    if (method === 'GET') return;
    response.writeHead(201, { 'Content-Length': 100 });
    response.write('{"id":1', () => response.destroy());
  });
  const baseUrl = `http://127.0.0.1:${await listenFor(t, server)}/v1`;
  const unlucky = createClient({ baseUrl, apiKey: KEY });
  const adding = unlucky.createPet({ name: 'Rex', categoryId: 1 });
  await assert.rejects(adding, { code: 'network_failure', message: /is not known/ });
  await assert.rejects(unlucky.listPets({}, { timeoutMs: 1 }), { code: 'timeout' });
  const controller = new AbortController();
  server.once('request', () => controller.abort(new Error('Never mind')));
  const listing = unlucky.listPets({}, { signal: controller.signal });
  await assert.rejects(listing, { message: 'Never mind' });
});
