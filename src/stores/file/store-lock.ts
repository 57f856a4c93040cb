/**
 * The lock of an open store. It is taken on the file at the lock's path, and the store checks
 * before each step that this file is still there: a lock file that was removed or replaced no
 * longer keeps a second process away.
 */

import type { Disk, FileStat } from './disk.ts';
import { NOTE } from './lock.ts';
import { isSameFile, ReadOnlyError } from './path-state.ts';
import { withFile } from './read-file.ts';
import { attributesOf } from './replace-file.ts';
import type { StorePaths } from './store-paths.ts';

export interface StoreLock {
  /** Throws ReadOnlyError if the lock file is not the locked one any more. */
  assertHeld(): void;
  release(): Promise<void>;
}

/**
 * Returns the error for another file at the path of one of the store's files. Throws if the lock is
 * lost: then the file may belong to the process that has taken the lock.
 */
export function replacedError(lock: StoreLock, cause: string): ReadOnlyError {
  lock.assertHeld();
  return new ReadOnlyError(cause, false);
}

const LOCK_TRIES = 3;

/** Takes the lock on the file at the lock's path. Rejects if another process holds it. */
export async function takeLock(disk: Disk, paths: StorePaths): Promise<StoreLock> {
  assertNames(disk, paths);
  const { owner } = attributesOf(disk, paths.snapshot);
  for (let tries = 1; ; tries += 1) {
    const lock = await disk.lock(paths.lock, { owner });
    if (lock === undefined) {
      const note = await noteOf(disk, paths.lock);
      throw new Error(`${paths.snapshot} is in use already: ${paths.lock} is locked${note}`);
    }
    const entry = lock.stat();
    const assertHeld = (): void => assertAtPath(disk, paths.lock, entry);
    try {
      assertHeld();
      return { assertHeld, release: lock.release };
    } catch (error) {
      await lock.release();
      if (!(error instanceof ReadOnlyError)) throw error;
    }
    if (tries === LOCK_TRIES) {
      throw new Error(
        `${paths.lock} was removed while it was being locked, or is on a file system that does ` +
          'not say which file it is: no store can be kept there',
      );
    }
  }
}

function assertAtPath(disk: Disk, path: string, entry: FileStat): void {
  const there = disk.stat(path);
  if (isSameFile(there, entry)) return;
  const what = there === undefined ? 'was removed' : 'was replaced';
  const cause = `The lock file ${what}, or its folder moved: another process may be writing`;
  throw new ReadOnlyError(cause, true);
}

/**
 * Returns what the lock file says of its holder. Its note is that of the last store: another
 * program may hold the lock.
 */
async function noteOf(disk: Disk, path: string): Promise<string> {
  try {
    return await withFile(disk, path, async (file) => {
      const bytes = Buffer.alloc(64);
      const length = await file.read(bytes, 0, bytes.length, 0);
      const [note] = NOTE.exec(bytes.toString('latin1', 0, length)) ?? [];
      const isShared = file.stat().links > 1;
      return (
        (note === undefined ? '' : `, with a note of ${note.trim()}`) +
        (isShared ? '. It has another link, such as that of a backup: both are one lock' : '')
      );
    });
  } catch {
    // For example another user's file.
    return '';
  }
}

/** Throws if the longest name of the store's files is too long for the file system. */
function assertNames(disk: Disk, { snapshot, saved }: StorePaths): void {
  const longest = saved(new Date(0));
  try {
    disk.stat(longest);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ENAMETOOLONG') throw error;
    const bytes = longest.length - snapshot.length;
    throw new Error(
      `The name of ${snapshot} is too long: names of its other files are up to ${bytes} bytes longer`,
    );
  }
}
