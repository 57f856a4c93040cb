/** Atomic replace: what each failure leaves. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  removeFile,
  replaceFile,
  type Replacement,
} from '../../../src/stores/file/replace-file.ts';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { createFailingDisk, type DiskCall, type Fault } from '../../support/disk/failing-disk.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const POSIX = { skip: process.platform === 'win32' && 'Windows syncs no folder' };

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

const OLD = { file: 'old' };

type Failing = Partial<Pick<Replacement, 'assertOwned'>> & { readonly fault?: Fault };
type Failure = readonly [what: string, begin: (disk: MemoryDisk) => Failing, left: object];

const FAILURES: readonly Failure[] = [
  [
    'another program has the temporary path',
    (disk) => (disk.write('tmp', 'theirs'), {}),
    { file: 'old', tmp: 'theirs' },
  ],
  ['the open fails', () => ({ fault: failAt('open') }), OLD],
  ['the second write fails', () => ({ fault: failAt('write', 2) }), OLD],
  ['a write writes nothing', () => ({ fault: writeNothing }), OLD],
  ['the sync fails', () => ({ fault: failAt('sync') }), OLD],
  ['the rename fails', () => ({ fault: failAt('rename') }), OLD],
  ['check 1 finds another program', () => ({ assertOwned: failAtLook(1) }), OLD],
  ['check 2 finds another program', () => ({ assertOwned: failAtLook(2) }), OLD],
  [
    'another program puts a file at the temporary path',
    (disk) => ({
      assertOwned: failAtLook(2, () => {
        void disk.remove('tmp');
        disk.write('tmp', 'theirs');
      }),
    }),
    { file: 'old', tmp: 'theirs' },
  ],
];

for (const [what, begin, left] of FAILURES) {
  test(`If ${what}, the old file stays, and no part of the new one is left`, async () => {
    const disk = createMemoryDisk(OLD);
    await assert.rejects(replace(disk, begin(disk)));
    assert.deepEqual(disk.contents(), left);
  });
}

for (const operation of ['remove', 'rename'] as const) {
  test(`A ${operation} that reports failure and took effect counts as done`, async () => {
    const disk = createMemoryDisk(OLD);
    const late: Disk = {
      ...disk,
      async [operation](...paths: [string, string]) {
        await disk[operation](...paths);
        throw systemError('EIO', paths[0]);
      },
    };
    await (operation === 'rename' ? replace(late) : removeFile(late, 'file'));
    assert.deepEqual(disk.contents(), operation === 'rename' ? { file: 'newer' } : {});
  });
}

/** Replaces `file` by two chunks, and checks that nothing stays open. */
async function replace(wrapped: Disk, { fault, ...options }: Failing = {}): Promise<void> {
  const disk = createFailingDisk(wrapped);
  if (fault !== undefined) disk.fault = fault;
  const paths = { path: 'file', tmpPath: 'tmp' };
  const replacement = { disk, ...paths, attributes: {}, assertOwned: () => undefined, ...options };
  try {
    const file = await replaceFile(
      replacement,
      ['new', 'er'].map((chunk) => Buffer.from(chunk)),
    );
    await file.close();
  } finally {
    assert.equal(disk.openFiles.size, 0);
  }
}

const writeNothing: Fault = ({ operation }) => (operation === 'write' ? 0 : undefined);

/** Fails the operation at its first call, or a later one. */
function failAt(operation: DiskCall['operation'], time = 1): Fault {
  let times = 0;
  return (call) => {
    if (call.operation === operation && (times += 1) === time) throw systemError('EIO', call.path);
  };
}

/** Fails the check whether the files are owned, at its first call or a later one. */
function failAtLook(time: number, happens = (): void => undefined): () => void {
  let times = 0;
  return () => {
    if ((times += 1) !== time) return;
    happens();
    throw new Error('Not owned');
  };
}
