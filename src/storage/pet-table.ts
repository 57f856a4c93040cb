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

import { bytesToString, type ByteString } from '../base/byte-string.ts';
import type { PetRun } from '../model/pet-scanner.ts';
import { PET_STATUSES, type PetStatus } from '../model/pet.ts';
import type { PetCount, PetPage, PetQuery } from '../model/pet-store.ts';
import { encodePets, PET_SEPARATOR, type EncodedPet } from '../model/encoded-pet.ts';
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
  readonly #pages: Readonly<Record<PetStatus | 'any', PageCache>> = {
    any: new PageCache(),
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

  /** Adds a pet. Its id must be greater than `lastId`. */
  append(id: bigint, pet: EncodedPet, status?: PetStatus): void {
    this.#openBlock().append(pet);
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
    const index = this.#runs.indexOf(id);
    return index === undefined ? undefined : this.#blockOf(index).text(index, index + 1);
  }

  list({ limit, status, after }: PetQuery): PetPage {
    const from = after === undefined ? 0 : this.#runs.countUpTo(after);
    const first = status === undefined ? from : this.#byStatus[status].countBelow(from);
    const pages = this.#pages[status ?? 'any'];
    return (
      pages.get(first, limit) ?? pages.keep(first, limit, this.#makePage(first, limit, status))
    );
  }

  count(): PetCount {
    const entries = PET_STATUSES.map((status) => [status, this.#byStatus[status].length]);
    return { total: this.length, byStatus: Object.fromEntries(entries) as PetCount['byStatus'] };
  }

  /** The text of all pets in turn, without a separator at either end, as the data file has it. */
  *chunks(): Generator<Buffer> {
    for (const block of this.#blocks) yield block.bytes();
  }

  /** The page of `limit` pets from the `first` on, of all or of those with the status. */
  #makePage(first: number, limit: number, status: PetStatus | undefined): PetPage {
    const indexes = status === undefined ? undefined : this.#byStatus[status];
    const length = indexes === undefined ? this.length : indexes.length;
    const end = Math.min(first + limit, length);
    const texts =
      indexes === undefined ? this.#textsBetween(first, end) : this.#textsAt(indexes, first, end);
    if (end >= length) return { json: encodePets(texts), next: undefined };
    const last = indexes === undefined ? end - 1 : indexes.at(end - 1);
    return { json: encodePets(texts), next: this.#runs.at(last) };
  }

  /** The texts of pets that follow each other: most pages lie in one block, and are one text. */
  #textsBetween(from: number, to: number): readonly EncodedPet[] {
    const texts: EncodedPet[] = [];
    while (from < to) {
      const block = this.#blockOf(from);
      const stop = Math.min(to, block.firstIndex + block.length);
      texts.push(block.text(from, stop));
      from = stop;
    }
    return texts;
  }

  #textsAt(indexes: Column<Uint32Array>, from: number, to: number): readonly EncodedPet[] {
    const texts: EncodedPet[] = [];
    for (let i = from; i < to; i += 1) {
      const index = indexes.at(i);
      texts.push(this.#blockOf(index).text(index, index + 1));
    }
    return texts;
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

export const SEPARATOR: Buffer = Buffer.from(PET_SEPARATOR);

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

  append(pet: EncodedPet): void {
    const start = this.#offsets[this.length]!;
    const end = start + pet.length + SEPARATOR.length;
    this.#reserve(end, 1);
    this.#bytes.write(pet, start, 'latin1');
    SEPARATOR.copy(this.#bytes, end - SEPARATOR.length);
    this.length += 1;
    this.#offsets[this.length] = end;
  }

  /** Adds the pets whose ends are ends[from..to), of which the first begins at `start`. */
  appendRun(source: Buffer, start: number, ends: Uint32Array, from: number, to: number): void {
    const at = this.#offsets[this.length]!;
    const shift = at - start + SEPARATOR.length;
    const end = ends[to - 1]! + shift;
    this.#reserve(end, to - from);
    source.copy(this.#bytes, at, start, ends[to - 1]!);
    SEPARATOR.copy(this.#bytes, end - SEPARATOR.length);
    for (let i = from; i < to; i += 1) {
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

  /** The same of all its pets, not to be written to. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#offsets[this.length]! - SEPARATOR.length);
  }

  /** Gives back the room that was kept for growing. */
  seal(): void {
    this.#resize(this.#offsets[this.length]!);
    if (this.length < Block.maxLength) this.#offsets = this.#offsets.slice(0, this.length + 1);
  }

  /** Makes room for the bytes up to `end`, which are those of `count` more pets. */
  #reserve(end: number, count: number): void {
    if (end <= this.#bytes.length) return;
    // A block that is full with them needs no room to grow.
    const isLast = this.length + count === Block.maxLength;
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
