/**
 * The kit against other services: one that decided every gap otherwise, in which it finds no
 * fault, and the same with one fault switched on, of which it finds just that.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import { openApp } from '../../src/app.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { listen } from '../support/service.ts';
import { checksOf } from './all-checks.ts';
import type { Check } from './check.ts';
import { createClient, type Target } from './client.ts';
import { createOtherServer, type Fault, type OtherServerOptions } from './other-server.ts';
import { runChecks } from './run-checks.ts';

const KEY = 'other-key';
const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');
const DEMANDS = checksOf({ only: 'interface' });
const DECISIONS = checksOf({ only: 'decision' });

async function targetAt(t: TestContext, server: ReturnType<typeof createServer>): Promise<Target> {
  const port = await listen(server);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { baseUrl: `http://127.0.0.1:${port}/other/shop/v1`, key: KEY, categoryId: 3 };
}

function openOther(t: TestContext, options: Partial<OtherServerOptions> = {}): Promise<Target> {
  return targetAt(t, createOtherServer({ key: KEY, ...options }));
}

/** The sentences that do not hold, each after its part. */
async function failed(checks: readonly Check[], target: Target): Promise<readonly string[]> {
  const sentences: string[] = [];
  for await (const { check, failures } of runChecks(checks, target)) {
    if (failures.length > 0) sentences.push(`${check.part}: ${check.sentence}`);
  }
  return sentences;
}

test('A service that decided every gap otherwise does all that is demanded', async (t) => {
  assert.deepEqual(await failed(DEMANDS, await openOther(t)), []);
});

test('Of its decisions many differ, which ends no run', async (t) => {
  // What it leaves open for ever is not waited for.
  const differing = await failed(DECISIONS, { ...(await openOther(t)), timeoutMs: 20 });
  for (const sentence of [
    '4.1: A limit below 1 or above 100 is refused',
    'gaps: order of the list: ascending id',
    'gaps: limits on name: none, it comes back exact',
    'gaps: status omitted at creation: stays absent, and matches no filter',
    'gaps: categoryId: not checked against any category',
    'http: 201 carries Location, which leads to the pet',
    'input: Malformed JSON is 400',
  ]) {
    assert.ok(differing.includes(sentence), sentence);
  }
});

test('It does so too when getPet is removed, by its clock', async (t) => {
  const target = await openOther(t, { now: () => AFTER_REMOVAL_MS });
  assert.deepEqual(await failed(DEMANDS, target), []);
});

test('So does this service when getPet is removed', async (t) => {
  const now = (): number => AFTER_REMOVAL_MS;
  const app = await openApp({ store: createMemoryStore(), apiKeys: [KEY], now });
  const server = createServer((request, response) => {
    request.url = request.url!.replace('/other/shop', '');
    response.setHeader('Date', new Date(now()).toUTCString());
    app.listener(request, response);
  });
  const target = await targetAt(t, server);
  const client = createClient(target);
  const { id } = await client.add(client.newPet());
  assert.equal((await client.get(`/pets/${id}`)).status, 410);
  assert.deepEqual(await failed(DEMANDS, target), []);
});

const FOUND: Readonly<Record<Fault, readonly string[]>> = {
  'a default of 10': ['4.1: limit has the default 20', '8: The default of limit is 20'],
  'no more than 50 in a list': ['4.1: limit has the maximum 100', '8: limit is from 1 to 100'],
  'the filter is ignored': [
    '3: The status can be used as a filter when listing',
    '4.1: status filters by availability status',
    '4.1: limit counts the animals that pass the filter',
  ],
  'the filter is ignored beside a limit': [
    '3: The status can be used as a filter when listing',
    '4.1: limit counts the animals that pass the filter',
  ],
  'a list is an object': [
    '2: NewPet: categoryId is an int64, to the digit',
    '2: A Pet in a response always carries id, name and categoryId',
    '2: Pets: a JSON array of Pet objects',
    '3: The status can be used as a filter when listing',
    '4.1: GET /pets is 200 and a list of animals',
    '4.1: limit is the maximum number of animals to return',
    '4.1: limit has the minimum 1',
    '4.1: limit has the maximum 100',
    '4.1: limit has the default 20',
    '4.1: status filters by availability status',
    '4.1: limit counts the animals that pass the filter',
    '4.3: The replacement is GET /pets with the status filter',
    '8: limit is from 1 to 100',
    '8: The default of limit is 20',
  ],
  'integers go through a double': ['2: NewPet: categoryId is an int64, to the digit'],
  'the same id for every pet': [
    '2: NewPet: categoryId is an int64, to the digit',
    '2: Pet: id is a unique identifier assigned by the service on creation',
    '3: The status can be set when an animal is created',
    '4.3: GET /pets/{petId} is 200 and the Pet when the animal is found',
  ],
  'no pet is found': [
    '4.3: GET /pets/{petId} is 200 and the Pet when the animal is found',
    '9: GET /pets/{petId} continues to respond until 5 December 2030',
  ],
  'any categoryId will do': [
    '2: NewPet: categoryId is required',
    '2: NewPet: categoryId is an integer',
    '2: NewPet: categoryId is not beyond int64',
    '4.2: A body missing required fields is 400',
    '4.2: A body containing invalid values is 400',
  ],
  'any status will do': [
    '2: PetStatus allows no other value',
    '2: NewPet: status is a PetStatus',
    '4.2: A body containing invalid values is 400',
  ],
  'creation is 200': ['4.2: POST /pets adds an animal: 201'],
  'POST needs no key': [
    '4.2: POST /pets is 401 when the credential is missing or invalid',
    '5: Every operation requires a bearer credential',
    '5: An invalid credential is 401',
    '7: Each condition has its HTTP status',
  ],
  'a key may be longer': ['5: An invalid credential is 401'],
  'errors are text': [
    '2: Error: code and message, and status, which is that of the response',
    '7: Every error response body is an Error object',
    '7: Every error response body is an Error object, of those not listed, too',
  ],
  'errors repeat no status': [
    '2: Error: code and message, and status, which is that of the response',
    '7: Every error response body is an Error object',
    '7: Every error response body is an Error object, of those not listed, too',
  ],
  'a missing pet is 200': [
    '4.3: It is 404 when the animal cannot be found',
    '7: Each condition has its HTTP status',
  ],
  'the removal came early': [
    '4.3: GET /pets/{petId} is 200 and the Pet when the animal is found',
    '4.3: It is 404 when the animal cannot be found',
    '7: Each condition has its HTTP status',
    '9: GET /pets/{petId} continues to respond until 5 December 2030',
  ],
  'the removal never comes': [
    '4.3: GET /pets/{petId} is 200 and the Pet when the animal is found',
    '9: GET /pets/{petId} is removed on 5 December 2030',
  ],
  'JSON is sent as text/plain': [
    '4: All endpoints return application/json',
    '4: An Error is sent as application/json',
  ],
};

for (const [fault, sentences] of Object.entries(FOUND)) {
  test(`Of a wrong service it finds the fault, and no other: ${fault}`, async (t) => {
    const now = fault === 'the removal never comes' ? { now: () => AFTER_REMOVAL_MS } : {};
    const target = await openOther(t, { fault: fault as Fault, ...now });
    assert.deepEqual(await failed(DEMANDS, target), sentences);
  });
}
