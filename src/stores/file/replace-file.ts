/**
 * Atomic replace: a file's new content in full or its old one, whatever happens in between.
 *
 * Write a second file, sync it, rename it over the first, sync the directory. The order matters: a
 * rename before the sync may leave an empty file after a power failure, and without the last step,
 * which is the caller's, the rename itself may be lost.
 */

import type { Disk, FileStat, DiskFile, FileAttributes } from './disk.ts';
import { pathState } from './path-state.ts';

export interface Replacement {
  readonly disk: Disk;
  readonly path: string;
  /** In the same directory. */
  readonly tmpPath: string;
  readonly attributes: FileAttributes;
  /** Called before each step that would harm a file that is not ours; throws when one is not. */
  assertOwned(): void;
  /** Called with the new file, complete and synced, right before its rename. */
  beforeRename?: ((file: DiskFile) => void) | undefined;
}

/**
 * Replaces the file, and returns the new one, open, for the caller to close. When it rejects, the
 * old one has its name, and nothing is at `tmpPath` where that could be removed.
 */
export async function replaceFile(
  { disk, path, tmpPath, attributes, assertOwned, beforeRename }: Replacement,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<DiskFile> {
  assertOwned();
  await removeFile(disk, tmpPath);
  const file = await disk.open(tmpPath, 'create', attributes);
  const entry = file.stat();
  try {
    let position = 0;
    for await (const chunk of chunks) {
      await writeAll(file, chunk, position);
      position += chunk.length;
    }
    await file.sync();
    assertOwned();
    beforeRename?.(file);
    await renameFile(disk, tmpPath, path, entry);
    return file;
  } catch (error) {
    await file.close().catch(() => undefined);
    await removeOwn(disk, tmpPath, entry).catch(() => undefined);
    throw error;
  }
}

/** Removes the file if it is still the one at its path. */
export async function removeOwn(disk: Disk, path: string, entry: FileStat): Promise<void> {
  if (pathState(disk, path, entry) === 'same') await disk.remove(path);
}

/** Writes all of the bytes, however few the disk takes at a time. */
export async function writeAll(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += checkWritten(await file.write(bytes, at, position + at));
  }
}

/** Some file systems report that they have written nothing, and no error: again, and forever. */
export function checkWritten(count: number): number {
  if (count > 0) return count;
  throw new Error('The file system wrote nothing, and reported no error');
}

/** A rename that reports failure may have taken effect: what counts is what is there. */
export async function renameFile(
  disk: Disk,
  from: string,
  to: string,
  entry: FileStat,
): Promise<void> {
  try {
    await disk.rename(from, to);
  } catch (error) {
    if (pathState(disk, to, entry) !== 'same') throw error;
  }
}

/** Removes a file; rejects only when it is still there. */
export async function removeFile(disk: Disk, path: string): Promise<void> {
  try {
    await disk.remove(path);
  } catch (error) {
    if (disk.stat(path) !== undefined) throw error;
  }
}
