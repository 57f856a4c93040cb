/** A store in memory whose creates wait until a test lets them go on. */

import type { PetStore } from '../../../src/model/pet-store.ts';
import { createMemoryStore } from '../../../src/stores/memory-store.ts';

export interface HeldStore extends PetStore {
  /** Resolves when a create waits. */
  waiting(): Promise<void>;
  /** Lets all creates go on, those that come later too. */
  release(): void;
}

export function createHeldStore(): HeldStore {
  const store = createMemoryStore();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  return {
    ...store,
    async create(pet) {
      begin();
      await released;
      return store.create(pet);
    },
    waiting: () => begun,
    release: () => release(),
  };
}
