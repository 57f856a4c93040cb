/**
 * The lock that keeps a second process away from a data file.
 *
 * It must end with its holder, even after a kill -9. A file with a process id outlives its process,
 * and another process, perhaps in another container, may get the same id. The kernel frees a lock
 * on an open file. Node cannot take such a lock, but the command `flock` (util-linux, busybox) can
 * lock an open file that it inherits, and the lock stays after flock has ended. On macOS and
 * Windows, opening a file can take the lock.
 *
 * The store never removes the lock file, and checks before each step that it is still there: if
 * another program removes or replaces it, it no longer keeps a second process away.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { platform } from 'node:os';
import { messageOf } from '../../base/logger.ts';
import { attributesOf, type Disk, isSameFile } from './disk.ts';
import type { StoreLock, StorePaths } from './store-deps.ts';

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

/**
 * Returns the error for another file at the path of one of the store's files. Throws if the lock is
 * lost: then the file may belong to the process that has taken the lock.
 */
export function replacedError(lock: StoreLock, cause: string): ReadOnlyError {
  lock.assertHeld();
  return new ReadOnlyError(cause, false);
}

/** Takes the lock on the file at the lock's path. Rejects if another process holds it. */
export async function takeLock(disk: Disk, paths: StorePaths): Promise<StoreLock> {
  // Fails if the longest name of the store's files is too long for the file system.
  disk.stat(paths.saved(new Date(0)));
  const { owner } = attributesOf(disk, paths.dataFile);
  const lock = await disk.lock(paths.lock, { owner });
  if (lock === undefined) {
    const hasLink = (disk.stat(paths.lock)?.links ?? 1) > 1;
    const advice = hasLink
      ? '. It has another link, such as that of a backup: both are one lock'
      : '';
    throw new Error(`${paths.dataFile} is in use already: ${paths.lock} is locked${advice}`);
  }
  const entry = lock.stat();
  const assertHeld = (): void => {
    const there = disk.stat(paths.lock);
    if (isSameFile(there, entry)) return;
    const what = there === undefined ? 'was removed' : 'was replaced';
    const cause = `The lock file ${what}, or its folder moved: another process may be writing`;
    throw new ReadOnlyError(cause, true);
  };
  try {
    assertHeld();
    return { assertHeld, release: lock.release };
  } catch (error) {
    await lock.release();
    if (!(error instanceof ReadOnlyError)) throw error;
    throw new Error(
      `${paths.lock} was removed while it was being locked, or is on a file system that does not ` +
        'say which file it is: no store can be kept there',
    );
  }
}

/** Opens the lock file for reading and writing, or makes it. `flags` are added to the others. */
type OpenLock = (flags: number) => Promise<FileHandle>;

/**
 * Takes the lock, which lasts until the returned file is closed. Resolves with undefined if another
 * process has it. Rejects if there is no way to lock, or if a second lock of the same file is
 * granted: then a lock keeps no process away.
 */
export async function lockFile(path: string, open: OpenLock): Promise<FileHandle | undefined> {
  const file = await tryLock(open);
  if (file === undefined) return undefined;
  try {
    const second = await tryLock(open);
    if (second === undefined) return file;
    await second.close();
    throw new Error(
      `A lock on ${path} does not keep a second process away: the file system, or the command ` +
        'flock, grants it twice. No store can be kept there',
    );
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function tryLock(open: OpenLock): Promise<FileHandle | undefined> {
  const flags = OPEN_LOCKED[platform()];
  const file = await open(flags ?? 0).catch((error: unknown) => {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EAGAIN', 'EWOULDBLOCK', 'EBUSY'].includes(code)) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  let isLocked = false;
  try {
    isLocked = flags !== undefined || (await flock(file));
  } finally {
    if (!isLocked) await file.close();
  }
  return isLocked ? file : undefined;
}

/** macOS: O_EXLOCK. Windows: libuv's UV_FS_O_EXLOCK, opened for this process alone. */
const OPEN_LOCKED: Readonly<Record<string, number>> = {
  darwin: 0x20,
  win32: 0x1000_0000,
};

async function flock(file: FileHandle): Promise<boolean> {
  const child = spawn('flock', ['-n', '3'], {
    // The rest of the environment may have secrets.
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'pipe', file.fd],
  });
  const errorOutput: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errorOutput.push(chunk));
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const problem = isMissing ? 'is not installed' : `cannot be run: ${messageOf(error)}`;
    throw new Error(`The command flock, which keeps a second process away, ${problem}`);
  })) as [number | null];
  if (code === 0) return true;
  // flock prints nothing if another process has the lock, and an error if it could not try.
  const said = Buffer.concat(errorOutput).toString().trim();
  if (code === 1 && said === '') return false;
  throw new Error(`The command flock failed (${code}): ${said}`);
}
