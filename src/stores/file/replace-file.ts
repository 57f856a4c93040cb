/**
 * Atomic replace: after a crash at any point a file has either its old content or its new one.
 *
 * Write a second file, sync it, rename it over the first, sync the folder. The order matters: a
 * rename before the sync may leave an empty file after a power failure. Without the last step,
 * which is left to the caller, the rename itself may be lost.
 */

import { dirname } from 'node:path';
import type { Disk, FileStat, DiskFile, FileAttributes } from './disk.ts';

export interface Replacement {
  readonly disk: Disk;
  readonly path: string;
  /** In the same folder. */
  readonly tmpPath: string;
  readonly attributes: FileAttributes;
  /** Called before each step that changes a path. Throws if the path may belong to others. */
  assertOwned(): void;
}

/**
 * Replaces the file, and resolves with the new one, which the caller has to close. If it rejects,
 * it has tried to remove the file at `tmpPath`, and the old file is still at `path`, unless the
 * rename itself failed and it is unknown whether it took effect.
 */
export async function replaceFile(
  { disk, path, tmpPath, attributes, assertOwned }: Replacement,
  chunks: Iterable<Buffer>,
): Promise<DiskFile> {
  assertOwned();
  const file = await disk.open(tmpPath, 'create', attributes);
  const entry = file.stat();
  try {
    let position = 0;
    for (const chunk of chunks) {
      await writeAll(file, chunk, position);
      position += chunk.length;
    }
    await file.sync();
    assertOwned();
    await renameFile(disk, tmpPath, path, entry);
    return file;
  } catch (error) {
    await file.close().catch(() => undefined);
    await removeOwn(disk, tmpPath, entry).catch(() => undefined);
    throw error;
  }
}

/** Returns the mode and owner of the file at the path, or else only the owner of its folder. */
export function attributesOf(disk: Disk, path: string): FileAttributes {
  const old = disk.stat(path);
  return { mode: old?.mode, owner: old?.owner ?? disk.stat(dirname(path))?.owner };
}

/** Writes all bytes, in as many writes as the disk needs. */
export async function writeAll(
  file: DiskFile,
  bytes: Buffer,
  position: number,
  write: 'write' | 'writeNow' = 'write',
): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const count = await file[write](bytes, at, position + at);
    // Some file systems report neither progress nor an error.
    if (count === 0) throw new Error('The file system wrote nothing, and reported no error');
    at += count;
  }
}

/** Removes the file if it is still the one at its path. */
async function removeOwn(disk: Disk, path: string, entry: FileStat): Promise<void> {
  if (isSameFile(disk.stat(path), entry)) await disk.remove(path);
}

/** Renames the file. A rename that reports failure may have taken effect: the path decides. */
async function renameFile(disk: Disk, from: string, to: string, entry: FileStat): Promise<void> {
  try {
    await disk.rename(from, to);
  } catch (error) {
    if (!isSameFile(disk.stat(to), entry)) throw error;
  }
}

/** Removes a file. Rejects only if it still exists. */
export async function removeFile(disk: Disk, path: string): Promise<void> {
  try {
    await disk.remove(path);
  } catch (error) {
    if (disk.stat(path) !== undefined) throw error;
  }
}

/**
 * True if both are the same file. The system does not report that a file was removed or replaced:
 * the store asks with `stat`, which takes microseconds, and compares. While a process has a file
 * open, its inode number is not reused. A backup may have given the file more links.
 */
export function isSameFile(one: FileStat | undefined, other: FileStat): boolean {
  return one?.device === other.device && one.number === other.number;
}

/** True if both are the same file with the same content, as far as size and time show. */
export function isUnchanged(one: FileStat | undefined, other: FileStat): boolean {
  const isSame = isSameFile(one, other) && one?.sizeBytes === other.sizeBytes;
  return isSame && one.changedAt === other.changedAt;
}
