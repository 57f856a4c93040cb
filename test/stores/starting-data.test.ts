/** The store of `--memory` with a data file: its pets, its contract, and mistakes in the file. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { testPetStoreContract } from '../../src/contract/pet-store-contract.ts';
import type { PetStore } from '../../src/model/pet-store.ts';
import { verifyData } from '../../src/stores/file/data-file.ts';
import { openFileStore } from '../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../src/stores/file/node-disk.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

testPetStoreContract(
  'A memory store with starting data',
  (t) => {
    const path = fileWith(t, '[]');
    return () => openStartedStore(path);
  },
  { isDurable: false },
);

test('It begins with the pets of the file and of its journal, and writes to neither', async (t) => {
  const path = fileWith(t, '[{"id":5,"name":"Old","categoryId":1}]');
  const service = await openFileStore({ path });
  t.after(() => service.close());
  await service.create({ name: 'Rex', categoryId: 1n });
  const before = filesNextTo(path);
  const store = await openStartedStore(path);
  assert.equal((await store.create({ name: 'Tom', categoryId: 1n })).id, 7n);
  const { pets } = await store.list({ limit: 9 });
  assert.deepEqual(
    pets.map(({ name }) => name),
    ['Old', 'Rex', 'Tom'],
  );
  await store.close();
  assert.deepEqual(filesNextTo(path), before);
});

test('Hundreds of pages of many pets take less time than reading the pets once', async (t) => {
  const texts = Array.from({ length: 100_000 }, (_, index) => {
    return `{"id":${index + 1},"name":"Pet","categoryId":1}`;
  });
  const path = fileWith(t, `[\n${texts.join(',\n')}\n]\n`);
  const start = process.cpuUsage();
  const store = await openStartedStore(path);
  const opening = process.cpuUsage(start);
  const opened = process.cpuUsage();
  for (let after = 0n; after < 100_000n; after += 200n) await store.list({ limit: 20, after });
  const listing = process.cpuUsage(opened);
  assert.ok(listing.user < opening.user + opening.system, `${listing.user} : ${opening.user} µs`);
});

const START = ' is not a list of pets. It was left as it is:\n  ';
const MISTAKES: Readonly<Record<string, readonly [text: string, message: string | RegExp]>> = {
  'in each pet': [
    '[{"id":2,"name":"a"},\n{"id":1,"name":"b","categoryId":1.5,"tag":1},\n 7,\n' +
      '{"id":9,"name":"c","categoryId":1},{"id":9,"name":"d","categoryId":1}]',
    `${START}pet 1: categoryId is required\n  ` +
      'pet 2: "tag" is no field of a Pet; ' +
      'categoryId must be an integer of 64 bits, not 1.5\n  ' +
      'pet 3: Expected a pet but got 7\n  ' +
      'pet 5: id 9 does not come after 9: ids must be ascending',
  ],
  'in very many pets': [
    `[${'{},'.repeat(29)}{}]`,
    /\n {2}pet 20: id is required; name is required; categoryId is required\n {2}and 10 more$/,
  ],
  'of another kind': ['{"pets":[]}', / is not a petstore data file, which is a JSON array of pets/],
  'that is not JSON': [
    '[{"id":1,}]',
    /as it is:\n {2}it is not valid JSON: Expected double-quoted/,
  ],
  'in its encoding': [
    '\ufeff[]',
    /which is a JSON array of pets in UTF-8 without a byte order mark/,
  ],
};

for (const [what, [text, expected]] of Object.entries(MISTAKES)) {
  test(`A file with mistakes ${what} is refused with all of them, for who wrote it`, async (t) => {
    const path = fileWith(t, text);
    await assert.rejects(openStartedStore(path), ({ message }: Error) => {
      if (typeof expected === 'string') assert.equal(message, path + expected);
      else assert.match(message, expected);
      return true;
    });
    assert.deepEqual(readdirSync(dirname(path)), ['pets.json']);
  });
}

test('A missing file is called missing', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  await assert.rejects(openStartedStore(path), { message: `There is no data file ${path}` });
});

function fileWith(t: TestContext, text: string): string {
  const path = join(tempDir(t), 'pets.json');
  writeFileSync(path, text);
  return path;
}

function filesNextTo(path: string): readonly (readonly string[])[] {
  const folder = dirname(path);
  return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'latin1')]);
}

async function openStartedStore(path: string): Promise<PetStore> {
  const { pets } = await verifyData(nodeDisk, path);
  return createMemoryStore(pets.pets());
}
