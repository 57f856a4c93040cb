/**
 * A cache of pages.
 *
 * Pets of one status are scattered in memory, so a page of 100 takes 100 small copies, 15 µs. Even
 * a page that is one copy takes 2.5 µs, with a cache 0.02 (measured in process with 1,000 pets). A
 * page that is not the last one never changes, since pets are only added at the end.
 */

import type { PetPage } from '../../model/pet-store.ts';

export class PageCache {
  /** By keyOf, in the order in which they were kept. */
  readonly #pages: Map<number, PetPage> = new Map();

  /**
   * Returns the cached page of `limit` pets from the position `first` on, or undefined. A position
   * counts in the index of the page's status, or among all pets.
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
/** Pages with a limit this great are not kept: keyOf has room only for a smaller one. */
const LIMIT_BOUND = 1024;

function keyOf(first: number, limit: number): number {
  return limit < LIMIT_BOUND ? first * LIMIT_BOUND + limit : -1;
}
