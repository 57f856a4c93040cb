/**
 * What a path leads to now, compared with a file that this process holds or knows.
 *
 * If the lock file is removed, a second process can start. If the journal is removed or replaced,
 * this process writes to a file that no start reads. The system reports neither, so the store calls
 * `stat`, which takes microseconds. The inode number of an open file is not reused.
 */

import type { FileStat } from './disk.ts';

/**
 * The store must become read-only: another process may be using its files, another file is at the
 * path of one of them, or memory failed after a sync.
 */
export class ReadOnlyError extends Error {
  override readonly name: string = 'ReadOnlyError';
  /** True if a new process can continue with the files. */
  readonly canRestart: boolean;

  constructor(message: string, canRestart: boolean) {
    super(message);
    this.canRestart = canRestart;
  }
}

/** The journal was removed or changed: it must not be written any more. */
export class JournalLostError extends Error {
  override readonly name: string = 'JournalLostError';
}

/** True if both are the same file. It may have more links than one: a backup may have made them. */
export function isSameFile(one: FileStat | undefined, other: FileStat): boolean {
  return one?.device === other.device && one.number === other.number;
}

/** True if both are the same file with the same content, as far as size and time show. */
export function isUnchanged(one: FileStat | undefined, other: FileStat): boolean {
  const isSame = isSameFile(one, other) && one?.sizeBytes === other.sizeBytes;
  return isSame && one.changedAt === other.changedAt;
}
