/** What a store measures of its creates: how they fail, and the commits that they share. */

import { Histogram, row, type Measurement } from '../base/measurement.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../pets/pet-store.ts';
import type { IdempotencyKeys } from './idempotency-keys.ts';

const PETS_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384];
const SECONDS_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
];

export class CreateFigures {
  readonly #commitPets: Histogram = new Histogram(PETS_BOUNDS);
  readonly #commitSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  #refused = 0;
  #unknown = 0;

  /** Counts a create if it fails, by the error that its caller gets. */
  async count<T>(creating: Promise<T>): Promise<T> {
    try {
      return await creating;
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#refused += 1;
      if (error instanceof OutcomeUnknownError) this.#unknown += 1;
      throw error;
    }
  }

  countCommit(pets: number, ms: number): void {
    this.#commitPets.observe(pets);
    this.#commitSeconds.observe(ms / 1000);
  }

  /** Returns these figures, and those of the queue and of the idempotency keys. */
  measurements(queueLength: number, keys: IdempotencyKeys): readonly Measurement[] {
    return [
      row('counter', 'store_refused_creates_total', 'Creates that were refused', this.#refused),
      row('counter', 'store_unknown_creates_total', 'Creates with unknown outcome', this.#unknown),
      row('counter', 'store_evicted_idempotency_keys_total', 'Keys dropped for room', keys.evicted),
      row('gauge', 'store_idempotency_keys', 'Idempotency keys in memory', keys.length),
      row('gauge', 'store_queue_length', 'Creates that wait for a commit', queueLength),
      row('histogram', 'store_commit_pets', 'Pets in a commit', this.#commitPets),
      row('histogram', 'store_commit_duration_seconds', 'Time of a commit', this.#commitSeconds),
    ];
  }
}
