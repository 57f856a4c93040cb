/** A rung as a PetStore, with what the listener of rung 1 does instead: it checks each NewPet. */

import type { Store } from '../../src/ladder/1-plain.ts';
import type { PetStatus } from '../../src/core/pets/pet.ts';
import { CLOSED, StoreUnavailableError, type PetStore } from '../../src/core/pets/pet-store.ts';
import { formatMembers, readNewPet } from '../../src/core/pets/pet-text.ts';

export function asPetStore(store: Store): PetStore {
  const creating = new Set<Promise<unknown>>();
  let isClosed = false;
  return {
    async list(query) {
      return store.list(query);
    },
    async get(id) {
      return store.get(id);
    },
    async create(newPet) {
      if (isClosed) throw new StoreUnavailableError(CLOSED);
      const values = readNewPet(newPet);
      // Throws InvalidPetError.
      formatMembers(values);
      const created = store.create(values);
      creating.add(created);
      return created;
    },
    count() {
      const count = (status?: PetStatus): number => {
        const { text } = store.list({ limit: Infinity, status });
        return text === '[]' ? 0 : text.split(',\n').length;
      };
      const byStatus = { available: count('available'), pending: count('pending') };
      return { total: count(), byStatus: { ...byStatus, sold: count('sold') } };
    },
    unreadiness: () => (isClosed ? CLOSED : undefined),
    async close() {
      isClosed = true;
      await Promise.allSettled(creating);
    },
  };
}
