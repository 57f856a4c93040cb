/**
 * The pets in memory, as bytes: what both stores answer reads from.
 *
 * Pets lie behind each other in blocks, in the layout of the data file, so that a page without a
 * filter is one copy out of a block. Beside its text a pet costs 4 bytes for its offset in the
 * block and 4 in the index of its status; its id costs nothing while ids follow each other. Pets
 * are only ever added, in ascending order of id, which is what makes all this so simple.
 */

import type { ByteString } from '../base/byte-string.ts';
import type { PetRun } from '../model/pet-scanner.ts';
import { PET_STATUSES, type PetStatus } from '../model/pet.ts';
import type { PetCount, PetPage, PetQuery } from '../model/pet-store.ts';
import { encodePets, type EncodedPet } from '../model/encoded-pet.ts';
import { Column } from './column.ts';
import { IdRuns } from './id-runs.ts';
import { PageCache } from './page-cache.ts';
import { PetBlock } from './pet-block.ts';

export class PetTable {
  readonly #blocks: PetBlock[] = [];
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
    return last === undefined || last.isFull()
      ? PetBlock.maxLength
      : PetBlock.maxLength - last.length;
  }

  /**
   * Adds pets that lie in `source` from `start` on, with the separator between them: the fast way
   * of `append`, which copies them all at once. They must be no more than there is `room` for, and
   * their ids ascending and greater than `lastId`.
   */
  appendRun(source: Buffer, start: number, run: PetRun): void {
    this.#openBlock().appendRun(source, start, run.ends, run.length);
    for (let i = 0; i < run.length; i += 1) {
      const status = run.statuses[i];
      if (status !== undefined) this.#byStatus[status].push(this.length);
      this.#runs.pushNumber(run.ids[i]!);
    }
  }

  get(id: bigint): EncodedPet | undefined {
    const index = this.#runs.indexOf(id);
    return index === undefined ? undefined : this.#textAt(index);
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

  /** Pets that follow each other, a text for those of each block: most pages lie in one. */
  #textsBetween(from: number, to: number): readonly ByteString[] {
    const texts: ByteString[] = [];
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
      texts.push(this.#textAt(indexes.at(i)));
    }
    return texts;
  }

  #textAt(index: number): EncodedPet {
    return this.#blockOf(index).text(index, index + 1);
  }

  #openBlock(): PetBlock {
    const last = this.#blocks.at(-1);
    if (last !== undefined && !last.isFull()) return last;
    last?.trim();
    const block = new PetBlock(this.length);
    this.#blocks.push(block);
    this.#blockStarts.push(this.length);
    return block;
  }

  #blockOf(index: number): PetBlock {
    return this.#blocks[this.#blockStarts.countBelow(index + 1) - 1]!;
  }
}
