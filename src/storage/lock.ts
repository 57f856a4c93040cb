/**
 * The lock that keeps a second process from the same data file.
 *
 * It must end with its holder, however that dies: a file with a process id in it outlives a kill
 * -9, and the id is soon somebody else's, in another container perhaps. A lock on an open file is
 * kept by the kernel and freed by it. Node cannot take one, but `flock` (util-linux, busybox) can
 * be handed the open file: what it locks is the open file itself, so the lock stays when flock is
 * gone. On macOS and Windows, opening a file can take the lock.
 *
 * The lock file is never removed: else one process could hold the lock on the removed file, which
 * it had opened just before, and another one a lock on a new file of that name.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { platform } from 'node:os';
import { messageOf } from '../base/log.ts';
import type { DiskLock } from './disk.ts';

/** Takes the lock; undefined when another process has it. Rejects where there is no way to lock. */
export async function lockFile(path: string): Promise<DiskLock | undefined> {
  const flags = OPEN_LOCKED[platform()];
  if (flags !== undefined) return openLocked(path, flags);
  const file = await openLockFile(path);
  const isLocked = await flock(file).catch(async (error: unknown) => {
    await file.close();
    throw error;
  });
  if (isLocked) {
    await noteHolder(file);
    return { release: () => file.close() };
  }
  await file.close();
  return undefined;
}

/** For its owner only: whoever may open it can hold it, and keep the service from starting. */
async function openLockFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  // One that was there, for all to open, or another user's: locking it is what counts.
  await file.chmod(0o600).catch(() => undefined);
  return file;
}

/** For people: the lock is the kernel's, and not what the file says. */
async function noteHolder(file: FileHandle): Promise<void> {
  await file
    .truncate(0)
    .then(() => file.write(`process ${process.pid}\n`, 0))
    .catch(() => undefined);
}

/**
 * macOS: O_EXLOCK and O_NONBLOCK. Windows: libuv's UV_FS_O_EXLOCK, opened for this process alone.
 */
const OPEN_LOCKED: Readonly<Record<string, number>> = {
  darwin: 0x20 | 0x04,
  win32: 0x1000_0000,
};

async function openLocked(path: string, flags: number): Promise<DiskLock | undefined> {
  try {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | flags, 0o600);
    await noteHolder(file);
    return { release: () => file.close() };
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
