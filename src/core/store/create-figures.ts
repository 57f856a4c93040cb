/** What a store measures of its creates: how they fail, and the commits that they share. */

import { Histogram } from '../base/histogram.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../pets/pet-store.ts';

const PETS_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384];
const SECONDS_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
];

/** Its members have the names that they have in StoreStats. */
export class CreateFigures {
  readonly commitPets: Histogram = new Histogram(PETS_BOUNDS);
  readonly commitSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  refusedCreates = 0;
  unknownCreates = 0;

  /** Counts a create if it fails, by the error that its caller gets. */
  async count<T>(creating: Promise<T>): Promise<T> {
    try {
      return await creating;
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.refusedCreates += 1;
      if (error instanceof OutcomeUnknownError) this.unknownCreates += 1;
      throw error;
    }
  }

  countCommit(pets: number, ms: number): void {
    this.commitPets.observe(pets);
    this.commitSeconds.observe(ms / 1000);
  }
}
