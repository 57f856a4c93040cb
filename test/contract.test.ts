/** The contract of a store, run on stores that break a part of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { testPetStoreContract, type OpenStore } from '../src/extras/contract/pet-store-contract.ts';
import { stringifyPet, type NewPet, type Pet, type StoredPet } from '../src/core/pets/pet.ts';
import { parsePet } from '../src/core/pets/pet-text.ts';
import { createMemoryStore } from '../src/core/store/memory-store.ts';
import { runNode } from './support/process/process.ts';

const SAME = 'create, get and list return the same pet';
const GENERATED = 'generated calls return the same as a plain array (seed 1)';
const REOPENED = 'a reopened store has all pets, their values and texts, and its ids continue';

/** What a store adds of a new pet, returns of it, and finds of it when it is opened again. */
interface Breaks {
  readonly added?: (pet: NewPet) => NewPet;
  readonly returned?: (pet: StoredPet) => StoredPet;
  readonly found?: (pet: Pet) => Pet;
}

const wellFormed = <T extends NewPet>(pet: T): T => {
  return { ...pet, name: Buffer.from(pet.name).toString() };
};
const rounded = (pet: Pet): Pet => {
  return { ...pet, categoryId: BigInt(Number(pet.categoryId)) };
};
const withoutStatus = (pet: Pet): Pet => ({ ...pet, status: undefined });
const nextId = (pet: StoredPet): StoredPet => ({ ...pet, id: pet.id + 1n });

/** Stores, and the tests that each of them fails. */
const STORES: readonly (readonly [what: string, breaks: Breaks, failed: readonly string[]])[] = [
  ['replaces lone surrogates', { added: wellFormed }, [SAME, REOPENED]],
  ['throws for an id outside int64', {}, []],
  ['lists rounded categories after reopening', { found: rounded }, [REOPENED]],
  ['lists names without surrogates after reopening', { found: wellFormed }, [REOPENED]],
  ['lists no status after reopening', { found: withoutStatus }, [REOPENED]],
  ['returns another id than that in the text', { returned: nextId }, [SAME, GENERATED, REOPENED]],
];

const same = <T>(value: T): T => value;

/** Opens memory stores that throw for an id outside int64, as a database does. */
function storageOf(breaks: Breaks): OpenStore {
  const { added = same, returned = same, found = same } = breaks;
  const pets: StoredPet[] = [];
  const bound = (id: bigint): bigint => {
    if (BigInt.asIntN(64, id) === id) return id;
    throw new RangeError('BigInt value is too large to bind');
  };
  return () => {
    const reopened = pets.map(({ id, text }) => ({
      id,
      text: stringifyPet(found(parsePet(text))),
    }));
    const { createOnce: _, ...store } = createMemoryStore(reopened);
    return {
      ...store,
      async get(id) {
        const pet = await store.get(bound(id));
        return pet && returned(pet);
      },
      list: (query) => store.list({ ...query, after: bound(query.after ?? 0n) }),
      async create(newPet) {
        const pet = await store.create(added(newPet));
        pets.push(pet);
        return returned(pet);
      },
    };
  };
}

/** Set in the process in which the contracts of all stores run. */
if (process.env['BROKEN_STORES'] !== undefined) {
  for (const [what, breaks] of STORES) {
    testPetStoreContract(what, () => storageOf(breaks), { isDurable: true });
  }
} else {
  // Without the tests that none of them fails.
  const pattern = `--test-name-pattern=${SAME}|${REOPENED}|seed 1`;
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
