/**
 * The real disk, on node:fs.
 *
 * Two things differ between platforms. A directory cannot be synced on Windows, and its file
 * systems do not need it; and a rename there fails for a moment while a virus scanner or an indexer
 * holds the file open, so it is tried again for a few seconds.
 */

import { fdatasync, writeSync } from 'node:fs';
import {
  access,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  type FileHandle,
} from 'node:fs/promises';
import { platform } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Disk, DiskEntry, DiskFile } from './disk.ts';
import { lockFile } from './lock.ts';

export const nodeDisk: Disk = {
  open: openFile,
  stat: statEntry,
  resolve: resolveLinks,
  rename: renameFile,
  syncDirectory,
  lock: lockFile,
  makeDirectory: async (path) => {
    await mkdir(path, { recursive: true, mode: 0o700 });
  },
  remove: (path) => rm(path, { force: true }),
};

const IS_WINDOWS: boolean = platform() === 'win32';
const RENAME_TRIES = 30;
const RENAME_PAUSE_MS = 100;

/** A new file's mode, unless another is asked for: pets are nobody else's business. */
const OWNER_ONLY = 0o600;

const FLAGS = { read: 'r', edit: 'r+', create: 'wx+' } as const;
const syncData = promisify(fdatasync);

async function openFile(path: string, how: keyof typeof FLAGS, mode?: number): Promise<DiskFile> {
  const file = await open(path, FLAGS[how], mode ?? OWNER_ONLY);
  if (mode !== undefined) await setMode(file, path, mode);
  return {
    read: async (bytes, offset, length, position) =>
      (await file.read(bytes, offset, length, position)).bytesRead,
    write: async (bytes, offset, position) =>
      (await file.write(bytes, offset, bytes.length - offset, position)).bytesWritten,
    writeNow: (bytes, offset, position) =>
      writeSync(file.fd, bytes, offset, bytes.length - offset, position),
    // Windows syncs only what may be written.
    sync: () => (IS_WINDOWS && how === 'read' ? Promise.resolve() : syncData(file.fd)),
    truncate: (length) => file.truncate(length),
    close: () => file.close(),
  };
}

/** The process's umask took bits off the mode of the new file. */
async function setMode(file: FileHandle, path: string, mode: number): Promise<void> {
  try {
    await file.chmod(mode);
  } catch (error) {
    // What was not made as it should be is not there: the next try makes it anew.
    await file.close().catch(() => undefined);
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function statEntry(path: string): Promise<DiskEntry | undefined> {
  try {
    const entry = await stat(path);
    return { isFile: entry.isFile(), sizeBytes: entry.size, mode: entry.mode & 0o7777 };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const folder = await realpath(dirname(path));
  const place = join(folder, basename(path));
  const isLink = await lstat(place).then(
    (entry) => entry.isSymbolicLink(),
    () => false,
  );
  return isLink ? resolveLinks(resolve(folder, await readlink(place))) : place;
}

async function renameFile(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await rename(from, to);
    } catch (error) {
      const isBusy = ['EPERM', 'EACCES', 'EBUSY'].includes(codeOf(error));
      if (!IS_WINDOWS || !isBusy || tries === RENAME_TRIES) throw error;
      await sleep(RENAME_PAUSE_MS);
    }
  }
}

async function syncDirectory(path: string): Promise<void> {
  // There is nothing to sync, but a folder that is gone is an error there as well.
  if (IS_WINDOWS) return access(path);
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
