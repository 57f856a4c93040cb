/**
 * Unusual files and systems: a data file that was touched or is mounted by itself, a link to
 * nothing, a long name, a quota that is used up, root without its rights.
 */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { constants, platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { messageOf } from '../../../src/base/logger.ts';
import { clientMessage } from '../../../src/stores/failure-report.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { systemError } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { addPet, end, KEY, SERVER_JS, startProgram } from '../../support/process/process.ts';

const PATH = '/d/pets.json';
const IS_ROOT = process.getuid?.() === 0;
const POSIX = { skip: platform() === 'win32' && 'Windows has other links and locks' };
const ROOT = { skip: !IS_ROOT && 'needs root' };
const NOBODY = 65_534;

for (const given of [0o640, 0o444, 0o6640]) {
  const mode = given & 0o777;
  const name = `With mode ${given.toString(8)} of the data file each checkpoint has ${mode.toString(8)}`;
  test(name, POSIX, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    writeFileSync(path, '[]');
    chmodSync(path, given);
    // With 0444, its journal was once made so that the next start could not write to it.
    for (let id = 1; id <= 3; id += 1) {
      const store = await openFileStore({ path });
      await store.create(REX);
      assert.equal(statSync(`${path}.journal`).mode & 0o7777, mode | 0o600);
      await store.close();
      assert.equal(statSync(path).mode & 0o7777, mode);
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
  const store = await openFileStore({ path: join(folder, 'pets.json') });
  await store.createOnce(REX, requestKey(1));
  for (const isClosed of [false, true]) {
    if (isClosed) await store.close();
    const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
    assert.deepEqual(owners, [NOBODY, NOBODY, NOBODY]);
  }
});

test('The error of a quota that is used up names EDQUOT', () => {
  const errno = -constants.errno.EDQUOT;
  // As Node 20 to 26 throw it.
  const code = `Unknown system error ${errno}`;
  const members = { code, errno, syscall: 'write' };
  const unnamed = Object.assign(new Error(`${code}: ${code}, write`), members);
  assert.equal(messageOf(unnamed), 'EDQUOT: disk quota exceeded, write');
  assert.equal(clientMessage(unnamed), 'EDQUOT: disk quota exceeded');
  assert.match(messageOf(systemError('ENOSPC', PATH)), /^ENOSPC: /);
});

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

test("A data file's name leaves room for those of its files, or is refused", POSIX, async (t) => {
  const folder = tempDir(t);
  const pathOf = (bytes: number): string => join(folder, 'é'.repeat(20).padEnd(bytes - 20, 'x'));
  for (const bytes of [230, 246, 255]) {
    await assert.rejects(openFileStore({ path: pathOf(bytes) }), { code: 'ENAMETOOLONG' });
    assert.deepEqual(readdirSync(folder), []);
  }
  const path = pathOf(229);
  const store = await openFileStore({ path });
  await store.create(REX);
  writeFileSync(`${path}.other`, '');
  renameSync(`${path}.other`, path);
  await store.close();
  const saved = readdirSync(folder).find((name) => name.includes('.saved-'));
  assert.equal(Buffer.byteLength(saved ?? ''), 255);
});

test('root without CAP_CHOWN serves from the folder of another user', ROOT, async (t) => {
  const folder = tempDir(t);
  const rights = ['--bounding-set', '-chown', '--inh-caps', '-chown'];
  const { status } = spawnSync('setpriv', [...rights, 'true']);
  if (status !== 0) return t.skip('needs the command setpriv');
  chownSync(folder, NOBODY, NOBODY);
  const path = join(folder, 'pets.json');
  const args = [...rights, process.execPath, SERVER_JS, '--port', '0', '--data-file', path];
  for (let start = 1; start <= 2; start += 1) {
    // So that the second one finds a data file of the other user.
    const service = startProgram('setpriv', args, { env: { PETSTORE_API_KEYS: KEY } });
    t.after(() => service.child.kill('SIGKILL'));
    assert.equal((await addPet(await service.ready())).status, 201);
    assert.equal(await end(service, 'SIGTERM'), 0);
    assert.equal(service.stderr().split('has another owner than').length, 2, service.stderr());
    assert.equal(statSync(path).uid, 0);
    chownSync(path, NOBODY, NOBODY);
  }
});

test('A file whose mode cannot be set is closed and removed', async (t) => {
  const folder = tempDir(t);
  const other = await open(join(folder, 'other'), 'w');
  const opened: FileHandle[] = [];
  t.mock.method(Object.getPrototypeOf(other) as FileHandle, 'chmod', function (this: FileHandle) {
    opened.push(this);
    return Promise.reject(systemError('EPERM', 'file'));
  });
  await other.close();
  const path = join(folder, 'file');
  await assert.rejects(nodeDisk.open(path, 'create', { mode: 0o640 }), { code: 'EPERM' });
  assert.equal(opened[0]?.fd, -1);
  assert.ok(!existsSync(path));
  // Some file systems have no modes.
  await (await nodeDisk.open(path, 'create')).close();
});

for (const code of ['EINVAL', 'ENOTSUP', 'EIO']) {
  const outcome = code === 'EIO' ? 'fails' : 'is left out';
  test(`The sync of a folder ${outcome} on a disk that returns ${code}`, POSIX, async (t) => {
    const folder = tempDir(t);
    const file = await open(join(folder, 'file'), 'w');
    const fail = (): Promise<never> => Promise.reject(systemError(code, folder));
    t.mock.method(Object.getPrototypeOf(file) as FileHandle, 'sync', fail);
    await file.close();
    const syncing = nodeDisk.syncDirectory(folder);
    await (code === 'EIO' ? assert.rejects(syncing, { code }) : syncing);
  });
}

test('The free bytes are those of the file system, unless it reports no blocks', async (t) => {
  if (platform() !== 'linux') return t.skip('needs /proc, which has no blocks');
  await assert.rejects(nodeDisk.freeBytes('/proc'), { message: /does not report its size/ });
  const folder = tempDir(t);
  const { bfree, bavail, bsize } = statfsSync(folder);
  const expected = (IS_ROOT ? bfree : bavail) * bsize;
  // Other processes use the disk meanwhile.
  const found = await nodeDisk.freeBytes(folder);
  assert.ok(Math.abs(found / expected - 1) < 0.1, `${found} bytes, not ${expected}`);
});

test('The error of a file that may not be removed names the file', ROOT, async (t) => {
  const folder = tempDir(t);
  chmodSync(folder, 0o1777);
  const path = join(folder, 'file');
  writeFileSync(path, '');
  process.seteuid!(NOBODY);
  try {
    await assert.rejects(nodeDisk.remove(path), { code: 'EPERM', syscall: 'unlink', path });
  } finally {
    process.seteuid!(0);
  }
  await nodeDisk.remove(path);
  await nodeDisk.remove(path);
});
