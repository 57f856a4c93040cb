/** The contract of a store, run on stores that break a part of it. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempDir } from './support/disk/temp-dir.ts';

/** Found from this file's compiled place, .build/test. */
const dist = new URL('../../dist/', import.meta.url);

test('A store that throws for an id outside int64, as a database does, passes the contract', (t) => {
  const { status, stdout } = runContract(
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
  assert.equal(status, 0, stdout);
});

test('A store that replaces lone surrogates fails, and the report shows both names', (t) => {
  const { status, stdout } = runContract(
    t,
    '({ ...store, create: (pet) => store.create({ ...pet, name: pet.name.toWellFormed() }) })',
  );
  assert.equal(status, 1);
  const escaped = (message: string): boolean => stdout.includes(message.replaceAll('\\', '\\\\'));
  const high = 'The name must be "\\ud83d" from character 0 on, not "\ufffd"';
  const low = 'The name must be "\\udc36b" from character 1 on, not "\ufffdb"';
  for (const message of [high, low]) {
    assert.ok(stdout.includes(message) || escaped(message), stdout);
  }
});

/** The pets of `list` after reopening, as a JavaScript expression, and whether it is wrong. */
const REOPENED: readonly (readonly [what: string, pet: string, isWrong: boolean])[] = [
  ['the same pets', 'pet', false],
  ['rounded categories', '({ ...pet, categoryId: BigInt(Number(pet.categoryId)) })', true],
  ['names without surrogates', '({ ...pet, name: pet.name.toWellFormed() })', true],
  ['no status', '({ ...pet, status: undefined })', true],
];

for (const [what, pet, isWrong] of REOPENED) {
  test(`A reopened store that lists ${what} ${isWrong ? 'fails' : 'passes'}`, (t) => {
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
    const { status, stdout } = runContract(t, wrap, true);
    assert.equal(status, isWrong ? 1 : 0, stdout);
    const failed = stdout.match(/^ +not ok \d+ - .*/gm) ?? [];
    assert.equal(failed.length, isWrong ? 1 : 0, failed.join('\n'));
  });
}

/**
 * Runs the contract in a child process, on a store that a JavaScript expression creates. `store` is
 * an open store, `pets` what the storage keeps, and `openedWith` the last id when it was opened.
 */
function runContract(
  t: TestContext,
  expression: string,
  isDurable = false,
): { readonly status: number | null; readonly stdout: string } {
  const path = (name: string): string => JSON.stringify(fileURLToPath(new URL(name, dist)));
  const file = join(tempDir(t), 'store.test.mjs');
  writeFileSync(
    file,
    `import { createMemoryStore } from ${path('index.js')};
import { testPetStoreContract } from ${path('contract/pet-store-contract.js')};
const wrap = (store, pets, openedWith) => ${expression};
const newStorage = () => {
  const pets = [];
  return () => wrap(createMemoryStore(pets), pets, pets.at(-1)?.id ?? 0n);
};
testPetStoreContract('The store', newStorage, { isDurable: ${isDurable} });
`,
  );
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-reporter=tap', file];
  return spawnSync(process.execPath, args, { env, encoding: 'utf8', timeout: 60_000 });
}
