/**
 * What a path leads to now, compared with a file that this process holds or knows.
 *
 * If the lock file is removed, a second process can start. If the journal is removed or replaced,
 * this process writes to a file that no start reads. The system reports neither, so the store calls
 * `stat`, which takes microseconds. The inode number of an open file is not reused.
 */

import type { Disk, FileStat } from './disk.ts';

export type PathState =
  /** The path leads to the file. More links than one are fine: a backup may have made them. */
  | 'same'
  /** Nothing is at the path. */
  | 'missing'
  /** The file is there, but has another size than this process gave it. */
  | 'changed'
  /** Another file is there. */
  | 'replaced';

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

/** Compares what is at `path` with the file `entry`. Throws if the stat fails. */
export function pathState(
  disk: Disk,
  path: string,
  entry: FileStat,
  sizeBytes?: number,
): PathState {
  const named = disk.stat(path);
  if (named === undefined) return 'missing';
  if (!isSameFile(named, entry)) return 'replaced';
  return sizeBytes === undefined || named.sizeBytes === sizeBytes ? 'same' : 'changed';
}

export function isSameFile(one: FileStat, other: FileStat): boolean {
  return one.device === other.device && one.number === other.number;
}

/** True if both are the same file with the same content, as far as size and time show. */
export function isUnchanged(one: FileStat, other: FileStat): boolean {
  return (
    isSameFile(one, other) && one.sizeBytes === other.sizeBytes && one.changedAt === other.changedAt
  );
}
