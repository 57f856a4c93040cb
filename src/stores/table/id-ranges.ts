/**
 * The ids in memory, as runs of consecutive ones: they nearly always follow each other, so all of
 * them are one run, however many pets there are.
 */

import type { Memory } from '../../base/memory.ts';
import { Column } from './column.ts';

/** For each run, its first id and that id's index. */
export class IdRanges {
  readonly #firstIds: Column<BigInt64Array>;
  readonly #firstIndexes: Column<Uint32Array>;
  length = 0;
  /** The greatest id as a number, exact while it has no more than 53 bits. */
  #lastNumber = 0;

  constructor(memory: Memory) {
    this.#firstIds = new Column((length) => memory.int64s(length));
    this.#firstIndexes = new Column((length) => memory.uint32s(length));
  }

  get last(): bigint {
    if (this.length === 0) return 0n;
    const run = this.#firstIds.length - 1;
    return this.#firstIds.at(run) + BigInt(this.length - 1 - this.#firstIndexes.at(run));
  }

  /** Makes room for one more run. */
  reserve(): void {
    this.#firstIds.reserve(1);
    this.#firstIndexes.reserve(1);
  }

  push(id: bigint): void {
    if (id !== this.last + 1n || this.length === 0) {
      this.#firstIds.push(id);
      this.#firstIndexes.push(this.length);
    }
    this.length += 1;
    this.#lastNumber = Number(id);
  }

  /** `push` for an id of at most 53 bits: most ids come in here, and need no bigint. */
  pushNumber(id: number): void {
    if (id === this.#lastNumber + 1 && this.length > 0) {
      this.length += 1;
      this.#lastNumber = id;
    } else {
      this.push(BigInt(id));
    }
  }

  at(index: number): bigint {
    const run = this.#firstIndexes.countBelow(index + 1) - 1;
    return this.#firstIds.at(run) + BigInt(index - this.#firstIndexes.at(run));
  }

  /** The index of the id, undefined where there is no such id. */
  indexOf(id: bigint): number | undefined {
    const run = this.#runOf(id);
    if (run < 0) return undefined;
    const index = this.#positionIn(run, id);
    return index < this.#endOf(run) ? index : undefined;
  }

  /** How many ids are no greater than `id`: the index of the first that is. */
  countUpTo(id: bigint): number {
    const run = this.#runOf(id);
    return run < 0 ? 0 : Math.min(this.#positionIn(run, id) + 1, this.#endOf(run));
  }

  /** The last run that begins with `id` or before, -1 where there is none. */
  #runOf(id: bigint): number {
    return this.#firstIds.countBelow(id + 1n) - 1;
  }

  /** The index that the id has in the run if that is long enough. Not exact where it is not. */
  #positionIn(run: number, id: bigint): number {
    return this.#firstIndexes.at(run) + Number(id - this.#firstIds.at(run));
  }

  /** The index after the run's last. */
  #endOf(run: number): number {
    return run + 1 < this.#firstIndexes.length ? this.#firstIndexes.at(run + 1) : this.length;
  }
}
