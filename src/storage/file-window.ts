/**
 * A window that moves over a file of any size: what both readers, of the snapshot and of the
 * journal, read through. It holds a whole item, however long, because it grows by what it reads on.
 *
 * While the window is looked at, the next chunk is read into another buffer, behind some room for
 * what will be left over from this one: so the disk works while the processor does, and what is
 * read is not copied.
 */

import { isUtf8 } from 'node:buffer';
import type { DiskFile } from './disk.ts';

export class FileWindow {
  readonly #file: DiskFile;
  readonly #chunkBytes: number;
  #readPosition = 0;
  #ahead: Promise<Chunk> | undefined;
  #buffer: Buffer = EMPTY;
  /** What is in the window. It changes with every `fill`. */
  bytes: Buffer = EMPTY;
  /** The place of bytes[0] in the file. */
  position = 0;
  /** True when the file ends where the window does. */
  atEnd = false;

  constructor(file: DiskFile, chunkBytes: number = 1 << 20) {
    this.#file = file;
    this.#chunkBytes = chunkBytes;
  }

  /** Drops the first `used` bytes and takes in the next chunk, if there is one. */
  async fill(used: number): Promise<void> {
    const rest = this.bytes.subarray(used);
    this.position += used;
    this.bytes = rest;
    if (this.atEnd) return;
    const { buffer, length, isLast } = await (this.#ahead ?? this.#read(EMPTY, 0));
    const start = ROOM_BYTES - rest.length;
    if (start >= 0) {
      rest.copy(buffer, start);
      this.bytes = buffer.subarray(start, ROOM_BYTES + length);
    } else {
      this.bytes = Buffer.concat([rest, buffer.subarray(ROOM_BYTES, ROOM_BYTES + length)]);
    }
    this.atEnd = isLast;
    const free = this.#buffer;
    this.#buffer = buffer;
    // Twice as much for an item that does not fit: so a long one is not copied over and over.
    if (!isLast) this.#readAhead(free, start >= 0 ? 0 : this.bytes.length);
  }

  #readAhead(buffer: Buffer, least: number): void {
    this.#ahead = this.#read(buffer, least);
    // It may never be waited for, if what is in the window is refused.
    this.#ahead.catch(() => undefined);
  }

  /** Reads a chunk of the usual length, or `least` bytes, into the buffer or a larger one. */
  async #read(free: Buffer, least: number): Promise<Chunk> {
    const size = ROOM_BYTES + Math.max(this.#chunkBytes, least);
    const buffer = free.length === size ? free : Buffer.allocUnsafeSlow(size);
    for (let at = ROOM_BYTES; at < size;) {
      const count = await this.#file.read(buffer, at, size - at, this.#readPosition);
      if (count === 0) return { buffer, length: at - ROOM_BYTES, isLast: true };
      this.#readPosition += count;
      at += count;
    }
    return { buffer, length: size - ROOM_BYTES, isLast: false };
  }
}

interface Chunk {
  readonly buffer: Buffer;
  /** How many bytes were read, behind the room. */
  readonly length: number;
  readonly isLast: boolean;
}

const EMPTY: Buffer = Buffer.alloc(0);

/** Room before a chunk for what is left of the one before: hardly ever more than one pet. */
const ROOM_BYTES: number = 64 << 10;

/** The offset of the first byte that is not UTF-8; undefined when all are. */
export function findInvalidUtf8(bytes: Buffer): number | undefined {
  if (isUtf8(bytes)) return undefined;
  // Decoding puts U+FFFD in the place of what is broken, so the first difference is the place.
  const decoded = Buffer.from(bytes.toString('utf8'));
  let offset = 0;
  while (bytes[offset] === decoded[offset]) offset += 1;
  // U+FFFD itself begins with a byte that the broken character may have begun with.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  return offset;
}
