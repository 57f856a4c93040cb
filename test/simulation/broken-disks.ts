/**
 * Broken disks: each makes the store break its protocol in one way, without a change to the store.
 *
 * They are the tests of the simulation: one that does not catch all of them proves nothing.
 */

import { crc32 } from 'node:zlib';
import { dirname } from 'node:path';
import type { Disk, DiskFile } from '../../src/storage/disk.ts';
import { DATA_FILE, JOURNAL, type Wrap } from './life.ts';

type Change = (file: DiskFile, how: 'read' | 'edit' | 'create') => Partial<DiskFile>;

/** The disk with some of the operations of one file changed. */
function withFile(path: string, change: Change): Wrap {
  return (disk) => ({
    ...disk,
    open: async (opened, how, mode) => {
      const file = await disk.open(opened, how, mode);
      return opened === path ? { ...file, ...change(file, how) } : file;
    },
  });
}

const nothing = async (): Promise<void> => undefined;

/** The journal is never synced. */
export const skipJournalSync: Wrap = withFile(JOURNAL, () => ({ sync: nothing }));

/** The snapshot is renamed before its content is durable. */
export const skipSnapshotSync: Wrap = withFile(`${DATA_FILE}.tmp`, () => ({ sync: nothing }));

/** No directory is ever synced. */
export const skipDirectorySync: Wrap = (disk) => ({ ...disk, syncDirectory: nothing });

/** A create is answered at once, and synced when the file is used next. */
export const answerBeforeSync: Wrap = withFile(JOURNAL, (file) => {
  let isOwed = false;
  const pay = async (): Promise<void> => {
    if (isOwed) await file.sync();
    isOwed = false;
  };
  return {
    sync: async () => {
      await pay();
      isOwed = true;
    },
    close: async () => {
      await pay();
      await file.close();
    },
  };
});

/** A sync that failed is tried again. */
export const retryFailedSync: Wrap = withFile(JOURNAL, (file) => ({
  sync: () => file.sync().catch(() => file.sync()),
}));

/** The journal is removed, for good, before the new snapshot has its name. */
export const removeJournalFirst: Wrap = (disk: Disk) => {
  let late: (() => Promise<void>) | undefined;
  return {
    ...disk,
    rename: async (from, to) => {
      late = () => disk.rename(from, to);
    },
    remove: async (path) => {
      await disk.remove(path);
      if (late === undefined || path !== JOURNAL) return;
      await disk.syncDirectory(dirname(path));
      await late();
      late = undefined;
    },
  };
};

/** What a start reads of the journal is shown without being synced. */
export const skipSyncAtRecovery: Wrap = withFile(JOURNAL, (file, how) => {
  let isWritten = how === 'create';
  return {
    writeNow: (...args) => {
      isWritten = true;
      return file.writeNow(...args);
    },
    sync: async () => {
      if (isWritten) await file.sync();
    },
  };
});

/** The last commit is not written again at a start: a false sync of it is believed. */
export const skipRewriteAtRecovery: Wrap = withFile(JOURNAL, () => ({
  write: async (bytes, offset) => bytes.length - offset,
}));

/** A commit that failed is not taken back. */
export const skipTakeBack: Wrap = withFile(JOURNAL, (file, how) => ({
  truncate: how === 'create' ? nothing : file.truncate,
}));

/** Every line of the journal reads as if its CRC were right. */
export const acceptWrongCrc: Wrap = withFile(JOURNAL, (file) => ({
  read: async (bytes, offset, length, position) => {
    const count = await file.read(bytes, offset, length, position);
    const read = bytes.subarray(offset, offset + count);
    for (let start = 0, end; (end = read.indexOf(0x0a, start)) !== -1; start = end + 1) {
      const crc = crc32(read.subarray(start + 9, end));
      if (end - start > 9) read.write(crc.toString(16).padStart(8, '0'), start, 'latin1');
    }
    return count;
  },
}));
