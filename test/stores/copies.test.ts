/**
 * Data files that are checked and copied, as far as the commands do not show it
 * (test/process/commands.script), on a disk in memory.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backUp, checkDataFile } from '../../src/core/store/copies.ts';
import type { Disk } from '../../src/core/store/disk.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { fileOf, line } from '../support/disk/data-files.ts';
import { intercept } from '../support/disk/intercept.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../support/disk/memory-disk.ts';
import { REX } from '../support/pets/rex.ts';
import { requestKey } from '../support/pets/request-keys.ts';

const PATH = '/d/pets.json';

/** The disk, on which another process has locked the files with this end. */
function lockedFor(memory: MemoryDisk, end: string): Disk {
  return intercept(memory, ({ operation, path }, args, proceed) =>
    operation === 'lock' && path.endsWith(end) ? Promise.resolve(false) : proceed(...args),
  );
}

test('A check beside a service changes nothing, and reads again what was just being written', async () => {
  const memory = createMemoryDisk();
  const store = await openFileStore({ path: PATH, disk: memory });
  await store.create(REX);
  const before = memory.read(PATH);
  // For the first two looks a commit is being written, which is then rolled back.
  let opened = 0;
  const disk = intercept(lockedFor(memory, PATH), ({ operation }, args, proceed) => {
    if (operation === 'open') {
      opened += 1;
      memory.edit(PATH, opened < 5 ? Buffer.concat([before, Buffer.from('x')]) : before);
    }
    return proceed(...args);
  });
  const content = await checkDataFile(disk, PATH);
  assert.deepEqual([content.pets.length, content.isInUse], [1, true]);
  memory.edit(PATH, `${before.toString()}x`);
  await assert.rejects(checkDataFile(lockedFor(memory, PATH), PATH), /is damaged/);
});

test('A backup that fails leaves the file that it was to replace', async () => {
  const lines = [line(1), line(2, 'Tom', requestKey(1)), line(3)];
  const memory = createMemoryDisk({ [PATH]: fileOf([lines], 'clean').bytes });
  const to = '/d/backup.json';
  memory.write(to, fileOf([[line(1)]], 'clean').bytes);
  const before = memory.contents();
  for (const failing of ['open', 'write', 'sync', 'rename'] as const) {
    const disk = intercept(memory, ({ operation, path }, args, proceed) => {
      const isNew = path.includes('.unfinished-');
      return operation === failing && isNew
        ? Promise.reject(systemError('ENOSPC', path))
        : proceed(...args);
    });
    await assert.rejects(backUp(disk, PATH, to, true), { code: 'ENOSPC' });
    assert.deepEqual(memory.contents(), before, failing);
  }
  await backUp(memory, PATH, to, true);
  // With its keys, and clean.
  assert.deepEqual(memory.read(to), memory.read(PATH));
});

test('A backup never gets a name that belongs to the data file', async () => {
  const memory = createMemoryDisk({ [PATH]: fileOf([], 'clean').bytes });
  for (const ending of ['journal', 'journal.old', 'lock', 'saved-20261121T2Z', 'unfinished-1']) {
    await assert.rejects(backUp(memory, PATH, `${PATH}.${ending}`, true), /name another file$/);
  }
  for (const other of [`${PATH}.bak`, '/d/cats.json.lock', '/e/pets.json.lock']) {
    await backUp(memory, PATH, other, false);
  }
});
