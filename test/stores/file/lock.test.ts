/** The lock: one store at a time, and free as soon as its holder ends, however it ends. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { createMemoryDisk, systemError } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const FLOCK = { skip: ['darwin', 'win32'].includes(platform()) && 'The lock needs no flock here' };
const POSIX = { skip: platform() === 'win32' && 'Windows has no permission bits' };
const IS_LINUX = platform() === 'linux';

test('If five callers take the lock at the same time, one gets it, and the others leave no file open', async (t) => {
  const path = join(tempDir(t), 'lock');
  const openBefore = countOpenFiles();
  const locks = await Promise.all(Array.from({ length: 5 }, () => nodeDisk.lock(path)));
  const held = locks.filter((lock) => lock !== undefined);
  assert.equal(held.length, 1);
  assert.equal(countOpenFiles(), openBefore + (IS_LINUX ? 1 : 0));
  await held[0]!.release();
  const next = await nodeDisk.lock(path);
  await next!.release();
});

for (const [content, isOwn] of [
  ['', true],
  ['process 4711\n', true],
  ['process 4711\nand more', false],
  ['a long note of another program\n', false],
] as const) {
  const what = isOwn ? 'gets a note, and is for its owner only' : 'stays as it is';
  test(`A lock file with ${JSON.stringify(content)} ${what}`, POSIX, async (t) => {
    const path = join(tempDir(t), 'lock');
    writeFileSync(path, content);
    chmodSync(path, 0o666);
    const lock = await nodeDisk.lock(path);
    assert.equal(await nodeDisk.lock(path), undefined);
    assert.equal(statSync(path).mode & 0o777, isOwn ? 0o600 : 0o666);
    assert.equal(readFileSync(path, 'utf8'), isOwn ? `process ${process.pid}\n` : content);
    await lock!.release();
  });
}

test('A lock file whose mode cannot be set is locked', async (t) => {
  const path = join(tempDir(t), 'lock');
  writeFileSync(path, '');
  const other = await open(path);
  const refuse = (): Promise<never> => Promise.reject(systemError('EPERM', path));
  t.mock.method(Object.getPrototypeOf(other) as FileHandle, 'chmod', refuse);
  await other.close();
  const lock = await nodeDisk.lock(path);
  assert.equal(await nodeDisk.lock(path), undefined);
  await lock!.release();
});

test(
  'A lock that another program holds is not reported as held by the process of its note',
  FLOCK,
  async (t) => {
    const path = join(tempDir(t), 'pets.json');
    await (await openFileStore({ path })).close();
    const other = spawn('flock', [`${path}.lock`, '-c', 'echo locked; read line']);
    await once(other.stdout, 'data');
    await assert.rejects(openFileStore({ path }), {
      message: `${path} is in use already: ${path}.lock is locked, with a note of process ${process.pid}`,
    });
    other.stdin.end();
    await once(other, 'close');
  },
);

test('A start is refused if the lock file is removed while it is locked', async () => {
  const disk = createMemoryDisk();
  let held = 0;
  const lock: Disk['lock'] = async (path) => {
    const taken = (await disk.lock(path))!;
    held += 1;
    await disk.remove(path);
    return { ...taken, release: () => taken.release().then(() => void (held -= 1)) };
  };
  await assert.rejects(openFileStore({ path: '/d/pets.json', disk: { ...disk, lock } }), {
    message: /^\/d\/pets\.json\.lock was removed while it was being locked, or is on a file system/,
  });
  assert.equal(held, 0);
});

test('A lock file that cannot be made is an error', async (t) => {
  await assert.rejects(nodeDisk.lock(join(tempDir(t), 'none', 'lock')), { code: 'ENOENT' });
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
    await assert.rejects(nodeDisk.lock(join(folder, 'lock')), {
      message: `${start} is not installed`,
    });
    writeFileSync(join(folder, 'flock'), 'no program', { mode: 0o644 });
    await assert.rejects(nodeDisk.lock(join(folder, 'lock')), {
      message: `${start} cannot be run: spawn flock EACCES`,
    });
    rmSync(join(folder, 'flock'));
    writeFileSync(join(folder, 'flock'), '#!/bin/sh\necho no locks >&2\nexit 1\n', { mode: 0o755 });
    await assert.rejects(nodeDisk.lock(join(folder, 'lock')), {
      message: 'The command flock failed (1): no locks',
    });
    writeFileSync(join(folder, 'flock'), '#!/bin/sh\nexit 0\n');
    await assert.rejects(nodeDisk.lock(join(folder, 'lock')), {
      message: /^A lock on .*lock does not keep a second process away: .*grants it twice/,
    });
  },
);

/** On other systems it is not known. */
function countOpenFiles(): number {
  return IS_LINUX ? readdirSync('/proc/self/fd').length : 0;
}
