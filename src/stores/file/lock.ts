/**
 * The lock that keeps a second process from the same data file.
 *
 * It must end with its holder, however that dies: a file with a process id in it outlives a kill
 * -9, and the id is soon somebody else's, in another container perhaps. A lock on an open file is
 * kept by the kernel and freed by it. Node cannot take one, but `flock` (util-linux, busybox) can
 * be handed the open file: what it locks is the open file itself, so the lock stays when flock is
 * gone. On macOS and Windows, opening a file can take the lock.
 *
 * The lock file is never removed by us. Should somebody else do so, whoever holds the lock notices
 * (store-lock.ts).
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { platform } from 'node:os';
import { messageOf } from '../../base/log.ts';

/**
 * Takes the lock, which lasts until the returned file is closed. Resolves with undefined if another
 * process has it. Rejects if there is no way to lock.
 * `prepare` gives the file its mode and owner: one that all may open, all may hold.
 */
export async function lockFile(
  path: string,
  prepare: (file: FileHandle) => Promise<void>,
): Promise<FileHandle | undefined> {
  const flags = OPEN_LOCKED[platform()];
  const file = await openLockFile(path, flags ?? 0);
  if (file === undefined) return undefined;
  try {
    // A file that was there may be another user's: to lock it is what counts.
    await prepare(file).catch(() => undefined);
    if (flags !== undefined || (await flock(file))) {
      await expectLocked(path, flags);
      await noteHolder(file);
      return file;
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

/**
 * macOS: O_EXLOCK and O_NONBLOCK. Windows: libuv's UV_FS_O_EXLOCK, opened for this process alone.
 */
const OPEN_LOCKED: Readonly<Record<string, number>> = {
  darwin: 0x20 | 0x04,
  win32: 0x1000_0000,
};

async function openLockFile(path: string, flags: number): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDWR | constants.O_CREAT | flags, 0o600);
  } catch (error) {
    if (['EAGAIN', 'EWOULDBLOCK', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')) {
      return undefined;
    }
    throw error;
  }
}

async function flock(file: FileHandle): Promise<boolean> {
  const child = spawn('flock', ['-n', '3'], {
    // The rest of the environment may hold keys.
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'pipe', file.fd],
  });
  const complaint: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => complaint.push(chunk));
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const problem = isMissing ? 'is not installed' : `cannot be run: ${messageOf(error)}`;
    throw new Error(`The command flock, which keeps a second process away, ${problem}`);
  })) as [number | null];
  if (code === 0) return true;
  // flock says nothing when the lock is taken, and something whenever it could not try.
  const said = Buffer.concat(complaint).toString().trim();
  if (code === 1 && said === '') return false;
  throw new Error(`The command flock failed (${code}): ${said}`);
}

/**
 * Throws if a second lock of the same file is granted: on such a system, or with such a flock, a
 * lock keeps nobody away.
 */
async function expectLocked(path: string, flags: number | undefined): Promise<void> {
  const second = await openLockFile(path, flags ?? 0);
  if (second === undefined) return;
  try {
    if (flags === undefined && !(await flock(second))) return;
  } finally {
    await second.close();
  }
  throw new Error(
    `A lock on ${path} does not keep a second process away: the file system, or the command ` +
      'flock, grants it twice. No store can be kept there',
  );
}

/** For people: the lock is the kernel's, and not what the file says. */
async function noteHolder(file: FileHandle): Promise<void> {
  await file
    .truncate(0)
    .then(() => file.write(`process ${process.pid}\n`, 0))
    .catch(() => undefined);
}
