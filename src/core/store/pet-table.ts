/**
 * The pets in memory, as the bytes that are sent in responses.
 *
 *     chunk  {"id":1,…},␊{"id":2,…},␊{"id":3,…},␊
 *                        ^ends[0]    ^ends[1]    ^ends[2]
 *
 * The pets are in chunks, in the layout of a response, so that a page without a filter is one copy.
 * In addition to its text a pet takes 4 bytes for its end and 4 in the index of its status. The id
 * is read from the text. This is simple because pets are only added, in ascending order of id.
 *
 * Pages are cached. Pets of one status are scattered in memory, so a page of 100 takes 100 small
 * copies, 15 µs. Even a page that is one copy takes 2.5 µs, with the cache 0.02 (measured in
 * process with 1,000 pets). A page that is not the last one never changes, since pets are only
 * added at the end.
 */

import { INT64_MAX } from '../base/int64.ts';
import { systemMemory } from '../base/system.ts';
import { PET_STATUSES, type PetStatus, type StoredPet } from '../pets/pet.ts';
import type { PageQuery, PetCount, StoredPage } from '../pets/pet-store.ts';
import { formatPets, PET_SEPARATOR } from '../pets/pet-text.ts';

const SEPARATOR: Buffer = Buffer.from(PET_SEPARATOR);
const CLOSING_BRACE = 0x7d;
/** A pet's text begins with `{"id":`, an id of at most 19 digits, and a comma. */
const ID_OFFSET = 6;
const MAX_ID_BYTES = 20;

/**
 * By the last letter, in which they differ: the third byte from the end of a pet's text. There a
 * pet without a status has a digit, a minus or a colon.
 */
const STATUSES: ReadonlyMap<number, PetStatus> = new Map(
  PET_STATUSES.map((status) => [status.charCodeAt(status.length - 1), status]),
);

/** Consecutive pets, for one commit. */
export interface PetBatch {
  readonly lastId: bigint;
  /** Their texts, with PET_SEPARATOR between them. */
  readonly text: string;
}

/** Memory that was never written takes no space, so a chunk may be large from the start. */
const CHUNK_BYTES: number = 1 << 20;

/** Together they bound the pages of a status to 4 Mi characters, of one or two bytes each. */
const MAX_PAGES = 256;
const MAX_PAGE_LENGTH: number = 16 << 10;
/** A column of 32 bits cannot hold a greater index. */
const INDEX_BOUND: number = 2 ** 32;

export class PetTable {
  readonly #chunks: Buffer[] = [];
  /** The index of the first pet of each chunk. */
  readonly #chunkStarts: Column = new Column();
  /** How much of the last chunk is used. */
  #usedBytes = 0;
  /** The length of all texts, with their separators. */
  textBytes = 0;
  /** The offset in its chunk at which each pet ends, including its separator. */
  readonly #ends: Column = new Column();
  readonly #byStatus: Readonly<Record<PetStatus, Column>> = {
    available: new Column(),
    pending: new Column(),
    sold: new Column(),
  };
  /** The greatest id, 0 while there are no pets. */
  lastId = 0n;
  /** The cached pages, the oldest first, by the position of their first pet and their limit. */
  readonly #pages: Readonly<Record<PetStatus | 'any', Map<number, StoredPage>>> = {
    any: new Map(),
    available: new Map(),
    pending: new Map(),
    sold: new Map(),
  };

  get length(): number {
    return this.#ends.length;
  }

  /** Returns whether so many ids are left after the greatest one. */
  hasIdsFor(count: number): boolean {
    return this.lastId + BigInt(count) <= INT64_MAX;
  }

  /** Makes room for these pets, so that adding them cannot fail. */
  reserve(pets: readonly StoredPet[]): void {
    let bytes = 0;
    for (const { text } of pets) bytes += Buffer.byteLength(text) + SEPARATOR.length;
    this.#chunkFor(bytes);
    this.#ends.reserve(pets.length);
    for (const status of PET_STATUSES) this.#byStatus[status].reserve(pets.length);
  }

  /** Adds a pet whose id is greater than `lastId`. */
  append({ id, text }: StoredPet): void {
    const chunk = this.#chunkFor(Buffer.byteLength(text) + SEPARATOR.length);
    this.#endPet(chunk, this.#usedBytes + chunk.write(text, this.#usedBytes), id);
  }

  /** Like `append`, for a pet whose text is in `source`, except for its closing brace. */
  appendBytes(source: Buffer, start: number, end: number, id: bigint): void {
    const length = end - start + 1;
    const chunk = this.#chunkFor(length + SEPARATOR.length);
    source.copy(chunk, this.#usedBytes, start, end);
    const textEnd = this.#usedBytes + length;
    chunk[textEnd - 1] = CLOSING_BRACE;
    this.#endPet(chunk, textEnd, id);
  }

  get(id: bigint): StoredPet | undefined {
    const index = this.#countUpTo(id) - 1;
    if (index < 0) return undefined;
    const text = this.#textBetween(index, index + 1);
    return text.startsWith(`{"id":${id},`) ? { id, text } : undefined;
  }

  list({ limit, status, after }: PageQuery): StoredPage {
    const from = after === undefined ? 0 : this.#countUpTo(after);
    const first = status === undefined ? from : this.#byStatus[status].countBelow(from);
    const pages = this.#pages[status ?? 'any'];
    const pageKey = limit * INDEX_BOUND + first;
    const cached = pages.get(pageKey);
    if (cached !== undefined) return cached;
    const page = this.#makePage(first, limit, status);
    if (page.next === undefined || page.text.length > MAX_PAGE_LENGTH) return page;
    if (pages.size === MAX_PAGES) pages.delete(pages.keys().next().value!);
    pages.set(pageKey, page);
    return page;
  }

  count(): PetCount {
    const entries = PET_STATUSES.map((status) => [status, this.#byStatus[status].length]);
    return { total: this.length, byStatus: Object.fromEntries(entries) as PetCount['byStatus'] };
  }

  /** Yields all pets, in ascending order of id. */
  *pets(): Generator<StoredPet> {
    for (let index = 0; index < this.length; index += 1) {
      yield { id: this.#idAt(index), text: this.#textBetween(index, index + 1) };
    }
  }

  /**
   * Yields all pets in batches, each for one commit: at most `maxPets`, with at most `maxBytes`, or
   * one pet.
   */
  *batches(maxPets: number, maxBytes: number): Generator<PetBatch> {
    for (let from = 0; from < this.length;) {
      const stop = Math.min(from + maxPets, this.#chunkEnd(from));
      const start = this.#startOf(from);
      let to = from + 1;
      while (to < stop && this.#ends.at(to) - start <= maxBytes) to += 1;
      yield { lastId: this.#idAt(to - 1), text: this.#textBetween(from, to) };
      from = to;
    }
  }

  /** Finishes a pet whose text ends at `end`: writes the separator, and records what it has. */
  #endPet(chunk: Buffer, end: number, id: bigint): void {
    const status = STATUSES.get(chunk[end - 3]!);
    if (status !== undefined) this.#byStatus[status].push(this.length);
    chunk[end] = SEPARATOR[0]!;
    chunk[end + 1] = SEPARATOR[1]!;
    this.textBytes += end + SEPARATOR.length - this.#usedBytes;
    this.#usedBytes = end + SEPARATOR.length;
    this.#ends.push(this.#usedBytes);
    this.lastId = id;
  }

  /** Returns the last chunk, or a new one if the last one has no room for the bytes. */
  #chunkFor(bytes: number): Buffer {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.length - this.#usedBytes >= bytes) return last;
    const chunk = systemMemory.bytes(Math.max(CHUNK_BYTES, bytes));
    this.#chunkStarts.push(this.length);
    this.#chunks.push(chunk);
    this.#usedBytes = 0;
    return chunk;
  }

  /** Makes the page of `limit` pets from position `first` on, of all pets or of one status. */
  #makePage(first: number, limit: number, status: PetStatus | undefined): StoredPage {
    const indexes = status === undefined ? undefined : this.#byStatus[status];
    const length = indexes?.length ?? this.length;
    const end = Math.min(first + limit, length);
    const texts: string[] = [];
    for (let at = first; at < end;) {
      const from = indexes === undefined ? at : indexes.at(at);
      // Without a status it is one text for all pets that are in the same chunk.
      const to = indexes === undefined ? Math.min(end, this.#chunkEnd(from)) : from + 1;
      texts.push(this.#textBetween(from, to));
      at += to - from;
    }
    const next = end < length ? this.#idAt(indexes?.at(end - 1) ?? end - 1) : undefined;
    return { text: formatPets(texts), next };
  }

  #idAt(index: number): bigint {
    const start = this.#startOf(index) + ID_OFFSET;
    const digits = this.#chunkOf(index).toString('latin1', start, start + MAX_ID_BYTES);
    return BigInt(digits.slice(0, digits.indexOf(',')));
  }

  /**
   * Returns how many pets have this id or a smaller one, by binary search. Most ids follow each
   * other, so the first guess is an index that is as far from the last one as the ids are.
   */
  #countUpTo(id: bigint): number {
    if (id >= this.lastId) return this.length;
    let low = 0;
    let high = this.length;
    let guess = Math.max(0, high - 1 - Number(this.lastId - id));
    while (low < high) {
      const found = this.#idAt(guess);
      if (found === id) return guess + 1;
      if (found < id) low = guess + 1;
      else high = guess;
      guess = (low + high) >>> 1;
    }
    return low;
  }

  /** Returns the index after the last pet of the chunk that has the pet at this index. */
  #chunkEnd(index: number): number {
    const chunk = this.#chunkStarts.countBelow(index + 1);
    return chunk < this.#chunks.length ? this.#chunkStarts.at(chunk) : this.length;
  }

  /** Returns the chunk that has the pet at this index. */
  #chunkOf(index: number): Buffer {
    return this.#chunks[this.#chunkStarts.countBelow(index + 1) - 1]!;
  }

  /** Returns the offset in its chunk at which the pet at this index begins. */
  #startOf(index: number): number {
    const chunk = this.#chunkStarts.countBelow(index + 1) - 1;
    return index === this.#chunkStarts.at(chunk) ? 0 : this.#ends.at(index - 1);
  }

  /** Returns the text of consecutive pets of one chunk, with the separators between them. */
  #textBetween(from: number, to: number): string {
    const end = this.#ends.at(to - 1) - SEPARATOR.length;
    return this.#chunkOf(from).toString('utf8', this.#startOf(from), end);
  }
}

/** A column of numbers, at 4 bytes each, in blocks: what has been added is never copied again. */
class Column {
  readonly #blocks: Uint32Array[] = [];
  length = 0;

  /** Makes room for `count` more values, so that adding them cannot fail. */
  reserve(count: number): void {
    const needed = this.length + count;
    while (this.#blocks.length * BLOCK_LENGTH < needed) {
      this.#blocks.push(systemMemory.uint32s(BLOCK_LENGTH));
    }
  }

  push(value: number): void {
    const offset = this.length & OFFSET_MASK;
    if (offset === 0) this.reserve(1);
    this.#blocks[this.length >>> BLOCK_BITS]![offset] = value;
    this.length += 1;
  }

  at(index: number): number {
    return this.#blocks[index >>> BLOCK_BITS]![index & OFFSET_MASK]!;
  }

  /** Returns how many values are less than `bound`, by binary search. They must be ascending. */
  countBelow(bound: number): number {
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
