/** The lock: one store at a time, and free as soon as its holder ends, however it ends. */

import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { lockFile } from '../../../src/stores/file/lock.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { createMemoryDisk, systemError } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const FLOCK = { skip: ['darwin', 'win32'].includes(platform()) && 'The lock needs no flock here' };
const POSIX = { skip: platform() === 'win32' && 'Windows has no permission bits' };
const IS_LINUX = platform() === 'linux';

test('A second store in the process is refused, and the first one continues', async (t) => {
  const folder = tempDir(t);
  const path = join(folder, 'pets.json');
  const store = await openFileStore({ path });
  await store.create({ name: 'Rex', categoryId: 7n });
  writeFileSync(`${path}.tmp`, 'an unfinished checkpoint');
  const before = stateOf(folder);
  await assert.rejects(openFileStore({ path }), {
    message: `${path} is in use already: ${path}.lock is held by process ${process.pid}`,
  });
  assert.deepEqual(stateOf(folder), before);
  await store.create({ name: 'Rex', categoryId: 7n });
  assert.equal(store.count().total, 2);
  await store.close();
});

test('If five callers take the lock at the same time, one gets it, and the others leave no file open', async (t) => {
  const path = join(tempDir(t), 'lock');
  const openBefore = countOpenFiles();
  const locks = await Promise.all(Array.from({ length: 5 }, () => lockFile(path, asItIs)));
  const held = locks.filter((lock) => lock !== undefined);
  assert.equal(held.length, 1);
  assert.equal(countOpenFiles(), openBefore + (IS_LINUX ? 1 : 0));
  await held[0]!.close();
  const next = await lockFile(path, asItIs);
  await next!.close();
});

test('A lock file that all may open becomes readable for its owner only', POSIX, async (t) => {
  const path = join(tempDir(t), 'lock');
  writeFileSync(path, 'a long note of another program\n');
  chmodSync(path, 0o666);
  const lock = await nodeDisk.lock(path);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(readFileSync(path, 'utf8'), `process ${process.pid}\n`);
  await lock!.release();
});

test('A lock file whose mode or owner cannot be set is locked', async (t) => {
  const path = join(tempDir(t), 'lock');
  const lock = await lockFile(path, () => Promise.reject(systemError('EPERM', path)));
  assert.equal(await lockFile(path, asItIs), undefined);
  await lock!.close();
});

test('A lock file that is removed while it is locked is locked again, three times', async () => {
  for (const [removals, outcome] of [
    [2, 'open'],
    [3, '/d/pets.json.lock was removed while it was being locked, or is on a file system that'],
  ] as const) {
    const disk = createMemoryDisk();
    let left = removals;
    let held = 0;
    const lock: Disk['lock'] = async (path) => {
      const taken = (await disk.lock(path))!;
      held += 1;
      if (left-- > 0) await disk.remove(path);
      return { ...taken, release: () => taken.release().then(() => void (held -= 1)) };
    };
    const opened = await openFileStore({ path: '/d/pets.json', disk: { ...disk, lock } }).then(
      (store) => store.close().then(() => 'open'),
      (error: Error) => error.message,
    );
    assert.equal(opened.slice(0, outcome.length), outcome);
    assert.equal(held, 0);
  }
});

test('A lock file that cannot be made is an error', async (t) => {
  await assert.rejects(lockFile(join(tempDir(t), 'none', 'lock'), asItIs), { code: 'ENOENT' });
});

test(
  'A command flock that is missing, cannot be run, fails or grants a lock twice is an error',
  FLOCK,
  async (t) => {
    const folder = tempDir(t);
    const { PATH } = process.env;
    process.env['PATH'] = folder;
    t.after(() => (process.env['PATH'] = PATH));
    const start = 'The command flock, which keeps a second process away,';
    await assert.rejects(lockFile(join(folder, 'lock'), asItIs), {
      message: `${start} is not installed`,
    });
    writeFileSync(join(folder, 'flock'), 'no program', { mode: 0o644 });
    await assert.rejects(lockFile(join(folder, 'lock'), asItIs), {
      message: `${start} cannot be run: spawn flock EACCES`,
    });
    rmSync(join(folder, 'flock'));
    writeFileSync(join(folder, 'flock'), '#!/bin/sh\necho no locks >&2\nexit 1\n', { mode: 0o755 });
    await assert.rejects(lockFile(join(folder, 'lock'), asItIs), {
      message: 'The command flock failed (1): no locks',
    });
    writeFileSync(join(folder, 'flock'), '#!/bin/sh\nexit 0\n');
    await assert.rejects(lockFile(join(folder, 'lock'), asItIs), {
      message: /^A lock on .*lock does not keep a second process away: .*grants it twice/,
    });
  },
);

/** Prepares nothing. */
const asItIs = (): Promise<void> => Promise.resolve();

/** On other systems it is not known. */
function countOpenFiles(): number {
  return IS_LINUX ? readdirSync('/proc/self/fd').length : 0;
}

function stateOf(folder: string): readonly string[] {
  const stats = readdirSync(folder).map((name) => [name, statSync(join(folder, name))] as const);
  return stats.map(([name, { size, mtimeMs, ino }]) => `${name} ${size} ${mtimeMs} ${ino}`).sort();
}
