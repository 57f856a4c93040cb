/**
 * Unusual files and systems: a data file that was touched or is mounted by itself, a link to
 * nothing, a quota that is used up.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
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
      assert.equal(statSync(path).mode & 0o777, mode);
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

for (const suffix of ['.journal', '.keys']) {
  test(`A symbolic link to nothing instead of ${suffix} is refused`, POSIX, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    await (await openFileStore({ path })).close();
    symlinkSync(join(path, '..', 'nothing'), `${path}${suffix}`);
    await assert.rejects(openFileStore({ path }), {
      message: `${path}${suffix} is a symbolic link, not a regular file`,
    });
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
