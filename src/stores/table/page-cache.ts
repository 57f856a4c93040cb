/**
 * Pages that were put together before.
 *
 * Pets of one status lie scattered, so a page of 100 costs a hundred small copies, 15 µs. Even a
 * page that is one copy costs a twentieth of an answer, most of it garbage collection. A
 * page with more pets behind it never changes, since pets are only added, and at the end: it may be
 * kept for as long as there is room.
 */

import type { PetPage } from '../../model/pet-store.ts';

export class PageCache {
  /** The oldest first. */
  readonly #pages: Map<number, PetPage> = new Map();

  /**
   * The page of `limit` pets from the `first` on, which is a place in the index of its status, or
   * among all pets; undefined when none was kept.
   */
  get(first: number, limit: number): PetPage | undefined {
    return this.#pages.get(keyOf(first, limit));
  }

  /** Keeps the page, unless it is the last, or large, and returns it. */
  keep(first: number, limit: number, page: PetPage): PetPage {
    const isLast = page.next === undefined;
    if (isLast || page.text.length > MAX_PAGE_LENGTH || limit >= LIMIT_BOUND) return page;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size < MAX_PAGES) break;
      this.#pages.delete(oldest);
    }
    this.#pages.set(keyOf(first, limit), page);
    return page;
  }
}

/** Together they bound a cache to 4 Mi characters, of one or two bytes each. */
const MAX_PAGES = 256;
const MAX_PAGE_LENGTH: number = 16 << 10;
const LIMIT_BOUND = 1024;

function keyOf(first: number, limit: number): number {
  return limit < LIMIT_BOUND ? first * LIMIT_BOUND + limit : -1;
}
