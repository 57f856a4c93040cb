/**
 * Data files that are checked and copied, as far as the commands do not show it
 * (test/process/commands.script), on a disk in memory.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backUp, checkDataFile } from '../../src/core/store/copies.ts';
import type { Disk } from '../../src/core/store/disk.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { fileOf, line, linesOf, read } from '../support/disk/data-files.ts';
import { intercept } from '../support/disk/intercept.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../support/disk/memory-disk.ts';
import { contentOf } from '../support/disk/shown-file.ts';
import { REX } from '../support/pets/rex.ts';
import { requestKey } from '../support/pets/request-keys.ts';

const PATH = '/d/pets.json';
const LINES = [line(1), line(2, 'Tom', requestKey(1)), line(3)];
const COMMITS = LINES.map((text) => [text]);

/** A disk with a file that no process uses. */
function diskWith(word: 'in use' | 'clean', cut = 0, commits = COMMITS): MemoryDisk {
  const { bytes } = fileOf(commits, word);
  return createMemoryDisk({ [PATH]: bytes.subarray(0, bytes.length - cut) });
}

/** The disk, on which another process has locked the files with this end. */
function lockedFor(memory: MemoryDisk, end: string): Disk {
  return intercept(memory, ({ operation, path }, args, proceed) =>
    operation === 'lock' && path.endsWith(end) ? Promise.resolve(false) : proceed(...args),
  );
}

const ALL: readonly string[] = LINES;

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

test('A backup has the whole commits and the keys, in a clean file, also beside a service', async () => {
  const memory = diskWith('in use', 40);
  await backUp(lockedFor(memory, PATH), PATH, '/d/backup.json', false);
  const copy = memory.read('/d/backup.json');
  assert.deepEqual(linesOf(await read(copy)), ALL.slice(0, 2));
  assert.equal(contentOf(copy), 'clean, 2 pets, 1 keys');
  const whole = diskWith('clean');
  await backUp(whole, PATH, '/d/backup.json', false);
  assert.deepEqual(linesOf(await read(whole.read('/d/backup.json'))), ALL);
});

test('A backup replaces a file only if that is asked for, and leaves it whole if it fails', async () => {
  const memory = diskWith('clean');
  const to = '/d/backup.json';
  memory.write(to, fileOf([[line(1)]], 'clean').bytes);
  const before = memory.contents();
  await assert.rejects(backUp(memory, PATH, to, false), {
    message: `${to} exists already: see --replace`,
  });
  const locked = backUp(lockedFor(memory, to), PATH, to, true);
  await assert.rejects(locked, { message: `${to} is in use by another process` });
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
  assert.deepEqual(linesOf(await read(memory.read(to))), ALL);
});

test('A backup is never the data file, or a name that belongs to it', async () => {
  const memory = diskWith('clean');
  const endings = [
    '',
    '.journal',
    '.journal.old',
    '.lock',
    '.saved-20261121T201500123Z',
    '.unfinished-1',
  ];
  for (const ending of endings) {
    await assert.rejects(backUp(memory, PATH, PATH + ending, true), /name another file$/);
  }
  for (const other of [`${PATH}.bak`, '/d/cats.json.lock', '/e/pets.json.lock']) {
    await backUp(memory, PATH, other, false);
  }
  await memory.link(PATH, '/d/other-name.json');
  await assert.rejects(backUp(memory, PATH, '/d/other-name.json', true), /name another file$/);
});
