/**
 * The file store: the contract of a PetStore on real files; its scripts, a file for each state; and
 * what two processes do whose locks do not see each other.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { testPetStoreContract } from '../../../src/extras/contract/pet-store-contract.ts';
import type { FileStat } from '../../../src/core/store/disk.ts';
import { openFileStore, type FileStore } from '../../../src/core/store/file-store.ts';
import { linesOf, read } from '../../support/disk/data-files.ts';
import { intercept } from '../../support/disk/intercept.ts';
import { createMemoryDisk, systemError } from '../../support/disk/memory-disk.ts';
import { beginStoreScript } from '../../support/disk/store-script.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { rounds } from '../../support/extent.ts';
import { createRandom } from '../../support/random.ts';
import { testScript } from '../../support/script.ts';

const PATH = '/d/pets.json';

testPetStoreContract(
  'The file store',
  (t) => {
    const path = join(tempDir(t), 'pets.json');
    return () => openFileStore({ path });
  },
  { isDurable: true },
);

for (const name of ['working', 'repairing', 'ended', 'closed', 'start', 'creates', 'upgrade']) {
  testScript(`stores/file/${name}.script`, beginStoreScript);
}

test('Where locks do not work, no acknowledged pet is lost, and one of two stores that write ends', async () => {
  for (let seed = 1; seed <= rounds(60, 2000); seed += 1) {
    const random = createRandom(seed);
    const memory = createMemoryDisk();
    // Each operation of one may come between any two of the other.
    const disk = intercept(memory, ({ operation }, args, proceed) => {
      if (/Now$|^stat$/.test(operation)) return proceed(...args);
      return (async () => {
        for (let turns = random.below(4); turns > 0; turns -= 1) await undefined;
        return operation === 'lock' || proceed(...args);
      })();
    });
    const randomBits = (): number => random.below(2 ** 32);
    const open = (): Promise<FileStore> => openFileStore({ path: PATH, disk, randomBits });
    const stores = [await open(), await open()];
    const acknowledged: string[] = [];
    const creating = Array.from({ length: 6 }, async (_, index) => {
      const store = stores[index % 2]!;
      for (let turns = random.below(60); turns > 0; turns -= 1) await undefined;
      const pet = await store
        .create({ name: `pet ${index}`, categoryId: 1n })
        .catch(() => undefined);
      if (pet !== undefined) acknowledged.push(pet.text);
    });
    await Promise.all(creating);
    const ends = await Promise.all(stores.map((store) => store.close().catch(() => 'not safe')));
    assert.ok(ends.includes('not safe'), `seed ${seed}`);
    const kept = new Set<string>();
    for (const [path, content] of Object.entries(memory.contents())) {
      const tables = await read(Buffer.from(content, 'latin1')).catch(() => undefined);
      for (const text of tables === undefined ? [] : linesOf(tables)) kept.add(text);
      assert.ok(path.startsWith(PATH));
    }
    for (const text of acknowledged) assert.ok(kept.has(text), `seed ${seed}: ${text} is lost`);
  }
});

test('Where a rename gives the file another number, the start is refused in plain words', async () => {
  const memory = createMemoryDisk();
  const renamed = new Set<string>();
  const disk = intercept(memory, ({ operation, path }, args, proceed) => {
    if (operation === 'link') throw systemError('ENOSYS', path);
    if (operation === 'rename') renamed.add(args[1] as string);
    const result = proceed(...args);
    if (operation !== 'stat' || !renamed.has(args[0] as string)) return result;
    const stat = result as FileStat | undefined;
    return stat && { ...stat, inode: stat.inode + 1000n };
  });
  await assert.rejects(openFileStore({ path: PATH, disk }), {
    message:
      `${PATH} does not lead to the file that this start has opened or written, as it was. ` +
      'Another program changes or replaces it, or its file system does not say which file a path ' +
      'leads to: no store can be kept there',
  });
});
