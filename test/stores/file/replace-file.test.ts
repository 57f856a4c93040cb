/** Atomic replace: the steps, and what each failure leaves. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { replaceFile, type Replacement } from '../../../src/stores/file/replace-file.ts';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { createFailingDisk, type DiskCall, type Fault } from '../../support/disk/failing-disk.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

test('A file is made, and then replaced, by the content of all chunks', async () => {
  const disk = createMemoryDisk();
  for (const chunks of [['one ', '', 'two'], ['short'], [''], ['x'.repeat(100_000)]]) {
    disk.write('tmp', 'a rest of an earlier try');
    await replace(disk, chunks);
    assert.deepEqual(disk.contents(), { file: chunks.join('') });
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

test('A short write is continued until all bytes are written', async () => {
  const disk = createMemoryDisk();
  const fault: Fault = ({ operation }) => (operation === 'write' ? 2 : undefined);
  await replace(disk, ['one two', ' three'], { fault });
  assert.deepEqual(disk.contents(), { file: 'one two three' });
});

test('A write that writes nothing, and reports no error, is an error', async () => {
  const fault: Fault = ({ operation }) => (operation === 'write' ? 0 : undefined);
  await assert.rejects(replace(createMemoryDisk(), ['new'], { fault }), /wrote nothing/);
});

test('The new file is synced before its rename, and assertOwned is called before each change', async () => {
  const steps: string[] = [];
  const fault: Fault = ({ operation }) => void steps.push(operation);
  const assertOwned = (): unknown => steps.push('assertOwned');
  await replace(createMemoryDisk(), ['new'], { fault, assertOwned });
  assert.deepEqual(
    steps.filter((step) => step !== 'stat'),
    ['assertOwned', 'remove', 'open', 'write', 'sync', 'assertOwned', 'rename', 'close'],
  );
});

test('replaceFile returns the new file, open', async () => {
  const disk = createMemoryDisk();
  const file = await replaceFile(replacementOn(disk), [Buffer.from('new')]);
  assert.equal(file.stat().number, disk.stat('file')?.number);
  file.writeNow(Buffer.from('er'), 0, 3);
  assert.deepEqual(disk.contents(), { file: 'newer' });
});

/** The disk has an old file, and the rest of an earlier try. */
const failures: Readonly<Record<string, readonly [Fault, left: Record<string, string>]>> = {
  'the removal of the rest': [failAt('remove'), { file: 'old', tmp: 'a rest' }],
  'the open': [failAt('open'), { file: 'old' }],
  'the first write': [failAt('write'), { file: 'old' }],
  'the second write': [failAt('write', 2), { file: 'old' }],
  'the sync': [failAt('sync'), { file: 'old' }],
  'the rename': [failAt('rename'), { file: 'old' }],
};

for (const [what, [fault, left]] of Object.entries(failures)) {
  test(`If ${what} fails, the old file stays, and no part of the new one is left`, async () => {
    const disk = oldDisk();
    await assert.rejects(replace(disk, ['new', 'er'], { fault }), { code: 'EIO' });
    assert.deepEqual(disk.contents(), left);
  });
}

test('If the content cannot be made, the old file stays and no other is left', async () => {
  const disk = oldDisk();
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.from('new');
    throw new Error('No more');
  }
  await assert.rejects(replaceFile(replacementOn(disk), chunks()), { message: 'No more' });
  assert.deepEqual(disk.contents(), { file: 'old' });
});

for (const [time, left] of [
  [1, { file: 'old', tmp: 'a rest' }],
  [2, { file: 'old' }],
] as const) {
  test(`If check ${time} finds another program's files, none of them is changed`, async () => {
    const disk = oldDisk();
    let looks = 0;
    const assertOwned = (): void => {
      if ((looks += 1) === time) throw new Error('Not owned');
    };
    await assert.rejects(replace(disk, ['new'], { assertOwned }), { message: 'Not owned' });
    assert.deepEqual(disk.contents(), left);
  });
}

test('A file that another program puts at the temporary path stays', async () => {
  const disk = oldDisk();
  const fault: Fault = ({ operation, path }) => {
    if (operation !== 'sync') return;
    void disk.remove('tmp');
    disk.write('tmp', 'theirs');
    throw systemError('EIO', path);
  };
  await assert.rejects(replace(disk, ['new'], { fault }), { code: 'EIO' });
  assert.deepEqual(disk.contents(), { file: 'old', tmp: 'theirs' });
});

for (const operation of ['remove', 'rename'] as const) {
  test(`A ${operation} that reports failure and took effect counts as done`, async () => {
    const disk = oldDisk();
    const late: Disk = {
      ...disk,
      async [operation](...paths: [string, string]) {
        await disk[operation](...paths);
        throw systemError('EIO', paths[0]);
      },
    };
    await replace(late, ['new']);
    assert.deepEqual(disk.contents(), { file: 'new' });
  });
}

/** Replaces `file`, and checks that nothing stays open. */
async function replace(
  wrapped: Disk,
  chunks: readonly string[],
  { fault, ...options }: Partial<Replacement> & { readonly fault?: Fault } = {},
): Promise<void> {
  const disk = createFailingDisk(wrapped);
  if (fault !== undefined) disk.fault = fault;
  const buffers = chunks.map((chunk) => Buffer.from(chunk));
  try {
    const file = await replaceFile({ ...replacementOn(disk), ...options }, buffers);
    await file.close();
  } finally {
    assert.equal(disk.openFiles.size, 0);
  }
}

function replacementOn(disk: Disk): Replacement {
  const paths = { path: 'file', tmpPath: 'tmp' };
  return { disk, ...paths, attributes: {}, assertOwned: () => undefined };
}

function oldDisk(): MemoryDisk {
  return createMemoryDisk({ file: 'old', tmp: 'a rest' });
}

/** Fails the operation at its first call, or a later one. */
function failAt(operation: DiskCall['operation'], time = 1): Fault {
  let times = 0;
  return (call) => {
    if (call.operation === operation && (times += 1) === time) throw systemError('EIO', call.path);
  };
}
