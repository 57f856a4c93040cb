/**
 * The pets in memory, as bytes: what both stores answer reads from.
 *
 * Pets lie behind each other in blocks, in the layout of the data file, so that a page without a
 * filter is one slice of a block:
 *
 *     {"id":1,…},␊{"id":2,…},␊{"id":3,…},␊
 *     ^offsets[0] ^offsets[1] ^offsets[2] ^offsets[3]
 *
 * Beside its text a pet costs 4 bytes for its offset and 4 in the index of its status. Ids are kept
 * as runs, since they nearly always follow each other: one run, however many pets. Pets are only
 * ever added, in ascending order of id, which is what makes all this so simple.
 */

import type { PetRun } from '../model/pet-scanner.ts';
import { PET_STATUSES, type PetStatus } from '../model/pet.ts';
import type { PetCount, PetPage, PetQuery } from '../model/pet-store.ts';
import type { EncodedPet } from '../model/encoded-pet.ts';
import { PageCache } from './page-cache.ts';

export class PetTable {
  readonly #blocks: Block[] = [];
  readonly #blockStarts: Column<Uint32Array> = new Column(Uint32Array);
  readonly #runs: IdRuns = new IdRuns();
  readonly #byStatus: Readonly<Record<PetStatus, Column<Uint32Array>>> = {
    available: new Column(Uint32Array),
    pending: new Column(Uint32Array),
    sold: new Column(Uint32Array),
  };
  readonly #pages: Readonly<Record<PetStatus, PageCache>> = {
    available: new PageCache(),
    pending: new PageCache(),
    sold: new PageCache(),
  };

  get length(): number {
    return this.#runs.length;
  }

  /** The greatest id, 0 while there are no pets. */
  get lastId(): bigint {
    return this.#runs.last;
  }

  /** Adds the pet with the text source[start..end). Its id must be greater than `lastId`. */
  append(id: bigint, source: Buffer, start: number, end: number, status?: PetStatus): void {
    this.#openBlock().append(source, start, end);
    if (status !== undefined) this.#byStatus[status].push(this.length);
    this.#runs.push(id);
  }

  /** How many pets the last block has room for: runs of that length are added the fastest. */
  get room(): number {
    const last = this.#blocks.at(-1);
    return last === undefined || last.isFull() ? Block.maxLength : Block.maxLength - last.length;
  }

  /**
   * Adds pets that lie in `source` from `start` on, with the separator between them: the fast way
   * of `append`, which copies a block at a time. Their ids must be ascending, and greater than
   * `lastId`.
   */
  appendRun(source: Buffer, start: number, run: PetRun): void {
    for (let i = 0; i < run.length;) {
      const block = this.#openBlock();
      const count = Math.min(run.length - i, Block.maxLength - block.length);
      block.appendRun(source, start, run.ends, i, i + count);
      start = run.ends[i + count - 1]! + SEPARATOR.length;
      for (const stop = i + count; i < stop; i += 1) {
        const status = run.statuses[i];
        if (status !== undefined) this.#byStatus[status].push(this.length);
        this.#runs.pushNumber(run.ids[i]!);
      }
    }
  }

  get(id: bigint): EncodedPet | undefined {
    const index = this.#runs.countUpTo(id) - 1;
    if (index < 0 || this.#runs.at(index) !== id) return undefined;
    const block = this.#blockOf(index);
    return Buffer.from(block.slice(index, index + 1));
  }

  list({ limit, status, after }: PetQuery): PetPage {
    const from = after === undefined ? 0 : this.#runs.countUpTo(after);
    if (status !== undefined) return this.#listOfStatus(status, from, limit);
    const to = Math.min(from + limit, this.length);
    const next = to < this.length && to > from ? this.#runs.at(to - 1) : undefined;
    return { json: this.#join(from, to), next };
  }

  count(): PetCount {
    const entries = PET_STATUSES.map((status) => [status, this.#byStatus[status].length]);
    return { total: this.length, byStatus: Object.fromEntries(entries) as PetCount['byStatus'] };
  }

  /** The text of all pets in turn, without a separator at either end, as the data file has it. */
  *chunks(): Generator<Buffer> {
    yield* this.#slices(0, this.length);
  }

  #join(from: number, to: number): Buffer {
    if (from === to) return Buffer.from('[]');
    const block = this.#blockOf(from);
    // Most pages lie in one block.
    const isWithin = to <= block.firstIndex + block.length;
    return joinSlices(isWithin ? [block.slice(from, to)] : [...this.#slices(from, to)]);
  }

  #listOfStatus(status: PetStatus, from: number, limit: number): PetPage {
    const indexes = this.#byStatus[status];
    const first = indexes.countBelow(from);
    const cached = this.#pages[status].get(first, limit);
    if (cached !== undefined) return cached;
    const end = Math.min(first + limit, indexes.length);
    const slices: Buffer[] = [];
    for (let i = first; i < end; i += 1) {
      const index = indexes.at(i);
      slices.push(this.#blockOf(index).slice(index, index + 1));
    }
    const next = end < indexes.length ? this.#runs.at(indexes.at(end - 1)) : undefined;
    const page = { json: joinSlices(slices), next };
    this.#pages[status].set(first, limit, page);
    return page;
  }

  *#slices(from: number, to: number): Generator<Buffer> {
    while (from < to) {
      const block = this.#blockOf(from);
      const stop = Math.min(to, block.firstIndex + block.length);
      yield block.slice(from, stop);
      from = stop;
    }
  }

  #openBlock(): Block {
    const last = this.#blocks.at(-1);
    if (last !== undefined && !last.isFull()) return last;
    last?.seal();
    const block = new Block(this.length);
    this.#blocks.push(block);
    this.#blockStarts.push(this.length);
    return block;
  }

  #blockOf(index: number): Block {
    return this.#blocks[this.#blockStarts.countBelow(index + 1) - 1]!;
  }
}

/** What stands between two pets, in the data file, in memory and in a list that is answered. */
export const SEPARATOR: Buffer = Buffer.from(',\n');

/** Up to 1,024 pets. Bounded in bytes too, so that growing it never copies much. */
class Block {
  static readonly maxLength = 1024;
  static readonly maxBytes: number = 1 << 20;

  readonly firstIndex: number;
  length = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #offsets: Uint32Array = new Uint32Array(Block.maxLength + 1);

  constructor(firstIndex: number) {
    this.firstIndex = firstIndex;
  }

  isFull(): boolean {
    return this.length === Block.maxLength || this.#offsets[this.length]! >= Block.maxBytes;
  }

  append(source: Buffer, start: number, end: number): void {
    this.#offsets[this.length + 1] = this.#copy(source, start, end, 1);
    this.length += 1;
  }

  /** Adds the pets whose ends are ends[from..to), of which the first begins at `start`. */
  appendRun(source: Buffer, start: number, ends: Uint32Array, from: number, to: number): void {
    const shift = this.#offsets[this.length]! - start + SEPARATOR.length;
    this.#copy(source, start, ends[to - 1]!, to - from);
    for (let i = from; i < to; i += 1) {
      this.length += 1;
      this.#offsets[this.length] = ends[i]! + shift;
    }
  }

  /** The pets from one index of the table up to another, with separators between them only. */
  slice(from: number, to: number): Buffer {
    const start = this.#offsets[from - this.firstIndex]!;
    return this.#bytes.subarray(start, this.#offsets[to - this.firstIndex]! - SEPARATOR.length);
  }

  /** Gives back the room that was kept for growing. */
  seal(): void {
    this.#resize(this.#offsets[this.length]!);
    if (this.length < Block.maxLength) this.#offsets = this.#offsets.slice(0, this.length + 1);
  }

  /**
   * Copies the text of `count` pets behind the last, and a separator, and returns where that ends.
   */
  #copy(source: Buffer, start: number, end: number, count: number): number {
    const at = this.#offsets[this.length]!;
    const used = at + (end - start) + SEPARATOR.length;
    if (used > this.#bytes.length) {
      // A block that is full with this needs no room to grow.
      const isLast = this.length + count === Block.maxLength;
      this.#resize(isLast ? used : Math.max(2 * used, 4096));
    }
    source.copy(this.#bytes, at, start, end);
    SEPARATOR.copy(this.#bytes, used - SEPARATOR.length);
    return used;
  }

  #resize(size: number): void {
    if (size === this.#bytes.length) return;
    // allocUnsafeSlow: a block must not hold on to Node's shared pool.
    const bytes = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(bytes, 0, 0, Math.min(size, this.#bytes.length));
    this.#bytes = bytes;
  }
}

/** The ids, as runs of consecutive ones: for each run its first id and that id's index. */
class IdRuns {
  readonly #firstIds: Column<BigInt64Array> = new Column(BigInt64Array);
  readonly #firstIndexes: Column<Uint32Array> = new Column(Uint32Array);
  length = 0;
  /** The greatest id as a number, exact while it has no more than 53 bits. */
  #lastNumber = 0;

  get last(): bigint {
    if (this.length === 0) return 0n;
    const run = this.#firstIds.length - 1;
    return this.#firstIds.at(run) + BigInt(this.length - 1 - this.#firstIndexes.at(run));
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

  /** How many ids are no greater than `id`: the index of the first that is. */
  countUpTo(id: bigint): number {
    if (id >= this.last) return this.length;
    const run = this.#firstIds.countBelow(id + 1n) - 1;
    if (run < 0) return 0;
    const end = run + 1 < this.#firstIndexes.length ? this.#firstIndexes.at(run + 1) : this.length;
    const start = this.#firstIndexes.at(run);
    const behind = id - this.#firstIds.at(run);
    return behind >= BigInt(end - start) ? end : start + Number(behind) + 1;
  }
}

type TypedArray = Uint32Array | BigInt64Array;

/**
 * Ascending numbers in a typed array that doubles as it fills; what lies unused is never touched.
 */
class Column<A extends TypedArray> {
  readonly #type: new (length: number) => A;
  #values: A;
  length = 0;

  constructor(type: new (length: number) => A) {
    this.#type = type;
    this.#values = new type(4);
  }

  push(value: A[number]): void {
    if (this.length === this.#values.length) {
      const values = new this.#type(2 * this.length);
      (values as Uint32Array).set(this.#values as Uint32Array);
      this.#values = values;
    }
    this.#values[this.length] = value;
    this.length += 1;
  }

  at(index: number): A[number] {
    return this.#values[index]!;
  }

  /** How many values are less than `bound`: binary search. */
  countBelow(bound: A[number]): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#values[middle]! < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The JSON array of all pets in the slices. */
function joinSlices(parts: readonly Buffer[]): Buffer {
  let size = 2 + Math.max(0, parts.length - 1) * SEPARATOR.length;
  for (const part of parts) size += part.length;
  const json = Buffer.allocUnsafe(size);
  json[0] = 0x5b;
  let at = 1;
  for (const part of parts) {
    if (at > 1) at += SEPARATOR.copy(json, at);
    at += part.copy(json, at);
  }
  json[at] = 0x5d;
  return json;
}
