/** The lock: one store at a time, and free as soon as its holder ends, however it ends. */

import assert from 'node:assert/strict';
import { chmodSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
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

test('A lock file with any content is locked, and left as it is', POSIX, async (t) => {
  const path = join(tempDir(t), 'pets.json');
  writeFileSync(`${path}.lock`, 'process 4711\n');
  chmodSync(`${path}.lock`, 0o640);
  const store = await openFileStore({ path });
  const message = `${path} is in use already: ${path}.lock is locked`;
  await assert.rejects(openFileStore({ path }), { message });
  linkSync(`${path}.lock`, `${path}.copy`);
  const advice = '. It has another link, such as that of a backup: both are one lock';
  await assert.rejects(openFileStore({ path }), { message: `${message}${advice}` });
  await store.close();
  assert.equal(readFileSync(`${path}.lock`, 'utf8'), 'process 4711\n');
  assert.equal(statSync(`${path}.lock`).mode & 0o777, 0o640);
});

const FLOCKS: readonly (readonly [program: string | undefined, mode: number, error: RegExp])[] = [
  [undefined, 0, /^The command flock, which keeps a second process away, is not installed$/],
  ['no program', 0o644, /^The command flock, which .*, cannot be run: spawn flock EACCES$/],
  ['#!/bin/sh\necho no locks >&2\nexit 1\n', 0o755, /^The command flock failed \(1\): no locks$/],
  ['#!/bin/sh\nexit 0\n', 0o755, /^A lock on .*lock does not keep a second .*: .*grants it twice/],
];

test('A command flock that is missing, or does not lock, is an error', FLOCK, async (t) => {
  const { PATH } = process.env;
  t.after(() => (process.env['PATH'] = PATH));
  for (const [program, mode, message] of FLOCKS) {
    const folder = (process.env['PATH'] = tempDir(t));
    if (program !== undefined) writeFileSync(join(folder, 'flock'), program, { mode });
    await assert.rejects(nodeDisk.lock(join(folder, 'lock')), { message });
  }
});

/** On other systems it is not known. */
function countOpenFiles(): number {
  return IS_LINUX ? readdirSync('/proc/self/fd').length : 0;
}
