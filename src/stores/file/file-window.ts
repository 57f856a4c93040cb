/**
 * A window that moves over a file of any size, for the readers of the snapshot and of the journal.
 * It grows until it holds a complete item. The growth is limited, since gigabytes without an item's
 * end may follow a damaged byte.
 */

import type { Memory } from '../../base/memory.ts';
import type { DiskFile } from './disk.ts';

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
