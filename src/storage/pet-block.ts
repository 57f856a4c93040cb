/**
 * A block of the pets in memory: their texts behind each other, in the layout of the data file.
 *
 *     {"id":1,…},␊{"id":2,…},␊{"id":3,…},␊
 *     ^offsets[0] ^offsets[1] ^offsets[2] ^offsets[3]
 */

import { bytesToString, type ByteString } from '../base/byte-string.ts';
import { PET_SEPARATOR, type EncodedPet } from '../model/encoded-pet.ts';

export const SEPARATOR: Buffer = Buffer.from(PET_SEPARATOR);

/** Up to 1,024 pets. Bounded in bytes too, so that growing it never copies much. */
export class PetBlock {
  static readonly maxLength = 1024;
  static readonly maxBytes: number = 1 << 20;

  readonly firstIndex: number;
  length = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #offsets: Uint32Array = new Uint32Array(PetBlock.maxLength + 1);

  constructor(firstIndex: number) {
    this.firstIndex = firstIndex;
  }

  isFull(): boolean {
    return this.length === PetBlock.maxLength || this.#offsets[this.length]! >= PetBlock.maxBytes;
  }

  append(pet: EncodedPet): void {
    const start = this.#offsets[this.length]!;
    const end = start + pet.length + SEPARATOR.length;
    this.#reserve(end, 1);
    this.#bytes.write(pet, start, 'latin1');
    SEPARATOR.copy(this.#bytes, end - SEPARATOR.length);
    this.length += 1;
    this.#offsets[this.length] = end;
  }

  /** Adds `count` pets: the first begins at `start`, and each ends where `ends` says. */
  appendRun(source: Buffer, start: number, ends: Uint32Array, count: number): void {
    const at = this.#offsets[this.length]!;
    const shift = at - start + SEPARATOR.length;
    const end = ends[count - 1]! + shift;
    this.#reserve(end, count);
    source.copy(this.#bytes, at, start, ends[count - 1]!);
    SEPARATOR.copy(this.#bytes, end - SEPARATOR.length);
    for (let i = 0; i < count; i += 1) {
      this.length += 1;
      this.#offsets[this.length] = ends[i]! + shift;
    }
  }

  /** The pets from one index of the table up to another, with separators between them only. */
  text(from: number, to: number): ByteString {
    const start = this.#offsets[from - this.firstIndex]!;
    const end = this.#offsets[to - this.firstIndex]! - SEPARATOR.length;
    return bytesToString(this.#bytes, start, end);
  }

  /**
   * The bytes of all its pets, with separators between them only. A view: it must not be written
   * to.
   */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#offsets[this.length]! - SEPARATOR.length);
  }

  /** Gives back the room that was kept for growing. */
  trim(): void {
    this.#resize(this.#offsets[this.length]!);
    if (this.length < PetBlock.maxLength) this.#offsets = this.#offsets.slice(0, this.length + 1);
  }

  /** Makes room for the bytes up to `end`, which are those of `count` more pets. */
  #reserve(end: number, count: number): void {
    if (end <= this.#bytes.length) return;
    // A block that is full with them needs no room to grow.
    const isLast = this.length + count === PetBlock.maxLength;
    this.#resize(isLast ? end : Math.max(2 * end, 4096));
  }

  #resize(size: number): void {
    if (size === this.#bytes.length) return;
    // allocUnsafeSlow: a block must not hold on to Node's shared pool.
    const bytes = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(bytes, 0, 0, Math.min(size, this.#bytes.length));
    this.#bytes = bytes;
  }
}
