/**
 * Broken disks: each makes the store break its protocol in one way, without a change to the store.
 *
 * They test the simulation, which must catch all of them (breaks.ts).
 */

import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { systemMemory } from '../../src/base/memory.ts';
import type { Disk, DiskFile, FileStat } from '../../src/stores/file/disk.ts';
import { encodeLine, lineLengthAt, PREFIX_LENGTH } from '../../src/stores/file/journal-line.ts';
import { DATA_FILE, JOURNAL, KEYS, LOCK, type Wrap } from './life.ts';

const TMP = `${DATA_FILE}.tmp`;
const KEYS_TMP = `${KEYS}.tmp`;

const nothing = async (): Promise<void> => undefined;

/** The disk with some of its operations changed. */
function changed(change: (disk: Disk) => Partial<Disk>): Wrap {
  return (disk) => ({ ...disk, ...change(disk) });
}

type FileChange = (file: DiskFile, path: string, how: string) => Partial<DiskFile> | undefined;

/** The disk with some of the operations of its open files changed. */
function withFiles(disk: Disk, change: FileChange): Disk {
  const open: Disk['open'] = async (path, how, attributes) => {
    const file = await disk.open(path, how, attributes);
    return { ...file, ...change(file, path, how) };
  };
  return { ...disk, open };
}

/** The disk with some of the operations of one file changed. */
function withFile(path: string, change: (file: DiskFile) => Partial<DiskFile>): Wrap {
  return (disk) => withFiles(disk, (file, opened) => (opened === path ? change(file) : undefined));
}

/** The file with what is read of it changed; `change` returns how much of it there is. */
function withReads(file: DiskFile, change: (bytes: Buffer, position: number) => number): DiskFile {
  const read: DiskFile['read'] = async (bytes, offset, length, position) => {
    const count = await file.read(bytes, offset, length, position);
    return change(bytes.subarray(offset, offset + count), position);
  };
  return { ...file, read };
}

// Syncs

/** The journal is never synced. */
export const skipJournalSync: Wrap = withFile(JOURNAL, () => ({ sync: nothing }));

/** A temporary file is renamed to `path` before it is synced. */
function skipSyncOf(path: string): Wrap {
  return (disk) => {
    let owed: DiskFile | undefined;
    return {
      ...withFiles(disk, (file, opened) => {
        if (opened !== TMP) return undefined;
        owed = file;
        let isOwed = true;
        // Only the first sync is left out: the later ones are those of the journal's lines.
        const sync = (): Promise<void> => {
          const skips = isOwed;
          isOwed = false;
          return skips ? nothing() : file.sync();
        };
        return { sync };
      }),
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
export const skipDirectorySync: Wrap = changed(() => ({ syncDirectory: nothing }));

/** The folder above a new folder is not synced. */
export const skipParentSync: Wrap = changed((disk) => ({
  syncDirectory: async (path) => (path === '/' ? undefined : disk.syncDirectory(path)),
}));

/** The first sync of the directory after a rename to `path` is left out. */
function skipDirectorySyncAfter(path: string): Wrap {
  return changed((disk) => {
    let isSkipped = false;
    return {
      rename: async (from, to) => {
        await disk.rename(from, to);
        isSkipped = to === path;
      },
      syncDirectory: async (folder) => {
        if (!isSkipped) await disk.syncDirectory(folder);
        isSkipped = false;
      },
    };
  });
}

export const skipDirectorySyncOfKeys: Wrap = skipDirectorySyncAfter(KEYS);
export const skipDirectorySyncOfCopy: Wrap = skipDirectorySyncAfter(JOURNAL);

/** A create is acknowledged before its sync, which comes when the file is used next. */
export const acknowledgeBeforeSync: Wrap = withFile(JOURNAL, (file) => {
  let isOwed = false;
  const pay = async (): Promise<void> => {
    if (isOwed) await file.sync();
    isOwed = false;
  };
  const sync = async (): Promise<void> => {
    await pay();
    isOwed = true;
  };
  return { sync, close: () => pay().then(file.close) };
});

/** A failed sync is tried again on the same file. */
export const retryFailedSync: Wrap = withFile(JOURNAL, (file) => ({
  sync: () => file.sync().catch(() => file.sync()),
}));

/** A failed line is not rolled back. */
export const skipRollBack: Wrap = withFile(JOURNAL, () => ({ truncate: nothing }));

/** A failed line is rolled back, but not durably. */
export const skipSyncOfRollBack: Wrap = withFile(JOURNAL, (file) => {
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

// Order

/** The journal is removed, durably, before the new snapshot has its name. */
export const removeJournalFirst: Wrap = changed((disk) => {
  let late: (() => Promise<void>) | undefined;
  return {
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
});

/** The snapshot gets its name first, durably, and then the idempotency file does. */
export const renameKeysLast: Wrap = changed((disk) => {
  let late: (() => Promise<void>) | undefined;
  let hasSnapshot = false;
  return {
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
});

// What is written

/** After a failed sync, the checkpoint has the pets in doubt, but not the last one's key. */
export const skipKeysInDoubt: Wrap = (disk) => {
  let isInDoubt = false;
  return withFiles(disk, (file, path) => {
    const sync = async (): Promise<void> => {
      isInDoubt = true;
      await file.sync();
      isInDoubt = false;
    };
    const write: DiskFile['write'] = async (bytes, offset, position) => {
      if (!isInDoubt) return file.write(bytes, offset, position);
      const text = bytes.toString('latin1', PREFIX_LENGTH).replace(/,?\[[^[\]]*\]\]\}\n$/, ']}');
      await file.write(encodeLine(systemMemory, text, 0).bytes, 0, 0);
      return bytes.length;
    };
    if (path === JOURNAL) return { sync };
    return path === KEYS_TMP ? { write } : undefined;
  });
};

/** The copy of an abandoned journal does not get the line in doubt. */
export const skipLineInDoubt: Wrap = (disk) => {
  let hasFailed = false;
  const fail = (error: unknown): never => {
    hasFailed = true;
    throw error;
  };
  return withFiles(disk, (file, path) => {
    const write: DiskFile['write'] = async (bytes, offset, position) => {
      const text = bytes.toString('latin1');
      // The lines that are copied begin with a header.
      const isLine = hasFailed && text.includes('{"after":') && !text.includes('"journal":1');
      return isLine ? bytes.length - offset : file.write(bytes, offset, position);
    };
    if (path === JOURNAL) return { sync: () => file.sync().catch(fail) };
    return path === TMP ? { write } : undefined;
  });
};

/** The copy of a journal ends with other bytes than the journal. */
export const copyAnotherJournal: Wrap = withFile(TMP, (file) => ({
  write: async (bytes, offset, position) => {
    const other = Buffer.from(bytes);
    if (other.includes('"journal":1')) other.fill(0x78, other.length - 10);
    return file.write(other, offset, position);
  },
}));

/** Changes what is done with the files that pets are saved in. */
function withSaved(change: (file: DiskFile) => Partial<DiskFile>): Wrap {
  return (disk) =>
    withFiles(disk, (file, path) => (path.includes('.saved-') ? change(file) : undefined));
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

// What is read

/** What is at a path is always what was there first, or what the store put there. */
function blindFor(path: string, ...ownChanges: readonly ('rename' | 'remove')[]): Wrap {
  return changed((disk) => {
    let first: FileStat | undefined;
    const forget = (changedPath: string): void => {
      if (changedPath === path) first = undefined;
    };
    return {
      stat: (asked) => {
        if (asked !== path) return disk.stat(asked);
        return (first ??= disk.stat(asked));
      },
      rename: async (from, to) => {
        await disk.rename(from, to);
        if (ownChanges.includes('rename')) forget(to);
      },
      remove: async (removed) => {
        await disk.remove(removed);
        if (ownChanges.includes('remove')) forget(removed);
      },
    };
  });
}

/** The store does not notice that its lock file was removed or replaced. */
export const blindForLock: Wrap = blindFor(LOCK);

/** The store does not notice that the snapshot was replaced. */
export const blindForSnapshot: Wrap = blindFor(DATA_FILE, 'rename');

/** The store does not notice that the journal was removed or replaced. */
export const blindForJournal: Wrap = (disk) => {
  let own: FileStat | undefined;
  return {
    ...withFiles(disk, (file, path, how) => {
      if (path === JOURNAL && how === 'create') own = file.stat();
      return undefined;
    }),
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

/** The keys of commits are lost: they are in the memory of the process, and in checkpoints. */
export const skipKeysOfCommits: Wrap = withFile(JOURNAL, (file) =>
  withReads(file, (bytes) => {
    const text = bytes.toString('latin1');
    for (const { index } of text.matchAll(/(?<=\[")[0-9a-f]{32}(?=",)/g)) {
      bytes.fill('0', index, index + 32);
    }
    correctCrcs(bytes);
    return bytes.length;
  }),
);

/** Every line of the journal reads as if its CRC were right. */
export const acceptWrongCrc: Wrap = withFile(JOURNAL, (file) =>
  withReads(file, (bytes) => {
    correctCrcs(bytes);
    return bytes.length;
  }),
);

/** Every journal reads as if it followed the snapshot in the data file. */
export const acceptAnySnapshot: Wrap = (disk) => {
  let snapshotCrc = 0;
  return withFiles(disk, (file, path, how) =>
    withReads(file, (bytes, position) => {
      const end = path === DATA_FILE ? bytes.lastIndexOf(']') + 1 : 0;
      if (end > 0) snapshotCrc = crc32(bytes.subarray(0, end));
      if (path === JOURNAL && how === 'read' && position === 0 && bytes.length > 0) {
        bytes.write(hex(snapshotCrc), bytes.indexOf('"snapshot":"') + 12);
        correctCrcs(bytes);
      }
      return bytes.length;
    }),
  );
};

/** Whatever follows the last valid line of a journal counts as torn. */
export const dropAnyTail: Wrap = (disk) =>
  withFiles(disk, (file, path, how) => {
    if (path !== JOURNAL || how !== 'read') return undefined;
    return withReads(file, (bytes) => {
      for (const { at, crc } of linesOf(bytes)) {
        if (bytes.toString('latin1', at, at + 8) !== hex(crc)) return at;
      }
      return [...linesOf(bytes)].at(-1)?.end ?? 0;
    });
  });

/** Gives each line of a journal the CRC that it should have. */
function correctCrcs(bytes: Buffer): void {
  for (const { at, crc } of linesOf(bytes)) bytes.write(hex(crc), at, 'latin1');
}

/** The complete lines of a journal, each with the CRC that it should have. */
function* linesOf(bytes: Buffer): Generator<{ at: number; end: number; crc: number }> {
  let before = 0;
  for (let at = 0; at < bytes.length;) {
    const length = lineLengthAt(bytes, at);
    if (length === undefined) return;
    const end = at + length;
    yield { at, end, crc: crc32(bytes.subarray(at + 8, end), before) };
    before = crc32(bytes.subarray(at, end), before);
    at = end;
  }
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0');
}
