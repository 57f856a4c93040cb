/** The file store: the contract of a PetStore on real files, and its first and last ids. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreUnavailableError } from '../../../src/model/pet-store.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
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
