/** Creates with a key: who waits for whom, and what becomes of each. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewPet, StoredPet } from '../../../src/model/pet.ts';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
} from '../../../src/model/pet-store.ts';
import { TextPet } from '../../../src/model/stored-pet.ts';
import { formatMembers, formatPet, InvalidPetError } from '../../../src/model/pet-text.ts';
import {
  IdempotentCreates,
  type IdempotentCreatesDeps,
} from '../../../src/stores/idempotent-creates.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n };
const KEY = requestKey(1);

/** A store whose creates end when the test says so. */
class HeldStore implements IdempotentCreatesDeps {
  readonly known: Map<string, StoredPet> = new Map();
  /** The creates in progress, in their order. */
  readonly creates: { readonly newPet: NewPet; succeed(): void; fail(error: Error): void }[] = [];
  held = 0;
  maxHeld = Infinity;
  #lastId = 0n;

  find(key: string): StoredPet | undefined {
    return this.known.get(key);
  }

  create(newPet: NewPet, key: string): Promise<StoredPet> {
    return new Promise((resolve, reject) => {
      const succeed = (): void => {
        this.#lastId += 1n;
        const pet = new TextPet(this.#lastId, formatPet(this.#lastId, formatMembers(newPet)));
        this.known.set(key, pet);
        resolve(pet);
      };
      this.creates.push({ newPet, succeed, fail: reject });
    });
  }

  hold(): () => void {
    if (this.held >= this.maxHeld) throw new StoreUnavailableError('Too many');
    this.held += 1;
    return () => (this.held -= 1);
  }
}

function begin() {
  const store = new HeldStore();
  const keyed = new IdempotentCreates(store);
  return { store, create: (pet = REX, key = KEY) => keyed.create(pet, key) };
}

/** Long enough for all that waits for nothing but promises. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('A create that arrives while the first one with its key is in progress gets its pet', async () => {
  const { store, create } = begin();
  const first = create();
  const followers = [create(), create(), create({ ...REX, name: 'Tom' })];
  const results = Promise.allSettled(followers);
  await settled();
  assert.equal(store.creates.length, 1);
  assert.equal(store.held, 3);
  store.creates[0]?.succeed();
  const { pet } = await first;
  const [one, two, other] = await results;
  for (const result of [one, two]) {
    assert.deepEqual(result, { status: 'fulfilled', value: { pet, isReplayed: true } });
  }
  assert.ok(other?.status === 'rejected' && other.reason instanceof KeyReusedError);
  assert.equal(store.held, 0);
});

test('If the first create is refused, one of the waiting ones is tried instead', async () => {
  const { store, create } = begin();
  const first = create();
  const second = create({ ...REX, name: 'Tom' });
  const third = create({ ...REX, name: 'Tom' });
  store.creates[0]?.fail(new StoreUnavailableError('full'));
  await assert.rejects(first, StoreUnavailableError);
  await settled();
  assert.deepEqual(
    store.creates.map(({ newPet }) => newPet.name),
    ['Rex', 'Tom'],
  );
  store.creates[1]?.succeed();
  const { pet } = await second;
  assert.deepEqual(await third, { pet, isReplayed: true });
});

test('A create that has waited for two refused creates is refused with them', async () => {
  const { store, create } = begin();
  const all = Array.from({ length: 1000 }, () => create());
  const results = Promise.allSettled(all);
  for (const index of [0, 1]) {
    await settled();
    assert.equal(store.creates.length, index + 1);
    store.creates[index]?.fail(new StoreUnavailableError('full'));
  }
  for (const result of await results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailableError);
  }
  assert.equal(store.creates.length, 2);
  assert.equal(store.held, 0);
});

test('A create that waits for creates of invalid pets is refused only for its own pet', async () => {
  const { store, create } = begin();
  const all = [create(), create(), create()] as const;
  const results = Promise.allSettled(all);
  for (const index of [0, 1]) {
    await settled();
    store.creates[index]?.fail(new InvalidPetError('no pet'));
  }
  await settled();
  store.creates[2]?.succeed();
  assert.deepEqual(
    (await results).map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  );
});

test('If the outcome of the first create is unknown, so is the outcome of the waiting ones', async () => {
  const { store, create } = begin();
  const all = [create(), create(), create()];
  const results = Promise.allSettled(all);
  store.creates[0]?.fail(new OutcomeUnknownError('nobody knows'));
  for (const result of await results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof OutcomeUnknownError);
  }
  assert.equal(store.creates.length, 1);
});

test('Waiting creates count towards the bound of the queue', async () => {
  const { store, create } = begin();
  store.maxHeld = 1;
  const first = create();
  const second = create();
  await assert.rejects(create(), StoreUnavailableError);
  store.creates[0]?.succeed();
  const { pet } = await first;
  assert.deepEqual(await second, { pet, isReplayed: true });
});
