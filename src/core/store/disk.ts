/**
 * Disk: the file operations of the store, and no others.
 *
 * It is injected, so that tests can run the store on a simulated disk which fails, stops or forgets
 * at any operation. node-disk.ts is the real one. Each operation may reject with an error that has
 * a system `code` (ENOSPC, EIO …). An operation that rejects may still have taken effect.
 */

import { dirname, resolve } from 'node:path';
import { systemMemory } from '../base/system.ts';
import { MAX_COMMIT_BYTES } from './format.ts';

export interface Disk {
  /**
   * Opens a regular file, and rejects if something else is at the path: no symbolic link is
   * followed. `read` opens it for reading, `edit` for changes in its place. `create` makes a new
   * file, and rejects if the path exists.
   */
  open(
    path: string,
    how: 'read' | 'edit' | 'create',
    attributes?: FileAttributes,
  ): Promise<DiskFile>;

  /**
   * Returns what is at the path, such as a symbolic link itself, or undefined if nothing is. It is
   * synchronous.
   */
  stat(path: string): FileStat | undefined;

  /** Resolves with the path with every symbolic link followed; its last name need not exist. */
  resolve(path: string): Promise<string>;

  /** Makes the folder and its missing parents. */
  makeDirectory(path: string): Promise<void>;

  rename(from: string, to: string): Promise<void>;

  /** Gives the file a second name, which must not exist yet. Not every file system can. */
  link(from: string, to: string): Promise<void>;

  /** Removes the file, if it exists. */
  remove(path: string): Promise<void>;

  /**
   * Makes durable which files and folders were made, renamed and removed in the folder. Resolves
   * with false if this system cannot do that.
   */
  syncDirectory(path: string): Promise<boolean>;

  /** The names in a folder. */
  list(path: string): Promise<readonly string[]>;

  /** Resolves with the free bytes of the file system. Rejects if it does not report them. */
  freeBytes(path: string): Promise<number>;

  /**
   * On Windows, where a locked file cannot be read: locks a file beside it, which is made if it
   * does not exist. Rejects if another process has it.
   */
  lockBeside?(path: string): Promise<Pick<DiskFile, 'close'>>;
}

/** Mode and owner of a new file. */
export interface FileAttributes {
  /** The permission bits; by default for its owner only. */
  readonly mode?: number | undefined;
  /** The owner. It is set only if the process runs as root. */
  readonly owner?: FileStat['owner'] | undefined;
}

export interface DiskFile {
  /** Fills the buffer or a part. Resolves with how many bytes, which is 0 at the file's end. */
  read(bytes: Buffer, position: number): Promise<number>;

  /** Writes some of the bytes, and resolves with how many. */
  write(bytes: Buffer, position: number): Promise<number>;

  /** Like `write`, but synchronous, for a commit, which only goes to the page cache. */
  writeNow(bytes: Buffer, position: number): number;

  /** Like `read`, but synchronous, for the few bytes before a commit. */
  readNow(bytes: Buffer, position: number): number;

  /** Makes the content durable. After a failure this process must not call it for this file. */
  sync(): Promise<void>;

  truncate(length: number): Promise<void>;

  /** Tells the file that it was renamed, so that its errors name the file that is there. */
  renamed?(path: string): void;

  /** Returns the open file's state, though it may have no name any more. */
  stat(): FileStat;

  /**
   * Takes the lock of the file, which ends with the process, or when the file is closed. Resolves
   * with false if another process has it: `exclusive` beside any other lock, `shared` beside an
   * exclusive one. Rejects if there is no way to lock, or if a lock keeps no process away.
   */
  lock(how: 'exclusive' | 'shared'): Promise<boolean>;

  close(): Promise<void>;
}

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'symbolic link' | 'special file';
  readonly sizeBytes: number;
  /** The permission bits, without set-user-id: a new file must not get that. */
  readonly mode: number;
  readonly owner: { readonly user: number; readonly group: number };
  /** Which file it is: the device and the number on it. */
  readonly device: bigint;
  readonly inode: bigint;
  /** How many names lead to it. */
  readonly links: number;
  /** When its content last changed, in nanoseconds. */
  readonly changedAt: bigint;
}

/**
 * True if both are the same file. The system does not report that a file was removed or replaced:
 * the store asks with `stat`, which takes microseconds, and compares. While a process has a file
 * open, its inode number is not reused.
 */
export function isSameFile(one: FileStat | undefined, other: FileStat | undefined): boolean {
  return one !== undefined && one.device === other?.device && one.inode === other.inode;
}

/** Throws if something else than a regular file is at the path. */
export function assertRegular(path: string, entry: FileStat | undefined): void {
  if (entry === undefined || entry.kind === 'file') return;
  throw new Error(`${path} is a ${entry.kind}, not a regular file`);
}

/** Returns the mode and owner for a new file at the path, or else only the owner of its folder. */
export function attributesOf(disk: Disk, path: string): FileAttributes {
  const old = disk.stat(path);
  return { mode: old?.mode, owner: old?.owner ?? disk.stat(dirname(path))?.owner };
}

/** Writes all bytes, in as many writes as the disk needs. */
export async function writeAll(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const count = await file.write(bytes.subarray(at), position + at);
    // Some file systems report neither progress nor an error.
    if (count === 0) throw new Error('The file system wrote nothing, and reported no error');
    at += count;
  }
}

/** Fills the buffer from the file. */
export async function readAll(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < bytes.length;) {
    const count = await file.read(bytes.subarray(filled), position + filled);
    if (count === 0) throw new Error('The file is shorter than it was');
    filled += count;
  }
}

/** The bytes that a reader has left unread. */
interface Unread {
  readonly bytes: Buffer;
  /** The position of bytes[0] in the file. */
  readonly position: number;
  /** True if the part ends with them. */
  readonly atEnd: boolean;
}

/** A window's first length. Its text is in the young part of V8's heap, and is freed early. */
const WINDOW_BYTES: number = 1 << 16;

/**
 * Reads the items of a part of a file. `read` gets the next bytes and their position, reads the
 * items with which they begin, and returns how many bytes it has read. The window grows until it
 * holds a complete item, which is at most as long as a commit: gigabytes without an item's end may
 * follow a damaged byte. Resolves with what is left when no item can be read.
 */
export async function readItems(
  file: Pick<DiskFile, 'read'>,
  start: number,
  end: number,
  read: (bytes: Buffer, position: number) => number,
): Promise<Unread> {
  let window = systemMemory.bytes(WINDOW_BYTES);
  let bytes = window.subarray(0, 0);
  let position = start;
  let atEnd = false;
  for (;;) {
    const used = read(bytes, position);
    const isLast = atEnd || bytes.length >= MAX_COMMIT_BYTES;
    if (used === 0 && isLast) return { bytes, position, atEnd };
    position += used;
    const rest = bytes.subarray(used);
    let { length } = rest;
    if (length === window.length)
      window = systemMemory.bytes(Math.min(2 * length, MAX_COMMIT_BYTES + 1));
    rest.copy(window);
    while (length < window.length && !atEnd) {
      const free = window.subarray(length, end - position);
      const count = free.length === 0 ? 0 : await file.read(free, position + length);
      atEnd = count === 0;
      length += count;
    }
    bytes = window.subarray(0, length);
  }
}

/**
 * Makes the names of a file and of all folders in its path durable: they may have been made a
 * moment ago, or by a process that was killed before this step. A folder without read access is
 * skipped: this store did not make it. Resolves with false if the file's folder cannot be synced.
 */
export async function syncFolders(disk: Disk, path: string): Promise<boolean> {
  const isSynced = await disk.syncDirectory(dirname(path));
  for (let folder = dirname(resolve(path)); folder !== dirname(folder); folder = dirname(folder)) {
    await disk.syncDirectory(dirname(folder)).catch((error: unknown) => {
      if (!['EACCES', 'EPERM'].includes(codeOf(error))) throw error;
    });
  }
  return isSynced;
}

/** Opens a file for reading, calls `work` with it, and closes it. Ignores an error of the close. */
export async function withFile<T>(
  disk: Disk,
  path: string,
  work: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await disk.open(path, 'read');
  try {
    return await work(file);
  } finally {
    await file.close().catch(() => undefined);
  }
}

/** True if no process has locked the file. */
export async function isUnlocked(disk: Disk, path: string): Promise<boolean> {
  return withFile(disk, path, (file) => file.lock('shared'));
}

/** Returns what the system says, or `unknown` if it does not say. */
export function saidOr<T>(unknown: T, ask: () => T): T {
  try {
    return ask();
  } catch {
    return unknown;
  }
}

/** Returns the system's code of an error, such as ENOENT, or ''. */
export function codeOf(error: unknown): string {
  return String((Object(error) as NodeJS.ErrnoException).code ?? '');
}
