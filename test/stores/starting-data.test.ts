/** The memory store: its contract, with the pets of a data file, and mistakes in that file. */

import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
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
  'The memory store',
  (t) => {
    const path = fileWith(t, '[]');
    return () => openStartedStore(path);
  },
  { isDurable: false },
);

test('It begins with the pets of the file and of its journal', async (t) => {
  const path = fileWith(t, '[{"id":5,"name":"Old","categoryId":1}]');
  const service = await openFileStore({ path });
  t.after(() => service.close());
  await service.create({ name: 'Rex', categoryId: 1n });
  const store = await openStartedStore(path);
  await store.create({ name: 'Tom', categoryId: 1n });
  const { pets } = await store.list({ limit: 9 });
  const found = pets.map(({ id, name }) => `${id} ${name}`);
  assert.deepEqual(found, ['5 Old', '6 Rex', '7 Tom']);
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
};

for (const [what, [text, expected]] of Object.entries(MISTAKES)) {
  test(`A file with mistakes ${what} is refused with all of them, for who wrote it`, async (t) => {
    const path = fileWith(t, text);
    const message = typeof expected === 'string' ? path + expected : expected;
    await assert.rejects(openStartedStore(path), { message });
    assert.deepEqual(readdirSync(dirname(path)), ['pets.json']);
  });
}

function fileWith(t: TestContext, text: string): string {
  const path = join(tempDir(t), 'pets.json');
  writeFileSync(path, text);
  return path;
}

async function openStartedStore(path: string): Promise<PetStore> {
  const { pets } = await verifyData(nodeDisk, path);
  return createMemoryStore(pets.pets());
}
