/**
 * Reading a file from its start, in pieces of a megabyte: to copy it, or for its CRC. What is at a
 * path is checked first: a folder, or a symbolic link that leads nowhere, is no file.
 */

import zlib from 'node:zlib';
import type { Memory } from '../../base/memory.ts';
import type { Disk, FileStat, DiskFile } from './disk.ts';

/** What is at the path, undefined when nothing is; throws when it is no file. */
export function fileAt(disk: Disk, path: string): FileStat | undefined {
  const entry = disk.stat(path);
  if (entry !== undefined && !entry.isFile) throw new Error(`${path} is not a file`);
  return entry;
}

/** Opens a file for reading, calls `work`, and closes it. An error of the close is ignored. */
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

/** Fills the buffer from the file. */
export async function readAll(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < bytes.length;) {
    const count = await file.read(bytes, filled, bytes.length - filled, position + filled);
    if (count === 0) throw new Error('The file is shorter than it was');
    filled += count;
  }
}

/** The first `lengthBytes` bytes of a file; each chunk is valid until the next. */
export async function* chunksOf(
  file: DiskFile,
  lengthBytes: number,
  memory: Memory,
): AsyncGenerator<Buffer> {
  const bytes = memory.bytes(Math.min(lengthBytes, 1 << 20));
  for (let at = 0; at < lengthBytes;) {
    const count = await file.read(bytes, 0, Math.min(bytes.length, lengthBytes - at), at);
    if (count === 0) throw new Error('The file is shorter than it was');
    yield bytes.subarray(0, count);
    at += count;
  }
}

/** The CRC-32 of the first `lengthBytes` bytes of a file. */
export async function crcOf(file: DiskFile, lengthBytes: number, memory: Memory): Promise<number> {
  let crc = 0;
  for await (const chunk of chunksOf(file, lengthBytes, memory)) crc = zlib.crc32(chunk, crc);
  return crc;
}
