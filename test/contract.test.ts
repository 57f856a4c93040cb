/** The contract of a store, run on stores that break a part of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { testPetStoreContract, type OpenStore } from '../src/extras/contract/pet-store-contract.ts';
import type { NewPet, StoredPet } from '../src/core/pets/pet.ts';
import { formatMembers, formatPet } from '../src/core/pets/pet-text.ts';
import { createMemoryStore } from '../src/core/store/memory-store.ts';
import { runNode } from './support/process/process.ts';

const SAME = 'create, get and list return the same pet';
const REOPENED = 'a reopened store has all pets, their values and texts, and its ids continue';

/** What a store adds of a new pet, and what it finds of a pet when it is opened again. */
interface Breaks {
  readonly added?: (pet: NewPet) => NewPet;
  readonly found?: (pet: StoredPet) => StoredPet;
}

const wellFormed = <T extends NewPet>(pet: T): T => {
  return { ...pet, name: Buffer.from(pet.name).toString() };
};
const rounded = (pet: StoredPet): StoredPet => {
  return { ...pet, categoryId: BigInt(Number(pet.categoryId)) };
};

const withText = (pet: StoredPet): StoredPet => {
  return { ...pet, text: formatPet(pet.id, formatMembers(pet)) };
};

/** Stores, and the tests that each of them fails. */
const STORES: readonly (readonly [what: string, breaks: Breaks, failed: readonly string[]])[] = [
  ['replaces lone surrogates', { added: wellFormed }, [SAME, REOPENED]],
  ['throws for an id outside int64', {}, []],
  ['lists rounded categories after reopening', { found: rounded }, [REOPENED]],
  ['lists names without surrogates after reopening', { found: wellFormed }, [REOPENED]],
  [
    'lists no status after reopening',
    { found: (pet) => ({ ...pet, status: undefined }) },
    [REOPENED],
  ],
];

/** Opens memory stores that throw for an id outside int64, as a database does. */
function storageOf({ added = (pet) => pet, found = (pet) => pet }: Breaks): OpenStore {
  const pets: StoredPet[] = [];
  const bound = (id: bigint): bigint => {
    if (BigInt.asIntN(64, id) === id) return id;
    throw new RangeError('BigInt value is too large to bind');
  };
  return () => {
    const { createOnce: _, ...store } = createMemoryStore(pets.map((pet) => withText(found(pet))));
    return {
      ...store,
      get: (id) => store.get(bound(id)),
      list: (query) => store.list({ ...query, after: bound(query.after ?? 0n) }),
      async create(newPet) {
        const pet = await store.create(added(newPet));
        pets.push(pet);
        return pet;
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
