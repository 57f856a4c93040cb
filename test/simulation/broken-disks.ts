/**
 * Broken disks: each makes the store break its protocol in one way, without a change to the store.
 *
 * They are the tests of the simulation: one that does not catch all of them proves nothing.
 */

import { dirname } from 'node:path';
import type { Disk, FileStat, DiskFile } from '../../src/stores/file/disk.ts';
import { systemMemory } from '../../src/base/memory.ts';
import { encodeLine, lineLengthAt, PREFIX_LENGTH } from '../../src/stores/file/journal-line.ts';
import { crc32 } from 'node:zlib';
import { DATA_FILE, JOURNAL, KEYS, LOCK, type Wrap } from './life.ts';

const TMP = `${DATA_FILE}.tmp`;
const KEYS_TMP = `${KEYS}.tmp`;

type Change = (file: DiskFile, how: 'read' | 'edit' | 'create') => Partial<DiskFile>;

/** The disk with some of the operations of one file changed. */
function withFile(path: string, change: Change): Wrap {
  return (disk) => ({
    ...disk,
    open: async (opened, how, making) => {
      const file = await disk.open(opened, how, making);
      return opened === path ? { ...file, ...change(file, how) } : file;
    },
  });
}

const nothing = async (): Promise<void> => undefined;

/** The journal is never synced. */
export const skipJournalSync: Wrap = withFile(JOURNAL, () => ({ sync: nothing }));

/** A new file is renamed before its content is durable: the snapshot's, or the journal's copy. */
function skipSyncOf(path: string): Wrap {
  return (disk) => {
    let owed: DiskFile | undefined;
    return {
      ...disk,
      open: async (opened, how, making) => {
        const file = await disk.open(opened, how, making);
        if (opened !== TMP) return file;
        owed = file;
        let isOwed = true;
        return {
          ...file,
          // The first sync is left out; those that come later, of the journal's lines, are not.
          sync: () => {
            const skips = isOwed;
            isOwed = false;
            return skips ? nothing() : file.sync();
          },
        };
      },
      rename: async (from, to) => {
        if (from === TMP && to !== path) await owed?.sync();
        return disk.rename(from, to);
      },
    };
  };
}

export const skipSnapshotSync: Wrap = skipSyncOf(DATA_FILE);
export const skipSyncOfJournalCopy: Wrap = skipSyncOf(JOURNAL);

/** No directory is ever synced. */
export const skipDirectorySync: Wrap = (disk) => ({ ...disk, syncDirectory: nothing });

/** The folder that was made may be gone after a power cut. */
export const skipParentSync: Wrap = (disk) => ({
  ...disk,
  syncDirectory: async (path) => (path === '/' ? undefined : disk.syncDirectory(path)),
});

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
      if (to !== DATA_FILE) return disk.rename(from, to);
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

/** The directory is not synced between the names of the keys and of the snapshot. */
export const skipDirectorySyncOfKeys: Wrap = (disk) => {
  let isSkipped = false;
  return {
    ...disk,
    rename: async (from, to) => {
      await disk.rename(from, to);
      isSkipped = to === KEYS;
    },
    syncDirectory: async (path) => {
      if (!isSkipped) await disk.syncDirectory(path);
      isSkipped = false;
    },
  };
};

/** The snapshot gets its name first, for good, and then the keys do. */
export const renameKeysLast: Wrap = (disk) => {
  let late: (() => Promise<void>) | undefined;
  let hasSnapshot = false;
  return {
    ...disk,
    rename: async (from, to) => {
      if (to === KEYS) late = () => disk.rename(from, to);
      else await disk.rename(from, to);
      hasSnapshot = to === DATA_FILE;
    },
    syncDirectory: async (path) => {
      await disk.syncDirectory(path);
      if (!hasSnapshot) return;
      await late?.();
      late = undefined;
    },
  };
};

/** Keys are in the memory of the process and in checkpoints, but not in the commits. */
export const skipKeysOfCommits: Wrap = withFile(JOURNAL, (file) => ({
  read: async (bytes, offset, length, position) => {
    const count = await file.read(bytes, offset, length, position);
    const read = bytes.subarray(offset, offset + count);
    const text = read.toString('latin1');
    for (const { index } of text.matchAll(/(?<=\[")[0-9a-f]{32}(?=",)/g))
      read.fill('0', index, index + 32);
    correctCrcs(read);
    return count;
  },
}));

/** After a failed sync, the checkpoint has the pets in doubt, but not the last one's key. */
export const skipKeysInDoubt: Wrap = (disk) => {
  let isInDoubt = false;
  return {
    ...disk,
    open: async (path, how, making) => {
      const file = await disk.open(path, how, making);
      if (path === JOURNAL) {
        const sync = async (): Promise<void> => {
          isInDoubt = true;
          await file.sync();
          isInDoubt = false;
        };
        return { ...file, sync };
      }
      if (path !== KEYS_TMP) return file;
      const write: DiskFile['write'] = async (bytes, offset, position) => {
        const text = bytes.toString('latin1', PREFIX_LENGTH).replace(/,?\[[^[\]]*\]\]\}\n$/, ']}');
        const { bytes: fewer } = encodeLine(systemMemory, text, 0);
        if (!isInDoubt) return file.write(bytes, offset, position);
        await file.write(fewer, 0, 0);
        return bytes.length;
      };
      return { ...file, write };
    },
  };
};

/** A line that failed is not taken back. */
export const skipTakeBack: Wrap = withFile(JOURNAL, () => ({ truncate: nothing }));

/** A line that failed is taken back, but not durably. */
export const skipSyncOfTakeBack: Wrap = withFile(JOURNAL, (file) => {
  let wasTruncated = false;
  return {
    truncate: (length) => {
      wasTruncated = true;
      return file.truncate(length);
    },
    sync: async () => {
      if (!wasTruncated) await file.sync();
      wasTruncated = false;
    },
  };
});

/** What is at a path is always what was there first. */
function blindFor(path: string): Wrap {
  return (disk) => {
    let first: FileStat | undefined;
    return {
      ...disk,
      stat: (looked) => {
        const entry = disk.stat(looked);
        if (looked !== path) return entry;
        first ??= entry;
        return first;
      },
    };
  };
}

/** It is not noticed that the lock file was removed or replaced. */
export const blindForLock: Wrap = blindFor(LOCK);

/** It is not noticed that the journal was removed or replaced. */
export const blindForJournal: Wrap = (disk) => {
  let own: FileStat | undefined;
  return {
    ...disk,
    open: async (path, how, making) => {
      const file = await disk.open(path, how, making);
      if (path === JOURNAL && how === 'create') own = file.stat();
      return file;
    },
    remove: async (path) => {
      if (path === JOURNAL) own = undefined;
      return disk.remove(path);
    },
    stat: (path) => {
      const entry = disk.stat(path);
      return path === JOURNAL && own !== undefined ? own : entry;
    },
  };
};

/** It is not noticed that the snapshot was replaced. */
export const blindForSnapshot: Wrap = (disk) => {
  let own: FileStat | undefined;
  return {
    ...disk,
    rename: async (from, to) => {
      await disk.rename(from, to);
      if (to === DATA_FILE) own = undefined;
    },
    stat: (path) => {
      if (path !== DATA_FILE) return disk.stat(path);
      own ??= disk.stat(path);
      return own;
    },
  };
};

/** Every line of the journal reads as if its CRC were right. */
export const acceptWrongCrc: Wrap = withFile(JOURNAL, (file) => ({
  read: async (bytes, offset, length, position) => {
    const count = await file.read(bytes, offset, length, position);
    correctCrcs(bytes.subarray(offset, offset + count));
    return count;
  },
}));

/** Gives each line of a journal the CRC that it should have. */
function correctCrcs(bytes: Buffer): void {
  let crc = 0;
  for (let at = 0; at < bytes.length;) {
    const length = lineLengthAt(bytes, at);
    if (length === undefined) return;
    const right = crc32(bytes.subarray(at + 8, at + length), crc);
    bytes.write(right.toString(16).padStart(8, '0'), at, 'latin1');
    crc = crc32(bytes.subarray(at, at + length), crc);
    at += length;
  }
}

/** Every journal reads as if it followed the snapshot that lies beside it. */
export const acceptAnySnapshot: Wrap = (disk) => {
  let snapshotCrc = 0;
  return {
    ...disk,
    open: async (path, how, making) => {
      const file = await disk.open(path, how, making);
      const isJournal = path === JOURNAL && how === 'read';
      return {
        ...file,
        read: async (bytes, offset, length, position) => {
          const count = await file.read(bytes, offset, length, position);
          const read = bytes.subarray(offset, offset + count);
          if (path === DATA_FILE) {
            const end = read.lastIndexOf(']') + 1;
            if (end > 0) snapshotCrc = crc32(read.subarray(0, end));
          }
          if (isJournal && position === 0 && count > 0) {
            read.write(
              snapshotCrc.toString(16).padStart(8, '0'),
              read.indexOf('"snapshot":"') + 12,
            );
            correctCrcs(read);
          }
          return count;
        },
      };
    },
  };
};

/** Whatever follows the last whole line counts as torn. */
export const dropAnyTail: Wrap = withFile(JOURNAL, (file, how) => {
  if (how !== 'read') return {};
  return {
    read: async (bytes, offset, length, position) => {
      const count = await file.read(bytes, offset, length, position);
      let crc = 0;
      for (let at = offset; at < offset + count;) {
        const lineLength = lineLengthAt(bytes, at);
        const isWhole =
          lineLength !== undefined &&
          bytes.toString('latin1', at, at + 8) ===
            crc32(bytes.subarray(at + 8, at + lineLength), crc)
              .toString(16)
              .padStart(8, '0');
        if (!isWhole) return at - offset;
        crc = crc32(bytes.subarray(at, at + lineLength), crc);
        at += lineLength;
      }
      return count;
    },
  };
});

/** The copy of a journal that failed does not get the line in doubt. */
export const skipLineInDoubt: Wrap = (disk) => {
  let hasFailed = false;
  const fail = (error: unknown): never => {
    hasFailed = true;
    throw error;
  };
  return {
    ...disk,
    open: async (path, how, making) => {
      const file = await disk.open(path, how, making);
      if (path === JOURNAL) return { ...file, sync: () => file.sync().catch(fail) };
      if (path !== TMP) return file;
      const write: DiskFile['write'] = async (bytes, offset, position) => {
        const text = bytes.toString('latin1');
        // The lines that are copied begin with a header.
        const isLine = hasFailed && text.includes('{"after":') && !text.includes('"journal":1');
        return isLine ? bytes.length - offset : file.write(bytes, offset, position);
      };
      return { ...file, write };
    },
  };
};

/** What is read of a journal to copy it is the first half only, repeated. */
export const copyAnotherJournal: Wrap = (disk) => ({
  ...disk,
  open: async (path, how, making) => {
    const file = await disk.open(path, how, making);
    if (path !== TMP) return file;
    const write: DiskFile['write'] = async (bytes, offset, position) => {
      const changed = Buffer.from(bytes);
      if (changed.includes('"journal":1')) changed.fill(0x78, changed.length - 10);
      return file.write(changed, offset, position);
    };
    return { ...file, write };
  },
});

/** The folder is not synced after the copy of a journal got its name. */
export const skipDirectorySyncOfCopy: Wrap = (disk) => {
  let isCopy = false;
  return {
    ...disk,
    rename: async (from, to) => {
      await disk.rename(from, to);
      isCopy = to === JOURNAL;
    },
    syncDirectory: async (path) => {
      if (!isCopy) await disk.syncDirectory(path);
      isCopy = false;
    },
  };
};

/** Changes what is done with the files that pets are saved in. */
function withSaved(change: (file: DiskFile) => Partial<DiskFile>): Wrap {
  return (disk) => ({
    ...disk,
    open: async (path, how, making) => {
      const file = await disk.open(path, how, making);
      return path.includes('.saved-') ? { ...file, ...change(file) } : file;
    },
  });
}

export const skipSyncOfSaved: Wrap = withSaved(() => ({ sync: nothing }));

export const writeHalfOfSaved: Wrap = withSaved((file) => {
  let writes = 0;
  return {
    write: async (bytes, offset, position) => {
      writes += 1;
      return writes > 1 ? bytes.length - offset : file.write(bytes, offset, position);
    },
  };
});
