/** What a store has measured, as one number. */

import assert from 'node:assert/strict';
import type { LabelledSample, MeasuredValue } from '../../src/core/base/measurement.ts';
import type { PetStore } from '../../src/core/pets/pet-store.ts';

/**
 * Returns the sum of the samples of `petstore_<name>` that have these labels. Of a histogram, the
 * number of its observations counts.
 */
export function measured(
  store: PetStore,
  name: string,
  labels: LabelledSample['labels'] = {},
): number {
  const row = store.measurements?.().find((one) => one.name === `petstore_${name}`);
  assert.ok(row !== undefined, `The store does not measure ${name}`);
  const { value } = row;
  const isList = typeof value === 'object' && 'length' in value;
  const samples = isList ? value : [{ labels: {} as LabelledSample['labels'], value }];
  const wanted = Object.entries(labels);
  return samples
    .filter((sample) => wanted.every(([label, text]) => sample.labels[label] === text))
    .reduce((sum, sample) => sum + countOf(sample.value), 0);
}

function countOf(value: MeasuredValue): number {
  if (typeof value === 'number') return value;
  return Array.from(value.counts).reduce((sum, count) => sum + count, 0);
}
