/** The file store: the contract of a PetStore on real files, and its first and last ids. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreUnavailableError } from '../../../src/model/pet-store.ts';
import { openFileStore, type FileStoreOptions } from '../../../src/stores/file/file-store.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

testPetStoreContract(
  'The file store',
  (t) => {
    const path = join(tempDir(t), 'pets.json');
    return () => openFileStore({ path });
  },
  { isDurable: true },
);

const rex = { name: 'Rex', categoryId: 7n };

test('An option that is undefined has its default', async (t) => {
  const options: Required<FileStoreOptions> = {
    path: join(tempDir(t), 'pets.json'),
    log: undefined,
    disk: undefined,
    memory: undefined,
    longJournalBytes: undefined,
    now: undefined,
    timeOfDay: undefined,
    randomBits: undefined,
    every: undefined,
    sleep: undefined,
    pets: undefined,
    keys: undefined,
  };
  const store = await openFileStore(options);
  assert.equal((await store.create(rex)).text, petText(1));
  assert.equal(store.problem(), undefined);
  await store.close();
});

test('New ids follow the greatest id of the starting data', async () => {
  const disk = createMemoryDisk({ 'pets.json': `[${petText(3)},${petText(7)}]` });
  const store = await openFileStore({ path: 'pets.json', disk });
  assert.equal((await store.create(rex)).text, petText(8));
  const page = await store.list({ limit: 2, after: 3n });
  assert.equal(page.text, `[${petText(7)},\n${petText(8)}]`);
  for (const id of [1n, 4n, 6n, 9n]) assert.equal(await store.get(id), undefined);
  await store.close();
});

test('The greatest id is 2^63 - 1: the create after it is refused', async () => {
  const disk = createMemoryDisk({ 'pets.json': `[${petText(2n ** 63n - 6n)}]` });
  const store = await openFileStore({ path: 'pets.json', disk });
  for (let i = 0; i < 3; i += 1) await store.create(rex);
  assert.equal(store.problem(), undefined);
  const results = await Promise.allSettled([1, 2, 3].map(() => store.create(rex)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  await assert.rejects(store.create(rex), StoreUnavailableError);
  assert.match(store.problem()!, /^No id is left: /);
  await store.close();
  assert.equal(store.problem(), 'The store is closed');

  const again = await openFileStore({ path: 'pets.json', disk });
  assert.equal((await again.get(2n ** 63n - 1n))?.text, petText(2n ** 63n - 1n));
  await assert.rejects(again.create(rex), { message: /^No id is left: .* 9223372036854775807,/ });
  assert.match(again.problem()!, /^No id is left: /);
  assert.equal(again.count().total, 6);
  await again.close();
});

function petText(id: number | bigint): string {
  return `{"id":${id},"name":"Rex","categoryId":7}`;
}
