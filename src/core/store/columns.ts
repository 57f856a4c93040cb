/**
 * The columns of the table of pets: millions of numbers, at 4 or 8 bytes each, and the ids, which
 * are nearly always one range.
 */

import type { Memory } from '../base/system.ts';

/** A column of numbers, in blocks: what has been added is never copied again. */
export class Column<A extends Uint32Array | BigInt64Array> {
  readonly #allocate: (length: number) => A;
  readonly #blocks: A[] = [];
  length = 0;

  constructor(allocate: (length: number) => A) {
    this.#allocate = allocate;
  }

  /** Makes room for `count` more values, so that adding them cannot fail. */
  reserve(count: number): void {
    const needed = this.length + count;
    while (this.#blocks.length * BLOCK_LENGTH < needed) {
      this.#blocks.push(this.#allocate(BLOCK_LENGTH));
    }
  }

  push(value: A[number]): void {
    const offset = this.length & OFFSET_MASK;
    if (offset === 0) this.reserve(1);
    this.#blocks[this.length >>> BLOCK_BITS]![offset] = value;
    this.length += 1;
  }

  at(index: number): A[number] {
    return this.#blocks[index >>> BLOCK_BITS]![index & OFFSET_MASK]!;
  }

  /** Returns how many values are less than `bound`, by binary search. They must be ascending. */
  countBelow(bound: A[number]): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle) < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const BLOCK_BITS = 13;
const BLOCK_LENGTH: number = 1 << BLOCK_BITS;
const OFFSET_MASK: number = BLOCK_LENGTH - 1;

/**
 * The ids, as ranges of consecutive ids: two numbers for each range, its first id, and the index of
 * that id.
 */
export class IdRanges {
  readonly #firstIds: Column<BigInt64Array>;
  readonly #firstIndexes: Column<Uint32Array>;
  /** The number of ids. */
  length = 0;
  /** The greatest id as a number, exact if it has at most 53 bits. */
  lastNumber = 0;

  constructor(memory: Memory) {
    this.#firstIds = new Column((length) => memory.int64s(length));
    this.#firstIndexes = new Column((length) => memory.uint32s(length));
  }

  /** The greatest id, 0 if there are no ids. */
  get last(): bigint {
    return this.length === 0 ? 0n : this.at(this.length - 1);
  }

  /** Makes room for more ranges. */
  reserve(ranges: number): void {
    this.#firstIds.reserve(ranges);
    this.#firstIndexes.reserve(ranges);
  }

  push(id: bigint): void {
    if (id !== this.last + 1n || this.length === 0) {
      this.#firstIds.push(id);
      this.#firstIndexes.push(this.length);
    }
    this.length += 1;
    this.lastNumber = Number(id);
  }

  /** The fast path of `push`, without a bigint, for an id of at most 53 bits. */
  pushNumber(id: number): void {
    if (id === this.lastNumber + 1 && this.length > 0) {
      this.length += 1;
      this.lastNumber = id;
    } else {
      this.push(BigInt(id));
    }
  }

  at(index: number): bigint {
    const range = this.#firstIndexes.countBelow(index + 1) - 1;
    return this.#firstIds.at(range) + BigInt(index - this.#firstIndexes.at(range));
  }

  /** Returns the index of the id, or undefined if there is no such id. */
  indexOf(id: bigint): number | undefined {
    const index = this.countUpTo(id) - 1;
    return index >= 0 && this.at(index) === id ? index : undefined;
  }

  /** How many ids are `id` or less, that is, the index of the first greater id. */
  countUpTo(id: bigint): number {
    const ranges = this.#firstIds.countBelow(id + 1n);
    if (ranges === 0) return 0;
    // The last range that begins with `id` or a smaller id may end before it.
    const end = ranges < this.#firstIndexes.length ? this.#firstIndexes.at(ranges) : this.length;
    const range = ranges - 1;
    const distance = Number(id - this.#firstIds.at(range));
    return Math.min(this.#firstIndexes.at(range) + distance + 1, end);
  }
}
