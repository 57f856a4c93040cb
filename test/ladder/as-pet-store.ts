/** A rung as a PetStore, with what the listener of rung 1 does instead: it checks each NewPet. */

import type { Store } from '../../src/ladder/1-plain.ts';
import type { PetStatus, StoredPet } from '../../src/core/pets/pet.ts';
import { CLOSED, StoreUnavailableError, type PetStore } from '../../src/core/pets/pet-store.ts';
import { formatMembers, parsePet, readNewPet } from '../../src/core/pets/pet-text.ts';

export function asPetStore(store: Store): PetStore {
  const creating = new Set<Promise<unknown>>();
  let isClosed = false;
  const petOf = (text: string): StoredPet => {
    const { id, status } = parsePet(text);
    return { id, text, status };
  };
  return {
    async list(query) {
      return store.list(query);
    },
    async get(id) {
      const pet = store.get(id);
      return pet && petOf(pet.text);
    },
    async create(newPet) {
      if (isClosed) throw new StoreUnavailableError(CLOSED);
      const values = readNewPet(newPet);
      // Throws InvalidPetError.
      formatMembers(values);
      const created = store.create(values);
      creating.add(created);
      return petOf((await created).text);
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
