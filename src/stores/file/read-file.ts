/**
 * Reading files: a file for one task, the items of a file of any size, and the error for a file
 * that is not what the store wrote.
 */

import { isUtf8 } from 'node:buffer';
import zlib from 'node:zlib';
import type { Memory } from '../../base/system.ts';
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

/** Resolves with the first bytes of a file: all, unless it has more than `maxBytes`. */
export async function readStart(file: DiskFile, memory: Memory, maxBytes: number): Promise<Buffer> {
  const bytes = memory.bytes(Math.min(file.stat().sizeBytes, maxBytes));
  await readAll(file, bytes, 0);
  return bytes;
}

/** Resolves with the CRC-32 of the first `lengthBytes` bytes of a file. */
export async function crcOf(file: DiskFile, lengthBytes: number, memory: Memory): Promise<number> {
  const bytes = memory.bytes(Math.min(lengthBytes, WINDOW_BYTES));
  let crc = 0;
  for (let at = 0; at < lengthBytes; at += bytes.length) {
    const chunk = bytes.subarray(0, lengthBytes - at);
    await readAll(file, chunk, at);
    crc = zlib.crc32(chunk, crc);
  }
  return crc;
}

/** The bytes that a reader has left unread. */
export interface Unread {
  readonly bytes: Buffer;
  /** The position of bytes[0] in the file. */
  readonly position: number;
  /** True if the file ends with them. */
  readonly atEnd: boolean;
}

/**
 * Reads a file of any size through a window that moves over it. `read` gets the next bytes and
 * their position, reads the items with which they begin, and returns how many bytes it has read.
 * The window grows until it holds a complete item of at most `maxBytes`: gigabytes without an
 * item's end may follow a damaged byte. Resolves with what is left when no item can be read.
 */
export async function readItems(
  file: DiskFile,
  memory: Memory,
  maxBytes: number,
  read: (bytes: Buffer, position: number) => number,
): Promise<Unread> {
  let window = memory.bytes(WINDOW_BYTES);
  let bytes = window.subarray(0, 0);
  let [position, atEnd] = [0, false];
  for (;;) {
    const used = read(bytes, position);
    if (used === 0 && (atEnd || bytes.length >= maxBytes)) return { bytes, position, atEnd };
    position += used;
    const rest = bytes.subarray(used);
    let { length } = rest;
    if (length === window.length) window = memory.bytes(Math.min(2 * length, maxBytes + 1));
    rest.copy(window);
    while (length < window.length && !atEnd) {
      const count = await file.read(window, length, window.length - length, position + length);
      atEnd = count === 0;
      length += count;
    }
    bytes = window.subarray(0, length);
  }
}

/** At first. A text of this length is in the young part of V8's heap, and is freed early. */
const WINDOW_BYTES: number = 1 << 16;

/** A file is not what the store wrote. The store refuses it, and does not change it. */
export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';
  /** `offset` is that of the damaged byte, if it is known. */
  constructor(path: string, damage: string, offset?: number) {
    const byte = offset === undefined ? '' : ` at byte ${offset}`;
    super(`${path} is damaged${byte}: ${damage}. It was left as it is. ${ADVICE}`);
  }
}

const ADVICE =
  'Put back the data file and its journal from one backup; or move the damaged file away, as evidence';

/** Throws DamagedFileError if the bytes, which are at this position of the file, are not UTF-8. */
export function assertUtf8(path: string, bytes: Buffer, position: number): void {
  if (isUtf8(bytes)) return;
  // Decoding replaces each broken character with U+FFFD, so the first difference is the error.
  const decoded = Buffer.from(bytes.toString('utf8'));
  let offset = 0;
  while (bytes[offset] === decoded[offset]) offset += 1;
  // U+FFFD may begin with the same bytes as the broken character.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  throw new DamagedFileError(path, 'Not UTF-8', position + offset);
}
