/**
 * The lock of an open store. It is taken on the file at the lock's path, and the store checks
 * before each step that this file is still there: a lock file that was removed or replaced no
 * longer keeps a second process away.
 */

import { dirname } from 'node:path';
import type { Disk, DiskLock } from './disk.ts';
import { pathState, ReadOnlyError } from './path-state.ts';
import { withFile } from './read-file.ts';
import type { StorePaths } from './store-paths.ts';

/** Returns a function that throws ReadOnlyError if the lock file is not the locked one any more. */
export function createLockAssertion(disk: Disk, paths: StorePaths, lock: DiskLock): () => void {
  const entry = lock.stat();
  return () => {
    const state = pathState(disk, paths.lock, entry);
    if (state === 'same') return;
    const what = state === 'missing' ? 'was removed' : 'was replaced';
    const cause = `The lock file ${what}, or its folder moved: another process may be writing`;
    throw new ReadOnlyError(cause, true);
  };
}

const LOCK_TRIES = 3;

/** Takes the lock on the file at the lock's path. Rejects if another process holds it. */
export async function takeLock(disk: Disk, paths: StorePaths): Promise<DiskLock> {
  const owner = disk.stat(paths.snapshot)?.owner ?? disk.stat(dirname(paths.lock))?.owner;
  for (let tries = 1; ; tries += 1) {
    const lock = await disk.lock(paths.lock, { owner });
    if (lock === undefined) {
      const holder = await holderOf(disk, paths.lock);
      throw new Error(`${paths.snapshot} is in use already: ${paths.lock} is held${holder}`);
    }
    let isAtPath = false;
    try {
      isAtPath = pathState(disk, paths.lock, lock.stat()) === 'same';
    } finally {
      if (!isAtPath) await lock.release();
    }
    if (isAtPath) return lock;
    if (tries === LOCK_TRIES) {
      throw new Error(
        `${paths.lock} was removed while it was being locked, or is on a file system that does ` +
          'not say which file it is: no store can be kept there',
      );
    }
  }
}

/** Returns what the holder wrote into the lock file, as ' by process 4711', or ''. */
async function holderOf(disk: Disk, path: string): Promise<string> {
  try {
    const bytes = Buffer.alloc(64);
    const length = await withFile(disk, path, (file) => file.read(bytes, 0, bytes.length, 0));
    const match = /^process [0-9]+(?=\n)/.exec(bytes.toString('latin1', 0, length));
    return match === null ? '' : ` by ${match[0]}`;
  } catch {
    // For example another user's file.
    return '';
  }
}
