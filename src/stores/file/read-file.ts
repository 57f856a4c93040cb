/**
 * Reading files: a file for one task, a window that moves over a file of any size, and the error
 * for a file that is not what the store wrote.
 */

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

/** Resolves with the CRC-32 of the first `lengthBytes` bytes of a file. */
export async function crcOf(file: DiskFile, lengthBytes: number, memory: Memory): Promise<number> {
  const bytes = memory.bytes(Math.min(lengthBytes, 1 << 20));
  let crc = 0;
  for (let at = 0; at < lengthBytes; at += bytes.length) {
    const chunk = bytes.subarray(0, lengthBytes - at);
    await readAll(file, chunk, at);
    crc = zlib.crc32(chunk, crc);
  }
  return crc;
}

/**
 * A window that moves over a file, for the readers of the snapshot and of the journal. It grows
 * until it holds a complete item. The growth is limited, since gigabytes without an item's end may
 * follow a damaged byte.
 */
export class FileWindow {
  readonly #file: DiskFile;
  readonly #memory: Memory;
  readonly #maxBytes: number;
  #buffer: Buffer;
  /** The window's content. It changes with every `fill`. */
  bytes: Buffer;
  /** The position of bytes[0] in the file. */
  position = 0;
  /** True if the file ends at the window's end. */
  atEnd = false;

  /** `maxBytes` is the length of the longest item. */
  constructor(file: DiskFile, memory: Memory, maxBytes: number) {
    this.#file = file;
    this.#memory = memory;
    this.#maxBytes = Math.max(maxBytes, INITIAL_BYTES);
    this.#buffer = memory.bytes(INITIAL_BYTES);
    this.bytes = this.#buffer.subarray(0, 0);
  }

  /** True if it is as long as the longest item. */
  get isFull(): boolean {
    return this.bytes.length >= this.#maxBytes;
  }

  /** Drops the first `used` bytes, and fills the rest of the window from the file. */
  async fill(used: number): Promise<void> {
    const rest = this.bytes.subarray(used);
    const hasNoRoom = used === 0 && rest.length === this.#buffer.length;
    if (hasNoRoom) this.#buffer = this.#memory.bytes(Math.min(2 * rest.length, this.#maxBytes + 1));
    rest.copy(this.#buffer, 0);
    this.position += used;
    let filled = rest.length;
    while (filled < this.#buffer.length && !this.atEnd) {
      const room = this.#buffer.length - filled;
      const count = await this.#file.read(this.#buffer, filled, room, this.position + filled);
      this.atEnd = count === 0;
      filled += count;
    }
    this.bytes = this.#buffer.subarray(0, filled);
  }
}

const INITIAL_BYTES: number = 1 << 19;

/** A file is not what the store wrote. The store refuses it, and does not change it. */
export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';
  /** `offset` is that of the damaged byte, if it is known. */
  constructor(path: string, complaint: string, offset?: number) {
    const byte = offset === undefined ? '' : ` at byte ${offset}`;
    super(`${path} is damaged${byte}: ${complaint}. It was left as it is. ${ADVICE}`);
  }
}

const ADVICE =
  'Put back the data file and its journal from one backup; or move the damaged file away, as evidence';
