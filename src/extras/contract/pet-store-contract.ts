/**
 * The contract of PetStore (core/pets/pet-store.ts) as a suite of tests for every implementation.
 *
 * The author of another store calls it in a node:test file. The function passed is called for each
 * test, and returns another one, which opens the store:
 *
 *     testPetStoreContract('My store', () => () => openMyStore(), { isDurable: false });
 *
 * A durable store is opened several times with the same storage, and must still have its pets.
 */

import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { INT64_MAX, INT64_MIN } from '../../core/base/int64.ts';
import { quoteValue as shown } from '../../core/base/quote.ts';
import {
  PET_STATUSES,
  type NewPet,
  type Pet,
  type PetStatus,
  type StoredPet,
} from '../../core/pets/pet.ts';
import {
  KeyReusedError,
  StoreUnavailableError,
  type PetCount,
  type PetStore,
  type StoredPage,
} from '../../core/pets/pet-store.ts';
import {
  formatMembers,
  formatPet,
  formatPets,
  InvalidPetError,
  parsePet,
  splitPets,
} from '../../core/pets/pet-text.ts';
import { createRandom, type Random } from './random.ts';

/** Opens a store on a storage. A durable store finds the pets of earlier stores on it. */
export type OpenStore = () => PetStore | Promise<PetStore>;

/** Declares the suite. It calls `newStorage` once per test. Each storage begins without pets. */
export function testPetStoreContract(
  name: string,
  newStorage: (t: TestContext) => OpenStore,
  { isDurable }: { readonly isDurable: boolean },
): void {
  const open: OpenForTest = async (t) => {
    let store: PetStore | undefined;
    // Before what newStorage does at the end: it may remove the files of an open store.
    t.after(() => store?.close());
    store = await newStorage(t)();
    return store;
  };
  describe(`${name} keeps the contract of PetStore:`, () => {
    testCreate(open);
    testKeys(open);
    testClose(open);
    testGenerated(open);
    if (isDurable) testReopening(newStorage);
  });
}

type OpenForTest = (t: TestContext) => Promise<PetStore>;

function testCreate(open: OpenForTest): void {
  test('create, get and list return the same pet', async (t) => {
    const store = await open(t);
    const texts: string[] = [];
    for (const given of SAMPLES) {
      const pet = await store.create(given);
      assertPet(pet, { ...given, id: BigInt(texts.push(pet.text)) });
      await assertHas(store, { ...given, id: pet.id });
    }
    await assertLists(store, texts, [1, 100]);
    assert.equal(store.unreadiness(), undefined);
  });

  test('an invalid NewPet is not added', async (t) => {
    const store = await open(t);
    const wrong: readonly unknown[] = [
      ...FIELDS.map((field) => ({ ...FULL, [field]: [7] })),
      { categoryId: 7n },
      { name: 'Rex', categoryId: 7 },
      { name: 'Rex', categoryId: INT64_MAX + 1n },
      { name: 'Rex', categoryId: 7n, status: 'lost' },
    ];
    for (const value of wrong) await assert.rejects(store.create(value as NewPet), InvalidPetError);
    assert.equal((await store.create(rex)).id, 1n);
  });

  test('create reads each field of a NewPet once, from an object of any class', async (t) => {
    const store = await open(t);
    assertPet(await store.create(changingPet()), { ...FULL, id: 1n });
    await assertHas(store, { ...FULL, id: 1n });
    assert.equal((await store.create(rex)).id, 2n);
  });

  test('concurrent creates get ids without a gap, and pages have each pet once', async (t) => {
    const store = await open(t);
    const names = Array.from({ length: 5000 }, (_, index) => `Pet ${index}`);
    const creates = names.map((name, index) =>
      store.create(newPet(name, index % 7 < 4 ? 'sold' : undefined)),
    );
    const pets = await Promise.all(creates);
    for (const [index, { text }] of pets.entries()) assert.equal(parsePet(text).name, names[index]);
    for (const [index, { id }] of pets.sort(byId).entries()) assert.equal(id, BigInt(index + 1));
    await assertLists(store, pets.map(textOf), [100, 333, 1023, 1024, 1025, 4999, 5000]);
    for (const id of [1, 1023, 1024, 1025, 2048, 2049, 4097, 5000]) {
      assert.equal((await store.get(BigInt(id)))?.text, pets[id - 1]?.text);
    }
  });
}

/** Tests `createOnce`. These tests are skipped if the store does not have it. */
function testKeys(open: OpenForTest): void {
  const keyed = (name: string, run: (store: KeyedStore) => Promise<void>): void => {
    test(name, async (t) => {
      const store = await open(t);
      if (hasKeys(store)) await run(store);
      else t.skip('The store has no createOnce');
    });
  };

  keyed('a retry with the same key and pet returns the pet, and adds nothing', async (store) => {
    const { pet, isReplayed } = await store.createOnce(rex, KEY);
    assert.deepEqual([pet.id, isReplayed], [1n, false]);
    for (let retry = 0; retry < 3; retry += 1) {
      const again = await store.createOnce({ ...rex }, KEY);
      assert.deepEqual([again.pet.text, again.isReplayed], [pet.text, true]);
      assertPet(again.pet, { ...rex, id: 1n });
    }
    assert.equal(store.count().total, 1);
    assert.equal((await store.create(rex)).id, 2n);
    assert.equal((await store.createOnce(rex, OTHER_KEY)).pet.id, 3n);
  });

  keyed('a key with another pet is refused, and adds nothing', async (store) => {
    await store.createOnce(rex, KEY);
    for (const other of OTHERS) await assert.rejects(store.createOnce(other, KEY), KeyReusedError);
    assert.equal(store.count().total, 1);
  });

  keyed('concurrent creates with the same key add one pet', async (store) => {
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, index) => store.createOnce(rex, index % 2 ? KEY : OTHER_KEY)),
    );
    assert.equal(store.count().total, 2);
    assert.equal(new Set(all.map(({ pet }) => pet.id)).size, 2);
    assert.equal(all.filter(({ isReplayed }) => !isReplayed).length, 2);
  });

  keyed('concurrent creates with the same key and different pets add one pet', async (store) => {
    const creates = [rex, ...OTHERS].map((newPet) => store.createOnce(newPet, KEY));
    const results = await Promise.allSettled(creates);
    const refused = results.filter((result) => result.status === 'rejected');
    assert.equal(refused.length, OTHERS.length);
    for (const { reason } of refused) assert.ok(reason instanceof KeyReusedError, String(reason));
    assert.equal(store.count().total, 1);
  });

  keyed('1,000 keys are remembered', async (store) => {
    const ids = await createWithKeys(store, false);
    assert.deepEqual(await createWithKeys(store, true), ids);
  });

  keyed('createOnce reads each field of a NewPet once', async (store) => {
    for (const isReplayed of [false, true]) {
      const created = await store.createOnce(changingPet(), KEY);
      assert.equal(created.isReplayed, isReplayed);
      assertPet(created.pet, { ...FULL, id: 1n });
    }
    await assert.rejects(store.createOnce(rex, KEY), KeyReusedError);
    assert.equal((await store.create(rex)).id, 2n);
  });

  keyed('a key can be used again after a refused NewPet, and at the same time', async (store) => {
    const wrong = { name: 'Rex', categoryId: 7 } as unknown as NewPet;
    for (const key of [KEY, OTHER_KEY]) {
      const refused = assert.rejects(store.createOnce(wrong, key), InvalidPetError);
      if (key === KEY) await refused;
      assert.equal((await store.createOnce(rex, key)).isReplayed, false);
      await refused;
    }
  });
}

type KeyedStore = PetStore & Required<Pick<PetStore, 'createOnce'>>;

function hasKeys(store: PetStore): store is KeyedStore {
  return store.createOnce !== undefined;
}

/** Creates a pet with each of KEYS, at the same time. Resolves with their ids, by key. */
async function createWithKeys(store: KeyedStore, isReplayed: boolean): Promise<readonly bigint[]> {
  const all = await Promise.all(KEYS.map((key) => store.createOnce(rex, key)));
  assert.equal(all.filter((one) => one.isReplayed).length, isReplayed ? KEYS.length : 0);
  assert.equal(store.count().total, KEYS.length);
  return all.map(({ pet }) => pet.id);
}

const KEY = '9f86d081884c7d659a2feaa0c55ad015';
const OTHER_KEY = '60303ae22b998861bce3b28f33eec1be';
/** As many as a store remembers at least. */
const KEYS = Array.from({ length: 1000 }, (_, index) => String(index).padStart(32, '0'));

function testClose(open: OpenForTest): void {
  test('close completes the creates in progress, and can be called again', async (t) => {
    const store = await open(t);
    const creates = Array.from({ length: 50 }, () => store.create(rex));
    await Promise.all([store.close(), store.close()]);
    await store.close();
    assert.equal(new Set((await Promise.all(creates)).map(({ id }) => id)).size, 50);
  });

  test('a closed store refuses creates and reports why', async (t) => {
    const store = await open(t);
    const { text } = await store.create(rex);
    const closing = store.close();
    await assert.rejects(store.create(rex), StoreUnavailableError);
    await closing;
    await assert.rejects(store.create(rex), StoreUnavailableError);
    if (hasKeys(store)) await assert.rejects(store.createOnce(rex, KEY), StoreUnavailableError);
    assert.equal(typeof store.unreadiness(), 'string');
    assert.equal(store.count().total, 1);
    const reads = await Promise.allSettled([store.get(1n), store.list({ limit: 1 })]);
    const expected = [text, formatPets([text])];
    for (const [index, read] of reads.entries()) {
      // A store may still read from memory.
      if (read.status === 'fulfilled') assert.equal(read.value?.text, expected[index]);
      else assert.ok(read.reason instanceof StoreUnavailableError, String(read.reason));
    }
  });
}

function testReopening(newStorage: (t: TestContext) => OpenStore): void {
  test('a reopened store has all pets, their values and texts, and its ids continue', async (t) => {
    const open = newStorage(t);
    const first = await open();
    const texts: string[] = [];
    for (const given of SAMPLES) texts.push((await first.create(given)).text);
    const creates = Array.from({ length: 3000 }, (_, index) =>
      first.create(newPet(`Pet ${index}\0\ud800é`, PET_STATUSES[index % 4])),
    );
    texts.push(...(await Promise.all(creates)).sort(byId).map(textOf));
    const count = countOf(first);
    await first.close();

    for (let round = 0; round < 2; round += 1) {
      const store = await open();
      await assertLists(store, texts, [100]);
      for (const [index, given] of SAMPLES.entries()) {
        await assertHas(store, { ...given, id: BigInt(index + 1) });
      }
      if (round === 0) assert.deepEqual(countOf(store), count);
      const atClose = Array.from({ length: 50 }, () => store.create(rex));
      await store.close();
      const added = (await Promise.all(atClose)).sort(byId);
      for (const { id, text } of added) assert.equal(id, BigInt(texts.push(text)));
    }
  });

  test('a reopened store still has its keys', async (t) => {
    const open = newStorage(t);
    let ids: readonly bigint[] | undefined;
    for (const isReplayed of [false, true, true]) {
      const store = await open();
      t.after(() => store.close());
      if (!hasKeys(store)) return t.skip('The store has no createOnce');
      for (const other of isReplayed ? OTHERS : []) {
        await assert.rejects(store.createOnce(other, KEYS[0]!), KeyReusedError);
      }
      const creates = createWithKeys(store, isReplayed);
      await store.close();
      ids ??= await creates;
      assert.deepEqual(await creates, ids);
    }
  });
}

function testGenerated(open: OpenForTest): void {
  for (const seed of [1, 2, 3]) {
    test(`generated calls return the same as a plain array (seed ${seed})`, async (t) => {
      const random = createRandom(seed);
      const store = await open(t);
      const model: ModelPet[] = [];
      for (let step = 0; step < 400; step += 1) {
        if (step % 5 === 4) model.push(...(await createSome(store, random)));
        else await compareReads(store, model, random);
        const byStatus = { available: 0, pending: 0, sold: 0 };
        for (const { status } of model) if (status !== undefined) byStatus[status] += 1;
        assert.deepEqual(countOf(store), { total: model.length, byStatus });
      }
    });
  }
}

/** A pet that the store has returned, and the status that it was created with. */
type ModelPet = StoredPet & Pick<NewPet, 'status'>;

async function createSome(store: PetStore, random: Random): Promise<readonly ModelPet[]> {
  const creates = Array.from({ length: random(60) }, async () => {
    const status = PET_STATUSES[random(4)];
    const pet = await store.create(newPet('é'.repeat(random(50)), status));
    return { ...pet, status };
  });
  return (await Promise.all(creates)).sort(byId);
}

/** Compares a get and a list. Some lists end exactly with the last pet that matches. */
async function compareReads(
  store: PetStore,
  model: readonly ModelPet[],
  random: Random,
): Promise<void> {
  const anyId = (): bigint =>
    [INT64_MIN, INT64_MAX][random(8)] ?? BigInt(random(model.length + 4) - 2);
  const petId = anyId();
  const expected = model.find((pet) => pet.id === petId)?.text;
  assert.equal((await store.get(petId))?.text, expected, `get ${petId}`);
  const status = random(2) === 0 ? undefined : PET_STATUSES[random(3)];
  const after = random(4) === 0 ? undefined : anyId();
  const matching = model.filter((pet) => {
    return pet.id > (after ?? 0n) && (status === undefined || pet.status === status);
  });
  const isExact = random(3) === 0 && matching.length > 0 && matching.length <= 100;
  const limit = isExact ? matching.length : 1 + random(100);
  const texts = matching.slice(0, limit).map(textOf);
  const next = matching.length > limit ? matching[limit - 1]!.id : undefined;
  const found = await store.list({ limit, status, after });
  const query = `list limit ${limit}, status ${status}, after ${after}`;
  assert.deepEqual([found.text, found.next], [formatPets(texts), next], query);
}

/** Asserts that pages of these lengths have these pets, and those that are sold. */
async function assertLists(
  store: PetStore,
  texts: readonly string[],
  limits: readonly number[],
): Promise<void> {
  const sold = texts.filter((text) => text.includes('"status":"sold"'));
  for (const limit of limits) {
    for (const [status, expected] of [[undefined, texts] as const, ['sold', sold] as const]) {
      const found = await followPages(store, limit, status);
      const wrong = found.findIndex((text, index) => text !== expected[index]);
      const what = `status ${status}, limit ${limit}: the number of pets, and the first wrong one`;
      assert.deepEqual([found.length, wrong], [expected.length, -1], what);
    }
  }
}

/** Asserts that get and list return this pet. */
async function assertHas(store: PetStore, expected: Pet): Promise<void> {
  assertPet(await store.get(expected.id), expected);
  const { text } = await store.list({ limit: 1, after: expected.id - 1n });
  const [pet, ...others] = splitPets(text);
  assert.equal(others.length, 0);
  assertText(pet, expected);
}

/** Resolves with the texts of all pets that match, page by page. */
async function followPages(
  store: PetStore,
  limit: number,
  status?: PetStatus,
): Promise<readonly string[]> {
  const texts: string[] = [];
  let after: bigint | undefined;
  do {
    const { text, next }: StoredPage = await store.list({ limit, status, after });
    const page = splitPets(text);
    assert.ok(page.length === limit || next === undefined);
    texts.push(...page);
    after = next;
  } while (after !== undefined);
  return texts;
}

function newPet(name: string, status?: PetStatus): NewPet {
  return status === undefined ? { name, categoryId: 7n } : { name, categoryId: 7n, status };
}

const rex = newPet('Rex');

/** Two pets that differ in each field. A field that is added to NewPet has to be added here. */
const FULL: Required<NewPet> = { name: 'Rex\ud83d', categoryId: 2n ** 62n + 1n, status: 'sold' };
const OTHER: Required<NewPet> = { name: 'Tom', categoryId: 8n, status: 'pending' };
const FIELDS = Object.keys(FULL) as (keyof NewPet)[];
/** Pets that each differ from rex in one field. */
const OTHERS: readonly NewPet[] = FIELDS.map((field) => ({ ...rex, [field]: OTHER[field] }));
const OPTIONAL = FIELDS.filter((field) => field !== 'name' && field !== 'categoryId');

/** Names that are hard to keep exactly: each comes back character for character. */
const NAMES: readonly string[] = [
  '',
  '\0a\u0001\b\t\n\f\r\u001f',
  '\ud83d',
  'a\udc36b',
  '"\\"},]\\',
  'é€😀\u2028\ufffd\ufeff',
  '{"id":1,"name":"Rex","categoryId":7},\n',
  ...['a', 'b', 'é'].map((letter) => letter.repeat(500_000)),
];

/**
 * A pet with all fields, one without the optional fields, one with each optional field, one of each
 * status, and some whose category or name is hard to keep exactly.
 */
const SAMPLES: readonly NewPet[] = [
  FULL,
  rex,
  ...OPTIONAL.map((field) => ({ ...rex, [field]: FULL[field] })),
  ...PET_STATUSES.map((status) => ({ ...rex, status })),
  ...[INT64_MIN, -1n, 0n, 2n ** 53n + 1n, INT64_MAX].map((categoryId) => ({ ...rex, categoryId })),
  ...NAMES.map((name) => newPet(name, 'sold')),
];

/** Returns FULL with getters on its prototype, whose values change after the first call. */
function changingPet(): NewPet {
  const getters = FIELDS.map((field) => {
    const values = [OTHER[field], FULL[field]];
    return [field, { get: () => (values.length > 1 ? values.pop() : values[0]) }] as const;
  });
  const prototype = Object.defineProperties({}, Object.fromEntries(getters));
  return Object.create(prototype) as NewPet;
}

function assertPet(pet: StoredPet | undefined, expected: Pet): void {
  assert.equal(pet?.id, expected.id, 'the id');
  assertText(pet?.text, expected);
}

/** Compares each field first, for a message that names it. */
function assertText(text: string | undefined, expected: Pet): void {
  assert.ok(text !== undefined);
  const pet = parsePet(text);
  // Names can be long, so they are not shown whole.
  for (const field of FIELDS) {
    const actual = pet[field];
    const right = expected[field];
    assert.ok(actual === right, `${field} must be ${shown(right)}, not ${shown(actual)}`);
  }
  assert.equal(text, formatPet(expected.id, formatMembers(expected)));
}

/** Returns a copy: a row of a database may have no prototype. */
function countOf(store: PetStore): PetCount {
  const { total, byStatus } = store.count();
  return { total, byStatus: { ...byStatus } };
}

function textOf(pet: { readonly text: string }): string {
  return pet.text;
}

function byId(a: { readonly id: bigint }, b: { readonly id: bigint }): number {
  return Number(a.id - b.id);
}
