/**
 * Reads a file of any size through a window that moves over it.
 */

import type { Memory } from '../../base/system.ts';
import type { DiskFile } from './disk.ts';

/** At first. A text of this length is in the young part of V8's heap, and is freed early. */
const WINDOW_BYTES: number = 1 << 16;

/** The bytes that a reader has left unread. */
export interface Unread {
  readonly bytes: Buffer;
  /** The position of bytes[0] in the file. */
  readonly position: number;
  /** True if the file ends with them. */
  readonly atEnd: boolean;
}

/** A part of a file: from a position up to an end. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads the items of a part of a file. `read` gets the next bytes and their position, reads the
 * items with which they begin, and returns how many bytes it has read. The window grows until it
 * holds a complete item of at most `maxBytes`: gigabytes without an item's end may follow a damaged
 * byte. Resolves with what is left when no item can be read.
 */
export async function readItems(
  file: Pick<DiskFile, 'read'>,
  { start, end }: Range,
  memory: Memory,
  maxBytes: number,
  read: (bytes: Buffer, position: number) => number,
): Promise<Unread> {
  let window = memory.bytes(WINDOW_BYTES);
  let bytes = window.subarray(0, 0);
  let position = start;
  let atEnd = false;
  for (;;) {
    const used = read(bytes, position);
    if (used === 0 && (atEnd || bytes.length >= maxBytes)) return { bytes, position, atEnd };
    position += used;
    const rest = bytes.subarray(used);
    let { length } = rest;
    if (length === window.length) window = memory.bytes(Math.min(2 * length, maxBytes + 1));
    rest.copy(window);
    while (length < window.length && !atEnd) {
      const most = Math.min(window.length - length, end - position - length);
      const count = most === 0 ? 0 : await file.read(window, length, most, position + length);
      atEnd = count === 0;
      length += count;
    }
    bytes = window.subarray(0, length);
  }
}
