/**
 * Whether a file that we hold is still the one at its name.
 *
 * Whoever removes the lock file lets a second process in; whoever removes or replaces the journal
 * leaves us writing where no start will ever read. The system tells of neither, so we ask, and it
 * costs microseconds. While we hold a file open, no other one gets its number.
 */

import type { Disk, DiskEntry } from './disk.ts';

export type Standing =
  /** The name leads to the file. More names than one are fine: a back-up may have linked it. */
  | 'ours'
  /** Nothing is at the name. */
  | 'gone'
  /** Somebody put another file there. */
  | 'another';

/** How the open file that `entry` tells of stands to the name `path`. */
export function standingOf(disk: Disk, path: string, entry: DiskEntry): Standing {
  const named = disk.look(path);
  if (named === undefined) return 'gone';
  return isSameFile(named, entry) ? 'ours' : 'another';
}

export function isSameFile(one: DiskEntry, other: DiskEntry): boolean {
  return one.device === other.device && one.number === other.number;
}

/** True when both are the same file, and nobody has changed its content in between. */
export function isUnchanged(one: DiskEntry, other: DiskEntry): boolean {
  return (
    isSameFile(one, other) && one.sizeBytes === other.sizeBytes && one.changedAt === other.changedAt
  );
}
