/**
 * Filtered pages that were put together before.
 *
 * Pets of one status lie scattered, so a page of 100 costs a hundred small copies: 15 µs, against
 * half a microsecond for a copy of the page as a whole. A page with more pets behind it never
 * changes, since pets are only added, and behind it: it may be kept for as long as there is room.
 */

import type { PetPage } from '../model/pet-store.ts';

export class PageCache {
  /** The oldest first. */
  readonly #pages: Map<number, PetPage> = new Map();

  /** The page that was kept for the first `limit` pets of an index from `first` on, as a copy. */
  get(first: number, limit: number): PetPage | undefined {
    const page = this.#pages.get(keyOf(first, limit));
    return page === undefined ? undefined : { json: Buffer.from(page.json), next: page.next };
  }

  /** Keeps a copy of the page, unless it is the last, or large. */
  set(first: number, limit: number, { json, next }: PetPage): void {
    if (next === undefined || json.length > MAX_PAGE_BYTES || limit >= LIMIT_BOUND) return;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size < MAX_PAGES) break;
      this.#pages.delete(oldest);
    }
    this.#pages.set(keyOf(first, limit), { json: Buffer.from(json), next });
  }
}

/** Together they bound the cache to 4 MiB for each status. */
const MAX_PAGES = 256;
const MAX_PAGE_BYTES: number = 16 << 10;
const LIMIT_BOUND = 1024;

function keyOf(first: number, limit: number): number {
  return limit < LIMIT_BOUND ? first * LIMIT_BOUND + limit : -1;
}
