/** The contract of a store, run on stores that break a part of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { testPetStoreContract, type OpenStore } from '../src/extras/contract/pet-store-contract.ts';
import { stringifyPet, type NewPet, type Pet, type StoredPet } from '../src/core/pets/pet.ts';
import type { CreateOnceResult, PetStore } from '../src/core/pets/pet-store.ts';
import { formatMembers, parsePet } from '../src/core/pets/pet-text.ts';
import { replayedPet } from '../src/core/store/idempotency-keys.ts';
import { createMemoryStore } from '../src/core/store/memory-store.ts';
import { runNode } from './support/process/process.ts';

const SAME = 'create, get and list return the same pet';
const GENERATED = 'generated calls return the same as a plain array (seed 1)';
const REOPENED = 'a reopened store has all pets, their values and texts, and its ids continue';
const CONCURRENT = 'concurrent creates with the same key and different pets add one pet';
const MANY_KEYS = '1,000 keys are remembered';
const REOPENED_KEYS = 'a reopened store still has its keys';
const CLOSED = 'a closed store refuses creates and reports why';

type KeyedStore = Required<Pick<PetStore, 'createOnce'>> & PetStore;

/** A pet that outlives its store, and its key. */
interface Kept {
  readonly pet: StoredPet;
  readonly key?: string;
}

/** What a store adds of a new pet, returns of it, and finds of it when it is opened again. */
interface Breaks {
  readonly added?: (pet: NewPet) => NewPet;
  readonly returned?: (pet: StoredPet) => StoredPet;
  readonly found?: (pet: Pet) => Pet;
  /** Returns the methods that are different. Called when the store is opened. */
  readonly methods?: (store: KeyedStore, kept: Kept[]) => Partial<PetStore>;
}

const wellFormed = <T extends NewPet>(pet: T): T => {
  return { ...pet, name: Buffer.from(pet.name).toString() };
};
const rounded = (pet: Pet): Pet => {
  return { ...pet, categoryId: BigInt(Number(pet.categoryId)) };
};
const nextId = (pet: StoredPet): StoredPet => ({ ...pet, id: pet.id + 1n });

function keepsNothingInProgress(store: KeyedStore, kept: Kept[]): Partial<PetStore> {
  return {
    async close() {
      const { length } = kept;
      await store.close();
      await setImmediate();
      kept.length = length;
    },
  };
}

function sharesCreates(store: KeyedStore): Partial<PetStore> {
  const inProgress = new Map<string, Promise<CreateOnceResult>>();
  return {
    async createOnce(newPet, key) {
      const earlier = inProgress.get(key);
      if (earlier !== undefined) return { ...(await earlier), isReplayed: true };
      const creating = store.createOnce(newPet, key).finally(() => setImmediate());
      inProgress.set(key, creating);
      return creating.finally(() => inProgress.delete(key));
    },
  };
}

function remembersTwoKeys(store: KeyedStore): Partial<PetStore> {
  return {
    async createOnce(newPet, key) {
      const created = await store.createOnce(newPet, key);
      const isOld = created.pet.id <= store.count().total - 2;
      if (!created.isReplayed || !isOld) return created;
      return { pet: await store.create(newPet), isReplayed: false };
    },
  };
}

function replaysOldKeys(store: KeyedStore, kept: Kept[]): Partial<PetStore> {
  const old = new Map(kept.map(({ pet, key }) => [key, { pet, isReplayed: true }]));
  return { createOnce: async (newPet, key) => old.get(key) ?? store.createOnce(newPet, key) };
}

function getsNoPetClosed(store: KeyedStore): Partial<PetStore> {
  return { get: (id) => store.get(store.unreadiness() === undefined ? id : 0n) };
}

function listsNoPetClosed(store: KeyedStore): Partial<PetStore> {
  const nothing = { limit: 1, after: 2n ** 62n };
  return { list: (query) => store.list(store.unreadiness() === undefined ? query : nothing) };
}

function withoutPrototypes(store: KeyedStore): Partial<PetStore> {
  const bare = <T>(value: T): T => Object.assign(Object.create(null), value);
  return { count: () => bare({ ...store.count(), byStatus: bare(store.count().byStatus) }) };
}

/** Stores, and the tests that each of them fails. */
const STORES: readonly (readonly [what: string, breaks: Breaks, failed: readonly string[]])[] = [
  ['replaces lone surrogates', { added: wellFormed }, [SAME, REOPENED]],
  ['throws for an id outside int64', {}, []],
  ['lists rounded categories after reopening', { found: rounded }, [REOPENED]],
  ['returns another id than that in the text', { returned: nextId }, [SAME, GENERATED, REOPENED]],
  ['loses creates in progress', { methods: keepsNothingInProgress }, [REOPENED, REOPENED_KEYS]],
  ['shares a create in progress with any pet', { methods: sharesCreates }, [CONCURRENT]],
  ['remembers two keys', { methods: remembersTwoKeys }, [MANY_KEYS, REOPENED_KEYS]],
  ['replays any pet after reopening', { methods: replaysOldKeys }, [REOPENED_KEYS]],
  ['gets no pet once it is closed', { methods: getsNoPetClosed }, [CLOSED]],
  ['lists no pet once it is closed', { methods: listsNoPetClosed }, [CLOSED]],
  ['counts in objects without a prototype', { methods: withoutPrototypes }, []],
];

const same = <T>(value: T): T => value;

/** Opens memory stores that throw for an id outside int64, as a database does. */
function storageOf(breaks: Breaks): OpenStore {
  const { added = same, returned = same, found = same, methods = () => ({}) } = breaks;
  const kept: Kept[] = [];
  const bound = (id: bigint): bigint => {
    if (BigInt.asIntN(64, id) === id) return id;
    throw new RangeError('BigInt value is too large to bind');
  };
  return () => {
    const reopened = kept.map(({ pet: { id, text } }) => ({
      id,
      text: stringifyPet(found(parsePet(text))),
    }));
    const memory = createMemoryStore(reopened) as KeyedStore;
    const store: KeyedStore = {
      ...memory,
      async get(id) {
        const pet = await memory.get(bound(id));
        return pet && returned(pet);
      },
      list: (query) => memory.list({ ...query, after: bound(query.after ?? 0n) }),
      async create(newPet) {
        const pet = await memory.create(added(newPet));
        kept.push({ pet });
        return returned(pet);
      },
      async createOnce(newPet, key) {
        const old = kept.find((one) => one.key === key);
        if (old !== undefined) {
          return { pet: replayedPet(old.pet, formatMembers(newPet)), isReplayed: true };
        }
        const created = await memory.createOnce(newPet, key);
        if (!created.isReplayed) kept.push({ pet: created.pet, key });
        return created;
      },
    };
    return { ...store, ...methods(store, kept) };
  };
}

/** Set in the process in which the contracts of all stores run. */
if (process.env['BROKEN_STORES'] !== undefined) {
  for (const [what, breaks] of STORES) {
    testPetStoreContract(what, () => storageOf(breaks), { isDurable: true });
  }
} else {
  // Without the tests that none of them fails.
  const names = [SAME, REOPENED, 'seed 1', CONCURRENT, MANY_KEYS, REOPENED_KEYS, CLOSED];
  const pattern = `--test-name-pattern=${names.join('|')}`;
  const args = ['--test-reporter=tap', pattern, fileURLToPath(import.meta.url)];
  const { stdout } = await runNode(args, { env: { BROKEN_STORES: '1' } });

  for (const [what, , failed] of STORES) {
    test(`A store that ${what} ${failed.length > 0 ? 'fails' : 'passes'}`, () => {
      const own = stdout.split(/^# Subtest: /m).find((suite) => suite.startsWith(`${what} keeps`));
      const names = Array.from(own!.matchAll(/^ +not ok \d+ - (.*)/gm), ([, name]) => name);
      assert.deepEqual(names, failed, own);
      assert.match(own!, failed.length > 0 ? /^not ok/m : /^ok/m);
    });
  }

  test('The report of the contract shows a wrong name, and what it must be', () => {
    const message = 'name must be "Rex\\ud83d", not "Rex\ufffd"';
    assert.ok(stdout.replaceAll('\\\\', '\\').includes(message), stdout);
  });
}
