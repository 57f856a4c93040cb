/** Atomic replace, on real files. */

import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { replaceFile } from '../../../src/stores/file/replace-file.ts';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { createFailingDisk, type DiskCall, type Fault } from '../../support/failing-disk.ts';
import { systemError } from '../../support/memory-disk.ts';
import { tempDir } from '../../support/temp-dir.ts';

const POSIX = { skip: platform() === 'win32' && 'Windows has no permission bits' };

test('A file that was not there is made of all chunks', async (t) => {
  const folder = tempDir(t);
  await replace(folder, ['one ', '', 'two']);
  assert.deepEqual(contents(folder), { file: 'one two' });
});

test('A file takes the new content in full, shorter or longer than the old', async (t) => {
  const folder = tempDir(t);
  for (const content of ['long content', 'short', '', 'x'.repeat(100_000)]) {
    await replace(folder, [content]);
    assert.deepEqual(contents(folder), { file: content });
  }
});

test('What an earlier try left at the second path does not matter', async (t) => {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'tmp'), 'a longer rest of an earlier try');
  await replace(folder, ['new']);
  assert.deepEqual(contents(folder), { file: 'new' });
});

test('A file whose mode cannot be set is closed, and not left behind', async (t) => {
  const folder = tempDir(t);
  const other = await open(join(folder, 'other'), 'w');
  const opened: FileHandle[] = [];
  t.mock.method(Object.getPrototypeOf(other) as FileHandle, 'chmod', function (this: FileHandle) {
    opened.push(this);
    return Promise.reject(systemError('EPERM', 'file'));
  });
  await other.close();
  const path = join(folder, 'file');
  await assert.rejects(nodeDisk.open(path, 'create', 0o600), { code: 'EPERM' });
  assert.deepEqual(
    opened.map(({ fd }) => fd),
    [-1],
  );
  assert.ok(!existsSync(path));
});

for (const mode of [0o600, 0o640, 0o666, 0o444]) {
  test(`A file with the mode ${mode.toString(8)} keeps it`, POSIX, async (t) => {
    const folder = tempDir(t);
    const path = join(folder, 'file');
    writeFileSync(path, 'old');
    chmodSync(path, mode);
    await replace(folder, ['new']);
    assert.equal(statSync(path).mode & 0o7777, mode);
  });
}

test('Short writes are carried on with', async (t) => {
  const folder = tempDir(t);
  const twoBytes: Fault = ({ operation }) => (operation === 'write' ? 2 : undefined);
  await replace(folder, ['one two', ' three'], twoBytes);
  assert.deepEqual(contents(folder), { file: 'one two three' });
});

test('The new file is synced before it is renamed, and its folder after', async (t) => {
  const folder = tempDir(t);
  const disk = createFailingDisk(nodeDisk);
  await replaceFile(disk, join(folder, 'file'), join(folder, 'tmp'), [Buffer.from('new')]);
  const steps = disk.calls.map(({ operation }) => operation);
  assert.deepEqual(steps, [
    'stat',
    'remove',
    'open',
    'write',
    'sync',
    'close',
    'rename',
    'syncDirectory',
  ]);
});

for (const operation of ['open', 'write', 'sync', 'close', 'rename'] as const) {
  test(`When ${operation} fails, the old file stays and no other is left`, async (t) => {
    const folder = tempDir(t);
    writeFileSync(join(folder, 'file'), 'old');
    await assert.rejects(replace(folder, ['new'], failAt(operation)), { code: 'EIO' });
    assert.deepEqual(contents(folder), { file: 'old' });
  });
}

test('When the second write fails, the old file stays and no other is left', async (t) => {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'file'), 'old');
  let writes = 0;
  const fault: Fault = ({ operation, path }) => {
    if (operation === 'write' && (writes += 1) === 2) throw systemError('ENOSPC', path);
  };
  await assert.rejects(replace(folder, ['new', 'er'], fault), { code: 'ENOSPC' });
  assert.deepEqual(contents(folder), { file: 'old' });
});

test('When the content cannot be made, the old file stays and no other is left', async (t) => {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'file'), 'old');
  function* chunks(): Generator<Buffer> {
    yield Buffer.from('new');
    throw new Error('No more');
  }
  const replacing = replaceFile(nodeDisk, join(folder, 'file'), join(folder, 'tmp'), chunks());
  await assert.rejects(replacing, { message: 'No more' });
  assert.deepEqual(contents(folder), { file: 'old' });
});

test('When only the folder cannot be synced, that is told, and the file is whole', async (t) => {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'file'), 'old');
  await assert.rejects(replace(folder, ['new'], failAt('syncDirectory')), { code: 'EIO' });
  assert.deepEqual(contents(folder), { file: 'new' });
});

test('In a folder that is not there, it rejects', async (t) => {
  const folder = join(tempDir(t), 'none');
  await assert.rejects(replace(folder, ['new']), { code: 'ENOENT' });
  assert.ok(!existsSync(folder));
});

function replace(folder: string, chunks: readonly string[], fault?: Fault): Promise<number> {
  const failing = createFailingDisk(nodeDisk);
  if (fault !== undefined) failing.fault = fault;
  const disk: Disk = fault === undefined ? nodeDisk : failing;
  const buffers = chunks.map((chunk) => Buffer.from(chunk));
  return replaceFile(disk, join(folder, 'file'), join(folder, 'tmp'), buffers);
}

function failAt(operation: DiskCall['operation']): Fault {
  return (call) => {
    if (call.operation === operation) throw systemError('EIO', call.path);
  };
}

function contents(folder: string): Record<string, string> {
  const names = readdirSync(folder).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}
