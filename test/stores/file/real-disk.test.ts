/**
 * The store on the real file system: its lock, links, modes and owners, and what another user may
 * have planted in its folder.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { constants, platform, userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { messageOf, type Logger } from '../../../src/core/base/logger.ts';
import { systemClock } from '../../../src/core/base/system.ts';
import { clientMessage } from '../../../src/core/base/failure-report.ts';
import { isSameFile, isUnlocked, withFile } from '../../../src/core/store/disk.ts';
import { openFileStore } from '../../../src/core/store/file-store.ts';
import { nodeDisk } from '../../../src/core/store/node-disk.ts';
import { readDataFile } from '../../../src/core/store/read-data-file.ts';
import { systemError } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { REX } from '../../support/pets/rex.ts';

const IS_ROOT = process.getuid?.() === 0;
const POSIX = { skip: platform() === 'win32' && 'Windows has other links, locks and modes' };
const LINUX = { skip: platform() !== 'linux' && 'needs flock, and /proc' };
const ROOT = { skip: !IS_ROOT && 'needs root' };
const NOBODY = 65_534;

test('The state of a file shows what other programs do to it', POSIX, async (t) => {
  const folder = tempDir(t);
  const [path, other] = [join(folder, 'pets.json'), join(folder, 'other')];
  fs.writeFileSync(path, 'Rex');
  const file = await nodeDisk.open(path, 'read');
  t.after(() => file.close());
  const before = file.stat();
  assert.deepEqual(nodeDisk.stat(path), before);
  // More than a tick of any file system's clock.
  await sleep(20);
  fs.writeFileSync(path, 'Tex');
  const { changedAt, sizeBytes } = file.stat();
  assert.deepEqual([changedAt > before.changedAt, sizeBytes], [true, 3]);
  fs.appendFileSync(path, 't');
  fs.linkSync(path, other);
  assert.deepEqual([file.stat().sizeBytes, file.stat().links], [4, 2]);
  fs.copyFileSync(path, `${other}.copy`);
  fs.renameSync(`${other}.copy`, path);
  assert.equal(isSameFile(nodeDisk.stat(path), before), false);
  fs.rmSync(path);
  assert.equal(nodeDisk.stat(path), undefined);
  assert.ok(isSameFile(nodeDisk.stat(other), before));
  fs.rmSync(other);
  assert.equal(file.stat().links, 0);
});

test('A second store is refused, also by another path; checks share a lock', POSIX, async (t) => {
  const folder = tempDir(t);
  const path = join(folder, 'pets.json');
  fs.symlinkSync('pets.json', join(folder, 'other.json'));
  const store = await openFileStore({ path });
  const message = `${path} is in use already: another process, or another app of this one, has locked it`;
  await assert.rejects(openFileStore({ path }), { message });
  await assert.rejects(openFileStore({ path: join(folder, 'other.json') }), { message });
  assert.equal(await isUnlocked(nodeDisk, path), false);
  await store.close();
  assert.equal(await isUnlocked(nodeDisk, path), true);
  // A check takes a shared lock: another check may, too, but no store.
  await withFile(nodeDisk, path, async (file) => {
    assert.equal(await file.lock('shared'), true);
    assert.equal(await isUnlocked(nodeDisk, path), true);
    await withFile(nodeDisk, path, async (other) => {
      assert.equal(await other.lock('exclusive'), false);
    });
  });
});

test('Of five callers one gets the lock, and no file stays open', LINUX, async (t) => {
  const path = join(tempDir(t), 'pets.json');
  fs.writeFileSync(path, '[]');
  const before = fs.readdirSync('/proc/self/fd').length;
  const files = await Promise.all(Array.from({ length: 5 }, () => nodeDisk.open(path, 'edit')));
  const got = await Promise.all(files.map((file) => file.lock('exclusive')));
  assert.ok(got.filter(Boolean).length <= 1);
  for (const file of files) await file.close();
  assert.equal(fs.readdirSync('/proc/self/fd').length, before);
  // If all five were in each other's way, one alone is in nobody's.
  await withFile(nodeDisk, path, async (file) => assert.ok(await file.lock('exclusive')));
});

const FLOCKS: readonly (readonly [program: string | undefined, mode: number, error: RegExp])[] = [
  [undefined, 0, /^The command flock, which keeps a second process away, is not installed$/],
  ['no program', 0o644, /^The command flock, which .*, cannot be run: spawn flock EACCES$/],
  ['#!/bin/sh\necho no locks >&2\nexit 1\n', 0o755, /^The command flock failed \(1\): no locks$/],
  ['#!/bin/sh\nexit 0\n', 0o755, /^A lock on .* does not keep a second .*: .*grants it twice/],
];

test('A command flock that is missing, or does not lock, is an error', LINUX, async (t) => {
  const { PATH } = process.env;
  t.after(() => (process.env['PATH'] = PATH));
  const path = join(tempDir(t), 'pets.json');
  fs.writeFileSync(path, '[]');
  for (const [program, mode, message] of FLOCKS) {
    const folder = (process.env['PATH'] = tempDir(t));
    if (program !== undefined) fs.writeFileSync(join(folder, 'flock'), program, { mode });
    await assert.rejects(openFileStore({ path }), { message });
    assert.equal(fs.readFileSync(path, 'utf8'), '[]');
  }
});

for (const given of [0o640, 0o444, 0o6640]) {
  const mode = given & 0o777;
  const name = `A file with mode ${given.toString(8)} keeps ${mode.toString(8)}, whatever the umask`;
  test(name, POSIX, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    fs.writeFileSync(path, '[]');
    fs.chmodSync(path, given);
    const umask = process.umask(0o077);
    t.after(() => process.umask(umask));
    // The array is replaced, and so is a file that was removed.
    const store = await openFileStore({ path });
    assert.equal(fs.statSync(path).mode & 0o7777, mode);
    fs.rmSync(path);
    await store.create(REX);
    assert.equal(fs.statSync(path).mode & 0o7777, mode);
    await store.close();
    assert.equal(fs.statSync(path).mode & 0o7777, mode);
  });
}

test('What root writes belongs to the owner of the folder, or of the file', ROOT, async (t) => {
  const folder = tempDir(t);
  fs.chownSync(folder, NOBODY, NOBODY);
  const path = join(folder, 'pets.json');
  const store = await openFileStore({ path });
  assert.equal(fs.statSync(path).uid, NOBODY);
  fs.chownSync(path, 1234, 1234);
  await store.close();
  fs.writeFileSync(path, '[]');
  const next = await openFileStore({ path });
  assert.equal(fs.statSync(path).uid, 1234);
  fs.writeFileSync(`${path}.other`, '');
  fs.renameSync(`${path}.other`, path);
  await assert.rejects(next.close());
  const saved = fs.readdirSync(folder).find((name) => name.includes('.saved-'))!;
  assert.equal(fs.statSync(join(folder, saved)).uid, 1234);
});

test('A file system without modes or owners keeps a store; it is logged once', POSIX, async (t) => {
  const path = join(tempDir(t), 'pets.json');
  fs.writeFileSync(path, '[]');
  fs.chmodSync(path, 0o640);
  const handle = await open(path);
  // In Yarn's Plug'n'Play handles have none of these methods.
  for (const method of ['chmod', 'chown', 'sync', 'datasync'] as const) {
    t.mock.method(Object.getPrototypeOf(handle) as FileHandle, method, () =>
      Promise.reject(systemError('EPERM', path)),
    );
  }
  await handle.close();
  const events: string[] = [];
  const log = (_: string, event: string): void => void events.push(event);
  const store = await openFileStore({ path, log });
  await store.create(REX);
  await store.close();
  const [event] = events.splice(0).filter((text) => text.includes('mode'));
  assert.equal(event, 'The new data file has another mode or owner than the old one');
  await (await openFileStore({ path, log })).close();
  assert.deepEqual(events, []);
});

for (const target of ['[]', undefined]) {
  const what = target === undefined ? 'nothing yet' : 'a file';
  test(`A data file that is a symbolic link to ${what} is followed`, POSIX, async (t) => {
    const folder = tempDir(t);
    const real = join(folder, 'real');
    fs.mkdirSync(real);
    if (target !== undefined) fs.writeFileSync(join(real, 'data.json'), target);
    fs.symlinkSync(join('real', 'data.json'), join(folder, 'second.json'));
    fs.symlinkSync('second.json', join(folder, 'pets.json'));
    const store = await openFileStore({ path: join(folder, 'pets.json') });
    await store.create(REX);
    fs.rmSync(join(real, 'data.json'));
    await store.create(REX);
    assert.deepEqual(fs.readdirSync(real), ['data.json']);
    await store.close();
    assert.ok(fs.lstatSync(join(folder, 'pets.json')).isSymbolicLink());
    assert.match(fs.readFileSync(join(real, 'data.json'), 'utf8'), /^\[[ \t]{32}\n\{"id":1,/);
  });
}

/** Plants a link to the file `target` at `path`, or what is not a file. */
const PLANTS: Readonly<Record<string, (target: string, path: string) => unknown>> = {
  'a symbolic link': fs.symlinkSync,
  'a hard link': fs.linkSync,
  'a pipe': (_, path) => execFileSync('mkfifo', [path]),
  'a folder': (_, path) => fs.mkdirSync(path, 0o755),
};

for (const [what, plant] of Object.entries(PLANTS)) {
  test(`${what} at a path of the store leaves its target as it was`, ROOT, async (t) => {
    for (const ending of ['', '.journal', '.saved-20261121T201500123Z', '.unfinished-0123abcd']) {
      // The data file itself may be a symbolic link.
      if (ending === '' && what === 'a symbolic link') continue;
      const [path, target] = [join(tempDir(t), 'pets.json'), join(tempDir(t), 'target')];
      if (ending !== '') await (await openFileStore({ path })).close();
      fs.writeFileSync(target, 'a secret\n', { mode: 0o640 });
      plant(target, path + ending);
      fs.chmodSync(target, 0o640);
      fs.chownSync(join(path, '..'), NOBODY, NOBODY);
      const before = stateOf(target);
      const outcome = await openFileStore({ path }).then(
        async (store) => {
          await store.close();
          return undefined;
        },
        (error: Error) => error.message,
      );
      // Only an unfinished file is in nobody's way.
      assert.equal(outcome === undefined, ending.startsWith('.unfinished'), `${ending} ${outcome}`);
      assert.ok(outcome === undefined || outcome.includes(path + ending), outcome);
      assert.equal(stateOf(target), before, ending);
    }
  });
}

/** All that the store could change of a file, but the number of its names. */
function stateOf(path: string): string {
  const { mode, uid, gid, mtimeMs, size, ino } = fs.lstatSync(path);
  return [mode.toString(8), uid, gid, mtimeMs, size, ino, fs.readFileSync(path, 'latin1')].join();
}

test('A link replaces nothing, and a rename what is there', async (t) => {
  const [from, to] = ['from', 'to'].map((name) => join(tempDir(t), name)) as [string, string];
  for (const path of [from, to]) fs.writeFileSync(path, path);
  await assert.rejects(nodeDisk.link(from, to), { code: 'EEXIST' });
  assert.equal(fs.readFileSync(to, 'utf8'), to);
  await nodeDisk.rename(from, to);
  assert.equal(fs.readFileSync(to, 'utf8'), from);
});

test('A name that leaves no room for those of the other files is refused', POSIX, async (t) => {
  const folder = tempDir(t);
  const pathOf = (bytes: number): string => join(folder, 'é'.repeat(20).padEnd(bytes - 20, 'x'));
  await assert.rejects(openFileStore({ path: pathOf(230) }), { code: 'ENAMETOOLONG' });
  assert.deepEqual(fs.readdirSync(folder), []);
  await (await openFileStore({ path: pathOf(229) })).close();
});

test('Other work goes on while a large file is read', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const pet = (id: number): string => `{"id":${id},"name":"${'x'.repeat(1000)}","categoryId":7}`;
  const pets = Array.from({ length: 3000 }, (_, index) => pet(index + 1));
  fs.writeFileSync(path, `[\n${pets.join(',\n')}\n]\n`);
  const deps = { clock: systemClock };
  let isRead = false;
  const reading = withFile(nodeDisk, path, (file) => readDataFile(path, file, deps));
  void reading.then(() => (isRead = true));
  let turns = 0;
  for (; !isRead; turns += 1) await nextTurn();
  assert.equal((await reading).pets.length, 3000);
  // A window of 64 KiB at a time.
  assert.ok(turns > 40, `${turns} turns of the event loop`);
});

for (const code of ['EINVAL', 'ENOTSUP', 'EIO']) {
  const outcome = code === 'EIO' ? 'fails' : 'is known not to work';
  test(`The sync of a folder ${outcome} on a disk that returns ${code}`, POSIX, async (t) => {
    const folder = tempDir(t);
    type Done = (error: Error) => void;
    t.mock.method(fs, 'fsync', (_fd: number, done: Done) => done(systemError(code, folder)));
    const syncing = nodeDisk.syncDirectory(folder);
    if (code === 'EIO') await assert.rejects(syncing, { code });
    else assert.equal(await syncing, false);
  });
}

test('The free bytes are those of the file system, if it reports its blocks', LINUX, async (t) => {
  await assert.rejects(nodeDisk.freeBytes('/proc'), { message: /does not report its size/ });
  const folder = tempDir(t);
  const { bfree, bavail, bsize } = fs.statfsSync(folder);
  const expected = (IS_ROOT ? bfree : bavail) * bsize;
  // Other processes use the disk meanwhile.
  const found = await nodeDisk.freeBytes(folder);
  assert.ok(Math.abs(found / expected - 1) < 0.1, `${found} bytes, not ${expected}`);
});

test('An error names the file, also of a call on its descriptor, and the user who lacks a right', async (t) => {
  const folder = tempDir(t);
  const missing = join(folder, 'none', 'pets.json');
  await assert.rejects(nodeDisk.open(missing, 'create'), {
    message: `ENOENT: no such file or directory, open '${missing}'`,
  });
  const path = join(folder, 'pets.json');
  const file = await nodeDisk.open(path, 'create');
  t.after(() => file.close());
  for (const code of ['EIO', 'EPERM', 'EROFS']) {
    const { mock } = t.mock.method(fs, 'writeSync', () => {
      throw Object.assign(new Error(`${code}: what, call`), { code, syscall: 'call' });
    });
    const end = code === 'EIO' ? '' : ` by the user ${userInfo().username}`;
    const message = `${code}: what, call '${path}'${end}`;
    assert.throws(() => file.writeNow(Buffer.from('x'), 0), { code, path, message });
    mock.restore();
  }
});

test('An error of a data file names it, and not the name under which it was written', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const causes: unknown[] = [];
  const log: Logger = (_level, _event, details) => void causes.push(details?.['cause']);
  const store = await openFileStore({ path, log });
  // The first file has its name by a link, the second one by a rename.
  for (const pets of [1, 2]) {
    const fail = t.mock.method(fs, 'fdatasync', (_fd: number, done: (error: Error) => void) => {
      fail.mock.restore();
      done(Object.assign(new Error('EIO: what, call'), { code: 'EIO', syscall: 'call' }));
    });
    await store.create(REX);
    assert.equal(causes.at(-1), `EIO: what, call '${path}'`);
    assert.equal(store.count().total, pets);
  }
  await store.close();
});

test('The error of a quota that is used up names EDQUOT', () => {
  const errno = -constants.errno.EDQUOT;
  // As Node 20 to 26 throw it.
  const code = `Unknown system error ${errno}`;
  const members = { code, errno, syscall: 'write' };
  const unnamed = Object.assign(new Error(`${code}: ${code}, write`), members);
  assert.equal(messageOf(unnamed), 'EDQUOT: disk quota exceeded, write');
  const named = Object.assign(new Error(), unnamed, { path: '/p' });
  assert.equal(messageOf(named), "EDQUOT: disk quota exceeded, write '/p'");
  assert.equal(clientMessage(unnamed), 'EDQUOT: disk quota exceeded');
  // Clients get no path, of Windows either.
  assert.equal(clientMessage(new Error('C:\\pets.json is no file')), 'the log shows the cause');
  assert.equal(clientMessage('no i/o, but a, b'), 'no i/o, but a, b');
});
