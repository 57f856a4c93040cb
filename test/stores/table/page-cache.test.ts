/** The page cache: what it keeps, and that it is bounded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PetPage } from '../../../src/model/pet-store.ts';
import { PageCache } from '../../../src/stores/table/page-cache.ts';

const pageOf = (length: number): PetPage => ({ pets: [], text: 'x'.repeat(length), next: 1n });

test('A cache of 256 pages evicts the oldest one', () => {
  const cache = new PageCache();
  const keep = (first: number): PetPage => cache.keep(first, 1, pageOf(1));
  const pages = Array.from({ length: 256 }, (_, first) => keep(first));
  pages.forEach((page, first) => assert.equal(cache.get(first, 1), page));
  const newest = keep(256);
  assert.equal(cache.get(0, 1), undefined);
  assert.equal(cache.get(1, 1), pages[1]);
  assert.equal(cache.get(256, 1), newest);
});

test('A page is cached by its first pet and its limit, unless it is the last page, or large', () => {
  const cases: readonly (readonly [limit: number, page: PetPage, isKept: boolean])[] = [
    [1, pageOf(16_384), true],
    [1, pageOf(16_385), false],
    [1, { ...pageOf(1), next: undefined }, false],
    [1023, pageOf(1), true],
    [1024, pageOf(1), false],
  ];
  for (const [limit, page, isKept] of cases) {
    const cache = new PageCache();
    assert.equal(cache.keep(1, limit, page), page);
    assert.equal(cache.get(1, limit), isKept ? page : undefined);
    // Not for another page: neither of another limit, nor from another pet on.
    assert.equal(cache.get(1, limit + 1), undefined);
    assert.equal(cache.get(0, limit), undefined);
  }
});
