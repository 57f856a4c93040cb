/** The contract of a store, run on stores that break a part of it. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tempDir } from './support/disk/temp-dir.ts';
import { ROOT } from './support/project.ts';
import { runNode } from './support/process/process.ts';

const SAME = 'create, get and list return the same pet';
const REOPENED = 'a reopened store has all pets, their values and texts, and its ids continue';

/** Returns members of a store that lists the pets of an earlier one as this expression says. */
const reopened = (pet: string): string => `async list(query) {
  const page = await store.list(query);
  return { ...page, pets: page.pets.map((pet) => pet.id > openedWith ? pet : ${pet}) };
}`;

/**
 * Members of a store in JavaScript, and the tests that it fails. `store` is a memory store that
 * throws for an id outside int64, as a database does, and `openedWith` the last id when it was
 * opened.
 */
const STORES: readonly (readonly [what: string, members: string, failed: readonly string[]])[] = [
  [
    'replaces lone surrogates',
    'create: (pet) => create({ ...pet, name: pet.name.toWellFormed() })',
    [SAME, REOPENED],
  ],
  ['throws for an id outside int64', reopened('pet'), []],
  [
    'lists rounded categories after reopening',
    reopened('({ ...pet, categoryId: BigInt(Number(pet.categoryId)) })'),
    [REOPENED],
  ],
  [
    'lists names without surrogates after reopening',
    reopened('({ ...pet, name: pet.name.toWellFormed() })'),
    [REOPENED],
  ],
  ['lists no status after reopening', reopened('({ ...pet, status: undefined })'), [REOPENED]],
];

let report = '';

/** Runs the contract of all stores in one process, without the tests that none of them fails. */
before(async () => {
  const url = (name: string): string =>
    JSON.stringify(pathToFileURL(join(ROOT, 'dist', name)).href);
  const file = join(tempDir({ after }), 'store.test.mjs');
  const suites = STORES.map(
    ([what, members]) => `
testPetStoreContract(${JSON.stringify(what)}, newStorage((store, create, openedWith) => ({ ${members} })), {
  isDurable: true,
});`,
  );
  writeFileSync(
    file,
    `import { createMemoryStore } from ${url('index.js')};
import { testPetStoreContract } from ${url('contract/pet-store-contract.js')};
const bound = (id) => {
  if (BigInt.asIntN(64, id) === id) return id;
  throw new RangeError('BigInt value is too large to bind');
};
const newStorage = (membersOf) => () => {
  const pets = [];
  return () => {
    const { createOnce, ...memory } = createMemoryStore(pets);
    const store = {
      ...memory,
      get: (id) => memory.get(bound(id)),
      list: (query) => memory.list({ ...query, after: bound(query.after ?? 0n) }),
    };
    const create = async (newPet) => {
      const pet = await store.create(newPet);
      pets.push(pet);
      return pet;
    };
    return { ...store, create, ...membersOf(store, create, pets.at(-1)?.id ?? 0n) };
  };
};
${suites.join('\n')}`,
  );
  const pattern = `--test-name-pattern=${SAME}|${REOPENED}|seed 1`;
  report = (await runNode(['--test-reporter=tap', pattern, file])).stdout;
});

for (const [what, , failed] of STORES) {
  test(`A store that ${what} ${failed.length > 0 ? 'fails' : 'passes'}`, () => {
    const own = report.split(/^# Subtest: /m).find((suite) => suite.startsWith(`${what} keeps`));
    const names = Array.from(own!.matchAll(/^ +not ok \d+ - (.*)/gm), ([, name]) => name);
    assert.deepEqual(names, failed, own);
    assert.match(own!, failed.length > 0 ? /^not ok/m : /^ok/m);
  });
}

test('The report of the contract shows a wrong name, and what it must be', () => {
  const message = 'name must be "Rex\\ud83d", not "Rex\ufffd"';
  assert.ok(report.replaceAll('\\\\', '\\').includes(message), report);
});
