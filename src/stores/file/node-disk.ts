/**
 * The real disk, on node:fs.
 *
 * A folder cannot be synced on Windows and on some file systems: there a power failure may undo a
 * rename. A rename on Windows fails while a virus scanner or an indexer has the file open, so it is
 * retried for a few seconds.
 */

import { fdatasync, fstatSync, lstatSync, statSync, writeSync, type BigIntStats } from 'node:fs';
import {
  access,
  link,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  statfs,
} from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { constants, platform } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Disk, FileStat, DiskFile, FileAttributes } from './disk.ts';
import { lockFile } from './lock.ts';

export const nodeDisk: Disk = {
  open: openFile,
  stat,
  resolve: resolveLinks,
  rename: renameFile,
  link: (from, to) => link(from, to),
  syncDirectory,
  lock: async (path, attributes = {}) => {
    const file = await lockFile(path, (opened) => prepare(opened, attributes, OWNER_ONLY));
    return file && { stat: () => statOf(file), release: () => file.close() };
  },
  makeDirectory,
  list: (path) => readdir(path),
  freeBytes,
  remove: (path) => rm(path, { force: true }),
};

const IS_WINDOWS: boolean = platform() === 'win32';
const RENAME_TRIES = 30;
const RENAME_PAUSE_MS = 100;
/** A new file's default mode: other users may not read the pets. */
const OWNER_ONLY = 0o600;
const ROOT = 0;

const FLAGS = { read: 'r', edit: 'r+', create: 'wx+' } as const;
const syncData = promisify(fdatasync);

async function openFile(
  path: string,
  how: keyof typeof FLAGS,
  attributes: FileAttributes = {},
): Promise<DiskFile> {
  const file = await open(path, FLAGS[how], OWNER_ONLY).catch(throwNamed);
  if (how === 'create') {
    await prepare(file, attributes, attributes.mode ?? OWNER_ONLY).catch(async (error: unknown) => {
      // A file with the wrong owner or mode must not stay.
      await file.close().catch(() => undefined);
      await rm(path, { force: true }).catch(() => undefined);
      throw error;
    });
  }
  return {
    read: async (bytes, offset, length, position) =>
      (await file.read(bytes, offset, length, position)).bytesRead,
    write: async (bytes, offset, position) => {
      const written = file.write(bytes, offset, bytes.length - offset, position);
      return (await written.catch(throwNamed)).bytesWritten;
    },
    writeNow: (bytes, offset, position) => {
      try {
        return writeSync(file.fd, bytes, offset, bytes.length - offset, position);
      } catch (error) {
        return throwNamed(error);
      }
    },
    // Windows syncs only files that are open for writing.
    sync: () =>
      IS_WINDOWS && how === 'read' ? Promise.resolve() : syncData(file.fd).catch(throwNamed),
    truncate: (length) => file.truncate(length),
    stat: () => statOf(file),
    close: () => file.close(),
  };
}

/** Sets the owner and mode of a new file, unless it has them: some file systems have none. */
async function prepare(file: FileHandle, { owner }: FileAttributes, mode: number): Promise<void> {
  const entry = statOf(file);
  const isRoot = process.getuid?.() === ROOT;
  const isOwned = entry.owner.user === owner?.user && entry.owner.group === owner.group;
  if (isRoot && owner !== undefined && !isOwned) await file.chown(owner.user, owner.group);
  // The process's umask may have removed bits.
  if (entry.mode !== mode) await file.chmod(mode);
}

function stat(path: string): FileStat | undefined {
  const options = { bigint: true, throwIfNoEntry: false } as const;
  // A symbolic link without a target counts: no file can be made at its path.
  const stats = statSync(path, options) ?? lstatSync(path, options);
  return stats === undefined ? undefined : entryOf(stats);
}

function statOf({ fd }: FileHandle): FileStat {
  return entryOf(fstatSync(fd, { bigint: true }));
}

function entryOf(stats: BigIntStats): FileStat {
  return {
    isFile: stats.isFile(),
    sizeBytes: Number(stats.size),
    mode: Number(stats.mode & 0o7777n),
    owner: { user: Number(stats.uid), group: Number(stats.gid) },
    device: stats.dev,
    number: stats.ino,
    links: Number(stats.nlink),
    changedAt: stats.mtimeNs,
  };
}

async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const folder = await realpath(dirname(path));
  const named = join(folder, basename(path));
  const target = await readlink(named).catch(() => undefined);
  return target === undefined ? named : resolveLinks(resolve(folder, target));
}

/** Not by mkdir with `recursive`, which never ends if no folder can be made, as in /proc. */
async function makeDirectory(path: string): Promise<void> {
  const make = (): Promise<void> => mkdir(path, { mode: 0o700 });
  try {
    await make().catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
      await makeDirectory(dirname(path));
      await make();
    });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

async function renameFile(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await rename(from, to).catch(throwNamed);
    } catch (error) {
      const isBusy = ['EPERM', 'EACCES', 'EBUSY'].includes(codeOf(error));
      if (!IS_WINDOWS || !isBusy || tries === RENAME_TRIES) throw error;
      await sleep(RENAME_PAUSE_MS);
    }
  }
}

/** The superuser may also use the blocks that a file system reserves. */
async function freeBytes(path: string): Promise<number> {
  const { bavail, bfree, bsize } = await statfs(path);
  return (process.getuid?.() === ROOT ? bfree : bavail) * bsize;
}

async function syncDirectory(path: string): Promise<void> {
  // There is nothing to sync, but a missing folder is an error.
  if (IS_WINDOWS) return access(path);
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } catch (error) {
    // This file system cannot sync a folder.
    if (!['EINVAL', 'ENOTSUP'].includes(codeOf(error))) throw error;
  } finally {
    await directory.close();
  }
}

/** Gives EDQUOT its name: libuv has none for it. */
export function throwNamed(error: unknown): never {
  const { errno, syscall } = error as NodeJS.ErrnoException;
  const isQuota = errno !== undefined && errno === -constants.errno.EDQUOT;
  if (!isQuota || codeOf(error) === 'EDQUOT') throw error;
  const message = `EDQUOT: disk quota exceeded, ${syscall}`;
  throw Object.assign(new Error(message), { code: 'EDQUOT', errno, syscall });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
