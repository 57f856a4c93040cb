/** What many creates leave in memory. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { measured } from '../support/measured.ts';
import { REX } from '../support/pets/rex.ts';
import { usedBytes } from '../support/process/heap.ts';

test('Creates take no more memory than their bytes in the data file', async (t) => {
  const store = await openFileStore({ path: join(tempDir(t), 'pets.json') });
  const create = async (commits: number): Promise<void> => {
    for (let commit = 0; commit < commits; commit += 1) {
      await Promise.all(Array.from({ length: 250 }, () => store.create(REX)));
    }
  };
  await create(40);
  const before = { used: usedBytes(), file: measured(store, 'store_data_file_bytes') };
  await create(rounds(200, 400));
  const grown = usedBytes() - before.used;
  const written = measured(store, 'store_data_file_bytes') - before.file;
  await store.close();
  t.diagnostic(`${written} bytes of file, ${grown} of memory`);
  // Memory is taken by the megabyte, and Node 26 takes one more.
  assert.ok(grown < written + (2 << 20), `${grown} bytes for ${written}`);
});
