/** A rung as a PetStore, with what the listener of rung 1 does instead: it checks each NewPet. */

import type { Store } from '../../src/ladder/1-plain.ts';
import type { PetStatus, StoredPet } from '../../src/model/pet.ts';
import { CLOSED, StoreUnavailableError, type PetStore } from '../../src/model/pet-store.ts';
import { formatMembers, parsePet, readNewPet } from '../../src/model/pet-text.ts';

export function asPetStore(store: Store): PetStore {
  const creating = new Set<Promise<unknown>>();
  let isClosed = false;
  const petOf = (text: string): StoredPet => ({ ...parsePet(text), text });
  return {
    list(query) {
      const { text, next } = store.list(query);
      const texts = text === '[]' ? [] : text.slice(1, -1).split(',\n');
      return { pets: texts.map(petOf), text, next };
    },
    get(id) {
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
    problem: () => (isClosed ? CLOSED : undefined),
    async close() {
      isClosed = true;
      await Promise.allSettled(creating);
    },
  };
}
