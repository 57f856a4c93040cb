/** A histogram: the range of each value. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../src/base/histogram.ts';

test('A value at a bound belongs to the range that ends there', () => {
  const histogram = new Histogram([1, 2]);
  for (const value of [0.5, 1, 1.5, 2, 3]) histogram.observe(value);
  assert.deepEqual([...histogram.counts], [2, 2, 1]);
  assert.equal(histogram.sum, 8);
});
