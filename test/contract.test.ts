/** The contract of a store, run on stores that break a part of it. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tempDir } from './support/disk/temp-dir.ts';
import { ROOT } from './support/process/carry.ts';
import { runNode, type Result } from './support/process/process.ts';

test('A store that throws for an id outside int64, as a database does, passes the contract', async (t) => {
  const { code, stdout } = await runContract(
    t,
    `({
      ...store,
      get(id) {
        if (BigInt.asIntN(64, id) !== id) throw new RangeError('BigInt value is too large to bind');
        return store.get(id);
      },
      list(query) {
        const { after = 0n } = query;
        if (BigInt.asIntN(64, after) !== after) throw new RangeError('too large to bind');
        return store.list(query);
      },
    })`,
  );
  assert.equal(code, 0, stdout);
});

test('A store that replaces lone surrogates fails, and the report shows both names', async (t) => {
  const { code, stdout } = await runContract(
    t,
    '({ ...store, create: (pet) => store.create({ ...pet, name: pet.name.toWellFormed() }) })',
  );
  assert.equal(code, 1);
  const message = 'The name must be "\\ud83d" from character 3 on, not "\ufffd"';
  assert.ok(stdout.includes(message) || stdout.includes(message.replaceAll('\\', '\\\\')), stdout);
});

/** The pets of `list` after reopening, as a JavaScript expression, and whether it is wrong. */
const REOPENED: readonly (readonly [what: string, pet: string, isWrong: boolean])[] = [
  ['the same pets', 'pet', false],
  ['rounded categories', '({ ...pet, categoryId: BigInt(Number(pet.categoryId)) })', true],
  ['names without surrogates', '({ ...pet, name: pet.name.toWellFormed() })', true],
  ['no status', '({ ...pet, status: undefined })', true],
];

for (const [what, pet, isWrong] of REOPENED) {
  test(`A reopened store that lists ${what} ${isWrong ? 'fails' : 'passes'}`, async (t) => {
    const wrap = `({
      ...store,
      createOnce: undefined,
      async create(newPet) {
        const pet = await store.create(newPet);
        pets.push(pet);
        return pet;
      },
      async list(query) {
        const page = await store.list(query);
        return { ...page, pets: page.pets.map((pet) => pet.id > openedWith ? pet : ${pet}) };
      },
    })`;
    const { code, stdout } = await runContract(t, wrap, true);
    assert.equal(code, isWrong ? 1 : 0, stdout);
    assert.equal(stdout.match(/^ +not ok \d+ - .*/gm)?.length ?? 0, isWrong ? 1 : 0, stdout);
  });
}

/**
 * Runs the contract in a child process, on a store that a JavaScript expression creates. `store` is
 * an open store, `pets` what the storage keeps, and `openedWith` the last id when it was opened.
 */
async function runContract(t: TestContext, expression: string, isDurable = false): Promise<Result> {
  const url = (name: string): string =>
    JSON.stringify(pathToFileURL(join(ROOT, 'dist', name)).href);
  const file = join(tempDir(t), 'store.test.mjs');
  writeFileSync(
    file,
    `import { createMemoryStore } from ${url('index.js')};
import { testPetStoreContract } from ${url('contract/pet-store-contract.js')};
const wrap = (store, pets, openedWith) => ${expression};
const newStorage = () => {
  const pets = [];
  return () => wrap(createMemoryStore(pets), pets, pets.at(-1)?.id ?? 0n);
};
testPetStoreContract('The store', newStorage, { isDurable: ${isDurable} });
`,
  );
  return runNode(['--test', '--test-reporter=tap', file]);
}
