/** Opens a file for one task, and reads files in chunks of a megabyte. */

import zlib from 'node:zlib';
import type { Memory } from '../../base/memory.ts';
import { assertRegular, type Disk, type FileStat, type DiskFile } from './disk.ts';

/** Returns the regular file at the path, or undefined if nothing is. Throws if it is no file. */
export function fileAt(disk: Disk, path: string): FileStat | undefined {
  const entry = disk.stat(path);
  assertRegular(path, entry);
  return entry;
}

/** Opens a file, calls `work` with it, and closes it. Ignores an error of the close. */
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

/** As `withFile`, or undefined if nothing is at the path. */
export async function withFileIfPresent<T>(
  disk: Disk,
  path: string,
  work: (file: DiskFile) => Promise<T>,
): Promise<T | undefined> {
  return fileAt(disk, path) === undefined ? undefined : withFile(disk, path, work);
}

/** Fills the buffer from the file. */
export async function readAll(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < bytes.length;) {
    const count = await file.read(bytes, filled, bytes.length - filled, position + filled);
    if (count === 0) throw new Error('The file is shorter than it was');
    filled += count;
  }
}

/** Yields the first `lengthBytes` bytes of a file; each chunk is valid until the next. */
export async function* chunksOf(
  file: DiskFile,
  lengthBytes: number,
  memory: Memory,
): AsyncGenerator<Buffer> {
  const bytes = memory.bytes(Math.min(lengthBytes, 1 << 20));
  for (let at = 0; at < lengthBytes; at += bytes.length) {
    const chunk = bytes.subarray(0, lengthBytes - at);
    await readAll(file, chunk, at);
    yield chunk;
  }
}

/** Resolves with the CRC-32 of the first `lengthBytes` bytes of a file. */
export async function crcOf(file: DiskFile, lengthBytes: number, memory: Memory): Promise<number> {
  let crc = 0;
  for await (const chunk of chunksOf(file, lengthBytes, memory)) crc = zlib.crc32(chunk, crc);
  return crc;
}
