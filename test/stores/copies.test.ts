/** Data files that are checked, copied and made: the work of the commands, on a disk in memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertWhole,
  backUp,
  checkDataFile,
  loadDataFile,
  loadProvenCommits,
  makeDataFile,
} from '../../src/core/store/copies.ts';
import { parsePet } from '../../src/core/pets/pet-text.ts';
import type { Disk } from '../../src/core/store/disk.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { fileOf, line, linesOf, read } from '../support/disk/data-files.ts';
import { intercept } from '../support/disk/intercept.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../support/disk/memory-disk.ts';
import { contentOf } from '../support/disk/shown-file.ts';
import { textsOf } from '../support/pets/next-start.ts';
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

test('A check tells what a start would find, and whether a service uses the file', async () => {
  const found = async (disk: Disk): Promise<string> => {
    const content = await checkDataFile(disk, PATH);
    const end = content.form === 'commits' ? content.end : content.form;
    return `${content.pets.length} pets, ${end}${content.isInUse ? ', in use' : ''}`;
  };
  assert.equal(await found(diskWith('clean')), '3 pets, whole');
  assert.equal(await found(diskWith('in use', 1)), '3 pets, incomplete');
  assert.equal(await found(diskWith('in use', 40)), '2 pets, torn');
  assert.equal(await found(createMemoryDisk({ [PATH]: `[${LINES.join()}]` })), '3 pets, array');
  const memory = diskWith('in use', 40);
  assert.equal(await found(lockedFor(memory, PATH)), '2 pets, torn, in use');
  const torn = await checkDataFile(memory, PATH);
  assert.throws(() => assertWhole(PATH, torn), {
    message:
      /behind byte \d+, \d+ bytes are a commit that is not complete.* the copy is incomplete/,
  });
  await assert.rejects(found(diskWith('clean', 40)), /is damaged: what begins in line 4/);
  await assert.rejects(found(createMemoryDisk()), { message: `There is no data file ${PATH}` });
});

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

test('Of a file that no service uses, a torn or damaged one gets no backup, and is not loaded', async () => {
  for (const [disk, message] of [
    [diskWith('in use', 40), /are a commit that is not complete/],
    [diskWith('clean', 40), /what begins in line 4/],
  ] as const) {
    await assert.rejects(backUp(disk, PATH, '/d/backup.json', false), message);
    await assert.rejects(loadDataFile(disk, PATH), message);
    assert.deepEqual(Object.keys(disk.contents()), [PATH]);
  }
  const inUse = loadDataFile(lockedFor(diskWith('in use'), PATH), PATH);
  await assert.rejects(inUse, { message: `${PATH} is in use: stop the service first` });
});

test('An import makes a clean file of any array, and replaces nothing', async () => {
  const memory = createMemoryDisk({ '/d/from': '[{"name":"Rex","categoryId":7}]' });
  await makeDataFile(memory, '/e/pets.json', await loadDataFile(memory, '/d/from', true));
  assert.equal(contentOf(memory.read('/e/pets.json')), 'clean, 1 pets');
  assert.deepEqual(linesOf(await read(memory.read('/e/pets.json'))), [line(1)]);
  const tables = await loadDataFile(diskWith('clean'), PATH);
  await assert.rejects(makeDataFile(memory, '/e/pets.json', tables), {
    message: '/e/pets.json exists already: move it away, or name another file',
  });
  memory.write('/f/pets.json.journal', '');
  await assert.rejects(makeDataFile(memory, '/f/pets.json', tables), /journal exists already/);
});

test('Of a damaged file an import takes what its marks prove, with keys and gaps, and a start reads it', async () => {
  const memory = diskWith('in use', 0, [...COMMITS, [line(4), line(5)]]);
  memory.edit(
    PATH,
    memory.read(PATH).toString('latin1').replace('{"id":3,"name":"Rex"', '{"id":3,"name":"Tex"'),
  );
  const gaps: string[] = [];
  const tables = await loadProvenCommits(memory, PATH, ({ start, end }) =>
    gaps.push(`${start} to ${end}`),
  );
  const { ends } = fileOf(COMMITS);
  assert.deepEqual(gaps, [`${ends[1]} to ${ends[2]}`]);
  await makeDataFile(memory, '/d/new.json', tables);
  const store = await openFileStore({ path: '/d/new.json', disk: memory });
  const ids = (await textsOf(store)).map((text) => Number(parsePet(text).id));
  assert.deepEqual(ids, [1, 2, 4, 5]);
  const { pet, isReplayed } = await store.createOnce({ ...REX, name: 'Tom' }, requestKey(1));
  assert.deepEqual([pet.id, isReplayed], [2n, true]);
  assert.equal((await store.create(REX)).id, 6n);
  await store.close();
});
