/**
 * The ids in memory, as ranges of consecutive ids. Nearly always the ids of all pets are one range.
 */

import type { Memory } from '../../base/memory.ts';
import { Column } from './column.ts';

/** Holds two numbers for each range: its first id, and the index of that id. */
export class IdRanges {
  readonly #firstIds: Column<BigInt64Array>;
  readonly #firstIndexes: Column<Uint32Array>;
  /** The number of ids. */
  length = 0;
  /** The greatest id as a number, exact if it has at most 53 bits. */
  #lastNumber = 0;

  constructor(memory: Memory) {
    this.#firstIds = new Column((length) => memory.int64s(length));
    this.#firstIndexes = new Column((length) => memory.uint32s(length));
  }

  /** The greatest id, 0 if there are no ids. */
  get last(): bigint {
    if (this.length === 0) return 0n;
    const range = this.#firstIds.length - 1;
    return this.#firstIds.at(range) + BigInt(this.length - 1 - this.#firstIndexes.at(range));
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
    this.#lastNumber = Number(id);
  }

  /** The fast path of `push`, without a bigint, for an id of at most 53 bits. */
  pushNumber(id: number): void {
    if (id === this.#lastNumber + 1 && this.length > 0) {
      this.length += 1;
      this.#lastNumber = id;
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
    const range = this.#rangeOf(id);
    if (range < 0) return undefined;
    const index = this.#positionIn(range, id);
    return index < this.#endOf(range) ? index : undefined;
  }

  /** How many ids are `id` or less, that is, the index of the first greater id. */
  countUpTo(id: bigint): number {
    const range = this.#rangeOf(id);
    return range < 0 ? 0 : Math.min(this.#positionIn(range, id) + 1, this.#endOf(range));
  }

  /** Returns the number of the last range that begins with `id` or a smaller id, or -1. */
  #rangeOf(id: bigint): number {
    return this.#firstIds.countBelow(id + 1n) - 1;
  }

  /** Returns the index of the id. If the range ends before the id, the result is past its end. */
  #positionIn(range: number, id: bigint): number {
    return this.#firstIndexes.at(range) + Number(id - this.#firstIds.at(range));
  }

  /** Returns the index after the last one of the range. */
  #endOf(range: number): number {
    return range + 1 < this.#firstIndexes.length ? this.#firstIndexes.at(range + 1) : this.length;
  }
}
