/**
 * The simplest PetStore: pets in memory only, for tests and for programs that want no file.
 *
 * Its promise is the least that PetStore allows: a pet is as durable as the process.
 */

import { INT64_MAX } from '../base/int64.ts';
import { encodePet } from '../model/encoded-pet.ts';
import { CLOSED, NO_ID_LEFT, StoreUnavailableError, type PetStore } from '../model/pet-store.ts';
import { PetTable } from './table/pet-table.ts';

export function createMemoryStore(): PetStore {
  const pets = new PetTable();
  let closed = false;
  const problem = (): string | undefined => {
    if (closed) return CLOSED;
    return pets.lastId === INT64_MAX ? NO_ID_LEFT : undefined;
  };
  return {
    list: (query) => pets.list(query),
    get: (id) => pets.get(id),
    count: () => pets.count(),
    problem,
    create: async ({ tail, status }) => {
      const refusal = problem();
      if (refusal !== undefined) throw new StoreUnavailableError(refusal);
      const id = pets.lastId + 1n;
      const pet = encodePet(id, tail);
      pets.append(id, pet, status);
      return pet;
    },
    close: async () => {
      closed = true;
    },
  };
}
