/**
 * Unusual files and systems: a data file that was touched or is mounted by itself, a link to
 * nothing, a quota that is used up.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { constants, platform } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Log } from '../../../src/base/log.ts';
import { StoreUnavailableError } from '../../../src/model/pet-store.ts';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk, throwNamed } from '../../../src/stores/file/node-disk.ts';
import { loadDataFile } from '../../../src/stores/file/data-file.ts';
import { createFailingDisk } from '../../support/disk/failing-disk.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { createMemoryDisk, systemError } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

const PATH = '/d/pets.json';
const IS_ROOT = process.getuid?.() === 0;
const POSIX = { skip: platform() === 'win32' && 'Windows has other links and locks' };
const ROOT = { skip: !IS_ROOT && 'needs root' };
const NOBODY = 65_534;

/** An open store on real files, with a pet in its snapshot and one in its journal. */
async function openTwoPets(t: TestContext): Promise<{ store: FileStore; path: string }> {
  const path = join(tempDir(t), 'pets.json');
  const first = await openFileStore({ path });
  await first.create(REX);
  await first.close();
  const store = await openFileStore({ path });
  await store.create(REX);
  return { store, path };
}

const TOUCHES: Readonly<Record<string, (path: string) => void>> = {
  touched: (path) => utimesSync(path, new Date(), new Date(Date.now() + 5000)),
  'replaced by a copy of itself': (path) => {
    cpSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
  },
};

for (const [what, touch] of Object.entries(TOUCHES)) {
  test(`A checkpoint replaces a data file that was ${what}`, async (t) => {
    const { store, path } = await openTwoPets(t);
    touch(path);
    await store.close();
    assert.equal((await loadDataFile(nodeDisk, path)).pets.length, 2);
  });
}

test('A checkpoint does not replace a data file of the same length with other pets', async (t) => {
  const { store, path } = await openTwoPets(t);
  const other = readFileSync(path, 'latin1').replace('Rex', 'Tom');
  writeFileSync(path, other);
  await store.close();
  assert.equal(readFileSync(path, 'latin1'), other);
});

for (const [what, journal] of [
  ['only a saved file', undefined],
  ['a saved file and a torn header of a journal', '1e0d9802 00000041 {"jour'],
] as const) {
  test(`A start that finds ${what} is refused, and names the saved file`, async () => {
    const disk = createMemoryDisk({ [`${PATH}.saved-20261121T201500123Z`]: '[]' });
    if (journal !== undefined) disk.write(`${PATH}.journal`, journal);
    await assert.rejects(openFileStore({ path: PATH, disk }), {
      message:
        /^There is no data file \/d\/pets\.json, but .*saved-20261121T201500123Z has the pets.*: rename/,
    });
    assert.equal(disk.contents()[PATH], undefined);
    assert.equal(disk.contents()[`${PATH}.journal`], journal);
  });
}

test('A start that finds a newer or unfinished saved file logs its name', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  await (await openFileStore({ path })).close();
  utimesSync(path, new Date(0), new Date(0));
  const [saved, part] = [`${path}.saved-20261121T201500123Z`, `${path}.saved-1-7.part`];
  for (const file of [saved, part]) writeFileSync(file, '[]');
  const warned: unknown[] = [];
  const log: Log = (_level, event, details) => warned.push([event, details?.['file']]);
  const store = await openFileStore({ path, log });
  await store.close();
  assert.deepEqual(warned, [
    ['An unfinished saved file is next to the data file', part],
    ['A saved file is newer than the data file: it may have pets that the data file lacks', saved],
  ]);
  assert.ok(existsSync(part));
});

for (const mode of [0o640, 0o444]) {
  const name = `The journal and each checkpoint keep the mode ${mode.toString(8)} of the data file`;
  test(name, POSIX, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    writeFileSync(path, '[]');
    chmodSync(path, mode);
    // With 0444, its journal was once made so that the next start could not write to it.
    for (let id = 1; id <= 3; id += 1) {
      const { ino } = statSync(path);
      const store = await openFileStore({ path });
      assert.equal((await store.createOnce(REX, requestKey(id))).pet.id, BigInt(id));
      assert.equal(statSync(`${path}.journal`).mode & 0o777, mode | 0o600);
      await store.close();
      for (const file of [path, `${path}.keys`]) assert.equal(statSync(file).mode & 0o777, mode);
      assert.notEqual(statSync(path).ino, ino);
    }
  });
}

for (const target of ['[]', undefined]) {
  const what = target === undefined ? 'nothing yet' : 'a file';
  test(`A symbolic link to ${what} is followed, and locks the file`, POSIX, async (t) => {
    const folder = tempDir(t);
    const real = join(folder, 'real');
    mkdirSync(real);
    if (target !== undefined) writeFileSync(join(real, 'data.json'), target);
    symlinkSync(join('real', 'data.json'), join(folder, 'second.json'));
    symlinkSync('second.json', join(folder, 'pets.json'));
    const store = await openFileStore({ path: join(folder, 'pets.json') });
    await store.create(REX);
    const inReal = ['data.json', 'data.json.journal', 'data.json.lock'];
    assert.deepEqual(readdirSync(real).sort(), inReal);
    await assert.rejects(openFileStore({ path: join(real, 'data.json') }), /in use already/);
    await store.close();
    assert.ok(lstatSync(join(folder, 'pets.json')).isSymbolicLink());
    assert.match(readFileSync(join(real, 'data.json'), 'utf8'), /^\[\n\{"id":1,/);
  });
}

test('The files that root makes belong to the owner of the folder', ROOT, async (t) => {
  const folder = tempDir(t);
  chownSync(folder, NOBODY, NOBODY);
  const path = join(folder, 'pets.json');
  const store = await openFileStore({ path });
  await store.createOnce(REX, requestKey(1));
  const owners = (): readonly number[] =>
    readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
  // Snapshot, journal and lock; then snapshot, keys and lock.
  assert.deepEqual(owners(), [NOBODY, NOBODY, NOBODY]);
  await store.close();
  assert.deepEqual(owners(), [NOBODY, NOBODY, NOBODY]);
});

test('The error of a quota that is used up names EDQUOT', () => {
  const errno = -constants.errno.EDQUOT;
  // As Node 20 to 26 throw it.
  const code = `Unknown system error ${errno}`;
  const unnamed = Object.assign(new Error(`${code}: ${code}, write`), {
    code,
    errno,
    syscall: 'write',
  });
  assert.throws(() => throwNamed(unnamed), {
    message: 'EDQUOT: disk quota exceeded, write',
    code: 'EDQUOT',
  });
  const other = systemError('ENOSPC', PATH);
  assert.throws(() => throwNamed(other), other);
});

for (const suffix of ['.journal', '.keys', '.tmp']) {
  test(`A symbolic link to nothing instead of ${suffix} is refused`, POSIX, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    await (await openFileStore({ path })).close();
    symlinkSync(join(path, '..', 'nothing'), `${path}${suffix}`);
    await assert.rejects(openFileStore({ path }), { message: `${path}${suffix} is not a file` });
  });
}

test('A data file that is mounted by itself is refused', ROOT, async (t) => {
  const folder = tempDir(t);
  const path = join(folder, 'pets.json');
  writeFileSync(path, '[]');
  try {
    execFileSync('mount', ['--bind', path, path], { stdio: 'pipe' });
  } catch (error) {
    return t.skip(`cannot mount a file: ${(error as Error).message.trim()}`);
  }
  try {
    await assert.rejects(openFileStore({ path }), /is a mount point by itself/);
  } finally {
    execFileSync('umount', [path]);
  }
});

test('A start refuses a mount point by itself, and works on a disk without links', async () => {
  for (const [code, message] of [
    ['EXDEV', /^\/d\/pets\.json is a mount point by itself, .*: mount its folder$/],
    ['EPERM', undefined],
  ] as const) {
    const memory = createMemoryDisk();
    await (await openFileStore({ path: PATH, disk: memory })).close();
    const before = memory.contents();
    const disk = createFailingDisk(memory);
    disk.fault = ({ operation, path }) => {
      if (operation === 'link') throw systemError(code, path);
    };
    const opening = openFileStore({ path: PATH, disk });
    if (message === undefined) await (await opening).close();
    else await assert.rejects(opening, { message });
    assert.deepEqual(memory.contents(), before);
    assert.equal(disk.openFiles.size, 0);
  }
});

test('A close leaves no empty journal, and an empty one does not prevent a copy', async () => {
  const memory = createMemoryDisk();
  const disk = createFailingDisk(memory);
  const store = await openFileStore({ path: PATH, disk });
  disk.fault = ({ operation, path }) => {
    if (operation === 'writeNow') throw systemError('ENOSPC', path);
  };
  await assert.rejects(store.create(REX), StoreUnavailableError);
  disk.fault = () => undefined;
  assert.equal(memory.read(`${PATH}.journal`).length, 0);
  await store.close();
  assert.equal(memory.contents()[`${PATH}.journal`], undefined);
  memory.write(`${PATH}.journal`, '');
  assert.equal((await loadDataFile(memory, PATH)).pets.length, 0);
});
