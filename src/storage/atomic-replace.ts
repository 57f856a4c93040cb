/**
 * Atomic replace: a file's new content in full or its old one, whatever happens in between.
 *
 * Write a second file, sync it, rename it over the first, sync the directory. The order is all: a
 * rename before the sync may leave an empty file after a power cut, and without the last step the
 * rename itself may be undone.
 */

import { dirname } from 'node:path';
import type { Disk } from './disk.ts';
import { writeAll } from './write-all.ts';

/**
 * Replaces the file at `path`, by way of the file at `tmpPath` in the same directory, and returns
 * how many bytes it has.
 *
 * When it rejects, either file may be the one at `path`, each whole; nothing is left at `tmpPath`.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  tmpPath: string,
  chunks: Iterable<Buffer>,
): Promise<number> {
  const old = await disk.stat(path);
  await disk.remove(tmpPath);
  let sizeBytes: number;
  try {
    sizeBytes = await writeFile(disk, tmpPath, chunks, old?.mode);
    await disk.rename(tmpPath, path);
  } catch (error) {
    await disk.remove(tmpPath).catch(() => undefined);
    throw error;
  }
  await disk.syncDirectory(dirname(path));
  return sizeBytes;
}

async function writeFile(
  disk: Disk,
  path: string,
  chunks: Iterable<Buffer>,
  mode: number | undefined,
): Promise<number> {
  const file = await disk.open(path, 'create', mode);
  try {
    let position = 0;
    for (const chunk of chunks) {
      await writeAll(file, chunk, position);
      position += chunk.length;
    }
    await file.sync();
    return position;
  } finally {
    await file.close();
  }
}
