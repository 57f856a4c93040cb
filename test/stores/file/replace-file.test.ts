/** Atomic replace, on real files. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { replaceFile, type Replacement } from '../../../src/stores/file/replace-file.ts';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { pathState } from '../../../src/stores/file/path-state.ts';
import { createFailingDisk, type DiskCall, type Fault } from '../../support/disk/failing-disk.ts';
import { systemError } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const POSIX = { skip: platform() === 'win32' && 'Windows has no permission bits' };

test('A file is made, and then replaced, by the content of all chunks', async (t) => {
  const folder = tempDir(t);
  for (const chunks of [['one ', '', 'two'], ['short'], [''], ['x'.repeat(100_000)]]) {
    writeFileSync(join(folder, 'tmp'), 'a rest of an earlier try');
    await replace(folder, chunks);
    assert.deepEqual(contents(folder), { file: chunks.join('') });
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
  assert.deepEqual(
    opened.map(({ fd }) => fd),
    [-1],
  );
  assert.ok(!existsSync(path));
});

for (const mode of [0o666, 0o444]) {
  test(`The new file has the mode ${mode.toString(8)} if that is asked for`, POSIX, async (t) => {
    const folder = tempDir(t);
    await replace(folder, ['new'], { attributes: { mode } });
    assert.equal(statSync(join(folder, 'file')).mode & 0o7777, mode);
    assert.deepEqual(contents(folder), { file: 'new' });
  });
}

test('A short write is continued until all bytes are written', async (t) => {
  const folder = tempDir(t);
  const fault: Fault = ({ operation }) => (operation === 'write' ? 2 : undefined);
  await replace(folder, ['one two', ' three'], { fault });
  assert.deepEqual(contents(folder), { file: 'one two three' });
});

test('The new file is synced before its rename, and assertOwned is called before each change', async (t) => {
  const folder = tempDir(t);
  const steps: string[] = [];
  const fault: Fault = ({ operation }) => void steps.push(operation);
  await replace(folder, ['new'], { fault, assertOwned: () => void steps.push('assertOwned') });
  assert.deepEqual(
    steps.filter((step) => step !== 'stat'),
    ['assertOwned', 'remove', 'open', 'write', 'sync', 'assertOwned', 'rename', 'close'],
  );
});

test('replaceFile returns the new file, open', async (t) => {
  const folder = tempDir(t);
  const file = await replaceFile(replacementIn(folder), [Buffer.from('new')]);
  assert.equal(pathState(nodeDisk, join(folder, 'file'), file.stat()), 'same');
  file.writeNow(Buffer.from('er'), 0, 3);
  await file.close();
  assert.deepEqual(contents(folder), { file: 'newer' });
});

for (const [operation, time] of [
  ['open', 1],
  ['write', 1],
  ['write', 2],
  ['sync', 1],
  ['rename', 1],
] as const) {
  test(`If ${operation} number ${time} fails, the old file stays and no other is left`, async (t) => {
    const folder = withOldFile(t);
    const fault = failAt(operation, time);
    await assert.rejects(replace(folder, ['new', 'er'], { fault }), { code: 'EIO' });
    assert.deepEqual(contents(folder), { file: 'old' });
  });
}

test('If the rest of an earlier try cannot be removed, no file is changed', async (t) => {
  const folder = withOldFile(t);
  writeFileSync(join(folder, 'tmp'), 'a rest');
  await assert.rejects(replace(folder, ['new'], { fault: failAt('remove') }), { code: 'EIO' });
  assert.deepEqual(contents(folder), { file: 'old', tmp: 'a rest' });
});

test('If the content cannot be made, the old file stays and no other is left', async (t) => {
  const folder = withOldFile(t);
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.from('new');
    throw new Error('No more');
  }
  await assert.rejects(replaceFile(replacementIn(folder), chunks()), { message: 'No more' });
  assert.deepEqual(contents(folder), { file: 'old' });
});

for (const [time, left] of [
  [1, { file: 'old', tmp: 'of another process' }],
  [2, { file: 'old' }],
] as const) {
  test(`If check ${time} finds another program's files, none of them is changed`, async (t) => {
    const folder = withOldFile(t);
    writeFileSync(join(folder, 'tmp'), 'of another process');
    let looks = 0;
    const assertOwned = (): void => {
      if ((looks += 1) === time) throw new Error('Not owned');
    };
    await assert.rejects(replace(folder, ['new'], { assertOwned }), { message: 'Not owned' });
    assert.deepEqual(contents(folder), left);
  });
}

test('A file that another program puts at the temporary path stays', async (t) => {
  const folder = withOldFile(t);
  const fault: Fault = (call) => {
    if (call.operation !== 'sync') return;
    rmSync(join(folder, 'tmp'));
    writeFileSync(join(folder, 'tmp'), 'theirs');
    throw systemError('EIO', call.path);
  };
  await assert.rejects(replace(folder, ['new'], { fault }), { code: 'EIO' });
  assert.deepEqual(contents(folder), { file: 'old', tmp: 'theirs' });
});

for (const operation of ['remove', 'rename'] as const) {
  test(`A ${operation} that reports failure and took effect counts as done`, async (t) => {
    const folder = withOldFile(t);
    writeFileSync(join(folder, 'tmp'), 'a rest');
    const late: Disk = {
      ...nodeDisk,
      async [operation](...paths: [string, string]) {
        await nodeDisk[operation](...paths);
        throw systemError('EIO', paths[0]);
      },
    };
    await replace(folder, ['new'], {}, late);
    assert.deepEqual(contents(folder), { file: 'new' });
  });
}

test('In a missing folder replaceFile rejects, and does not make the folder', async (t) => {
  const folder = join(tempDir(t), 'none');
  await assert.rejects(replace(folder, ['new']), { code: 'ENOENT' });
  assert.ok(!existsSync(folder));
});

/** Replaces `file` in the folder, and checks that nothing stays open. */
async function replace(
  folder: string,
  chunks: readonly string[],
  { fault, ...options }: Partial<Replacement> & { readonly fault?: Fault } = {},
  wrapped: Disk = nodeDisk,
): Promise<void> {
  const disk = createFailingDisk(wrapped);
  if (fault !== undefined) disk.fault = fault;
  const buffers = chunks.map((chunk) => Buffer.from(chunk));
  try {
    const file = await replaceFile({ ...replacementIn(folder), disk, ...options }, buffers);
    await file.close();
  } finally {
    assert.equal(disk.openFiles.size, 0);
  }
}

function replacementIn(folder: string): Replacement {
  const [path, tmpPath] = [join(folder, 'file'), join(folder, 'tmp')];
  return { disk: nodeDisk, path, tmpPath, attributes: {}, assertOwned: () => undefined };
}

function withOldFile(t: TestContext): string {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'file'), 'old');
  return folder;
}

/** Fails the operation at its first call, or a later one. */
function failAt(operation: DiskCall['operation'], time = 1): Fault {
  let times = 0;
  return (call) => {
    if (call.operation === operation && (times += 1) === time) throw systemError('EIO', call.path);
  };
}

function contents(folder: string): Record<string, string> {
  const names = readdirSync(folder).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}
