/**
 * The real disk, on node:fs.
 *
 * The owner of the store's folder may plant a link at any path in it. If root runs the store, the
 * link may lead to a file that only root can change. So no link is followed, and only a file that
 * this process has just made gets a mode and an owner.
 *
 * A folder cannot be synced on Windows and on some file systems: there a power failure may undo a
 * rename. A rename on Windows fails while a virus scanner or an indexer has the file open, so it is
 * retried for a few seconds.
 */

import fs, { constants as flags, type BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { platform } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { userName } from '../base/system.ts';
import {
  assertRegular,
  codeOf,
  isSameFile,
  type Disk,
  type DiskFile,
  type FileAttributes,
  type FileStat,
} from './disk.ts';
import { flock } from './flock.ts';

export const nodeDisk: Disk = explaining<Disk>({
  open: openFile,
  stat,
  resolve: resolveLinks,
  rename: renameFile,
  link: (from, to) => fs.promises.link(from, to),
  syncDirectory,
  makeDirectory,
  list: (path) => fs.promises.readdir(path),
  freeBytes,
  remove,
  ...(platform() === 'win32' && { lockBeside }),
});

const IS_WINDOWS: boolean = platform() === 'win32';
const RENAME_TRIES = 30;
const RENAME_PAUSE_MS = 100;
/** A new file's default mode: other users may not read the pets. */
const OWNER_ONLY = 0o600;
const ROOT = 0;

const FLAGS = {
  read: flags.O_RDONLY,
  edit: flags.O_RDWR,
  create: flags.O_RDWR | flags.O_CREAT | flags.O_EXCL,
} as const;
/** Follows no symbolic link, and waits for no lock and no end of a pipe. Windows has neither. */
const NO_LINK: number = (flags.O_NOFOLLOW ?? 0) | (flags.O_NONBLOCK ?? 0);
/**
 * Under the permission model of Node 20 to 24, fs refuses both calls, but the methods of a handle
 * do them; Node 26 refuses these, too. In Yarn's Plug'n'Play the handles have no such methods.
 */
const isRestricted: boolean =
  (process as { readonly permission?: unknown }).permission !== undefined;
type Sync = (file: FileHandle) => Promise<void>;
const syncData: Sync = (file) =>
  isRestricted ? file.datasync() : promisify(fs.fdatasync)(file.fd);
const syncAll: Sync = (file) => (isRestricted ? file.sync() : promisify(fs.fsync)(file.fd));

async function openFile(
  path: string,
  how: keyof typeof FLAGS,
  attributes: FileAttributes = {},
): Promise<DiskFile> {
  const file = await openRegular(path, FLAGS[how]);
  if (how === 'create') await prepare(file, attributes);
  let holder: FileHandle | undefined;
  let name = path;
  const methods: DiskFile = {
    // The way to libuv's threads and back takes longer than the read, a sixth of a start.
    read: async (bytes, position) => {
      await nextTurn();
      return methods.readNow(bytes, position);
    },
    readNow: (bytes, position) => fs.readSync(file.fd, bytes, 0, bytes.length, position),
    write: async (bytes, position) =>
      (await file.write(bytes, 0, bytes.length, position)).bytesWritten,
    writeNow: (bytes, position) => fs.writeSync(file.fd, bytes, 0, bytes.length, position),
    sync: () => syncData(file),
    truncate: (length) => file.truncate(length),
    renamed: (to) => void (name = to),
    stat: () => statOf(file),
    lock: async (kind) => {
      holder = await lockFile(name, file, kind);
      return holder !== undefined;
    },
    async close() {
      if (holder !== file) await holder?.close();
      await file.close();
    },
  };
  return explaining(methods, () => name);
}

/**
 * Returns the methods of a disk, or of a file with a name, with errors that name what failed: the
 * file, which an error of a call on a descriptor lacks, and the user, if a right is missing.
 */
function explaining<T extends object>(methods: T, pathOf?: () => string): T {
  const entries = Object.entries(methods).map(([name, call]: [string, Method]) => {
    const explained: Method = (...args) => {
      const fail = (error: unknown): never => explain(error, pathOf?.() ?? String(args[0]));
      try {
        const result = call(...args);
        return result instanceof Promise ? result.catch(fail) : result;
      } catch (error) {
        return fail(error);
      }
    };
    return [name, explained];
  });
  return Object.fromEntries(entries) as T;
}

type Method = (...args: unknown[]) => unknown;

/** Throws the error, with what it lacks in its message. */
function explain(error: unknown, path: string): never {
  if (!(error instanceof Error)) throw error;
  const system: NodeJS.ErrnoException = error;
  if (system.syscall !== undefined && system.path === undefined) {
    system.path = path;
    system.message += ` '${path}'`;
  }
  if (/^(EACCES|EPERM|EROFS): (?!.* by the user )/.test(system.message)) {
    system.message += ` by ${userName()}`;
  }
  throw system;
}

/**
 * Takes the lock of an open file, and resolves with the handle that holds it, or with undefined if
 * another process has it. Rejects if the lock is granted twice: then it keeps no process away.
 */
async function lockFile(
  path: string,
  file: FileHandle,
  kind: 'exclusive' | 'shared',
): Promise<FileHandle | undefined> {
  const holder = await tryLock(path, file, kind);
  if (holder === undefined || kind === 'shared' || IS_WINDOWS) return holder;
  const other = await openRegular(path, FLAGS.read);
  let second: FileHandle | undefined;
  try {
    // If the file was replaced meanwhile, the other one tells nothing.
    const isSame = isSameFile(statOf(other), statOf(file));
    second = isSame ? await tryLock(path, other, kind) : undefined;
    if (second === undefined) return holder;
  } finally {
    if (second !== other) await second?.close();
    await other.close();
  }
  throw new Error(
    `A lock on ${path} does not keep a second process away: the file system, or the command ` +
      'flock, grants it twice. No store can be kept there',
  );
}

async function tryLock(
  path: string,
  file: FileHandle,
  kind: 'exclusive' | 'shared',
): Promise<FileHandle | undefined> {
  if (IS_WINDOWS) return file;
  const lockFlag = OPEN_LOCKED[platform()]?.[kind];
  if (lockFlag === undefined) return (await flock(file.fd, kind)) ? file : undefined;
  return openRegular(path, FLAGS.read | lockFlag).catch((error: unknown) => {
    if (['EAGAIN', 'EWOULDBLOCK', 'EBUSY'].includes(codeOf(error))) return undefined;
    throw error;
  });
}

/** Where opening a file takes its lock: O_EXLOCK and O_SHLOCK. */
const BSD = { exclusive: 0x20, shared: 0x10 } as const;
const OPEN_LOCKED: Readonly<Record<string, typeof BSD>> = {
  darwin: BSD,
  freebsd: BSD,
  openbsd: BSD,
};

/** libuv's UV_FS_O_EXLOCK: opens the file for this process alone. */
const WINDOWS_EXLOCK = 0x1000_0000;

async function openRegular(path: string, how: number): Promise<FileHandle> {
  const file = await fs.promises.open(path, how | NO_LINK, OWNER_ONLY).catch((error: unknown) => {
    // The error of a symbolic link is ELOOP, that of a socket ENXIO.
    if (codeOf(error) !== 'EEXIST') assertRegular(path, stat(path));
    throw error;
  });
  try {
    assertRegular(path, statOf(file));
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Sets the mode and owner of a file that this process has just made, unless it has them. Some file
 * systems have none, or refuse to set them; in a container root may lack CAP_CHOWN. The file is no
 * less safe then: it was made for its owner only.
 */
async function prepare(
  file: FileHandle,
  { mode = OWNER_ONLY, owner }: FileAttributes,
): Promise<void> {
  const entry = statOf(file);
  // The process's umask may have removed bits.
  if (entry.mode !== mode) await file.chmod(mode).catch(() => undefined);
  const isRoot = process.getuid?.() === ROOT;
  const isOwned = entry.owner.user === owner?.user && entry.owner.group === owner.group;
  if (!isRoot || owner === undefined || isOwned) return;
  await file.chown(owner.user, owner.group).catch(() => undefined);
}

async function lockBeside(path: string): Promise<FileHandle> {
  const how = flags.O_RDWR | flags.O_CREAT | WINDOWS_EXLOCK;
  return openRegular(path, how).catch((error: unknown) => {
    if (codeOf(error) !== 'EBUSY') throw error;
    throw new Error(
      `${path} is in use already: another process, or another app of this one, has locked it`,
    );
  });
}

function stat(path: string): FileStat | undefined {
  const stats = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && entryOf(stats);
}

function statOf({ fd }: FileHandle): FileStat {
  return entryOf(fs.fstatSync(fd, { bigint: true }));
}

function entryOf(stats: BigIntStats): FileStat {
  return {
    kind: kindOf(stats),
    sizeBytes: Number(stats.size),
    mode: Number(stats.mode & 0o777n),
    owner: { user: Number(stats.uid), group: Number(stats.gid) },
    device: stats.dev,
    inode: stats.ino,
    links: Number(stats.nlink),
    changedAt: stats.mtimeNs,
  };
}

function kindOf(stats: BigIntStats): FileStat['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symbolic link' : 'special file';
}

async function resolveLinks(path: string): Promise<string> {
  try {
    return await fs.promises.realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const folder = await fs.promises.realpath(dirname(path));
  const named = join(folder, basename(path));
  const target = await fs.promises.readlink(named).catch(() => undefined);
  return target === undefined ? named : resolveLinks(resolve(folder, target));
}

/** Not by mkdir with `recursive`, which never ends if no folder can be made, as in /proc. */
async function makeDirectory(path: string): Promise<void> {
  const isThere = (): boolean =>
    fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  if (dirname(path) !== path) await makeDirectory(dirname(path));
  await fs.promises.mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    // Another process may have made it.
    if (!isThere()) throw error;
  });
}

async function renameFile(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await fs.promises.rename(from, to);
    } catch (error) {
      const isBusy = ['EPERM', 'EACCES', 'EBUSY'].includes(codeOf(error));
      if (!IS_WINDOWS || !isBusy || tries === RENAME_TRIES) throw error;
      await sleep(RENAME_PAUSE_MS);
    }
  }
}

/** Not by rm, which reports an EPERM of a file as an ENOTDIR of a folder. */
async function remove(path: string): Promise<void> {
  await fs.promises.unlink(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}

/** The superuser may also use the blocks that a file system reserves. */
async function freeBytes(path: string): Promise<number> {
  const { blocks, bavail, bfree, bsize } = await fs.promises.statfs(path);
  // A FUSE file system without statfs reports 0 blocks.
  if (blocks === 0) throw new Error('The file system does not report its size');
  return (process.getuid?.() === ROOT ? bfree : bavail) * bsize;
}

async function syncDirectory(path: string): Promise<boolean> {
  // There is nothing to sync on Windows, but a missing folder is an error.
  if (IS_WINDOWS) return fs.promises.access(path).then(() => false);
  const directory = await fs.promises.open(path, 'r');
  try {
    await syncAll(directory);
    return true;
  } catch (error) {
    if (['EINVAL', 'ENOTSUP'].includes(codeOf(error))) return false;
    throw error;
  } finally {
    await directory.close();
  }
}
