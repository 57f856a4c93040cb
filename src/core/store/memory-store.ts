/**
 * The simplest PetStore, and the one to read first: a table of pets and one of keys, for tests and
 * for programs that want no file. It promises the least that PetStore allows: a pet is lost when
 * the process ends.
 */

import { systemClock } from '../base/system.ts';
import type { StoredPet } from '../pets/pet.ts';
import { CLOSED, NO_ID_LEFT, StoreUnavailableError, type PetStore } from '../pets/pet-store.ts';
import { formatMembers, formatPet } from '../pets/pet-text.ts';
import { IdempotencyKeys, KEY_LIFETIME_MS, replayedPet } from './idempotency-keys.ts';
import { PetTable } from './pet-table.ts';
import { findStored } from './tables.ts';

/** A store that begins with these pets, in ascending order of id. */
export function createMemoryStore(startingPets: Iterable<StoredPet> = []): PetStore {
  const pets = new PetTable();
  const keys = new IdempotencyKeys(systemClock);
  let isClosed = false;
  for (const pet of startingPets) pets.append(pet);
  const add = (members: string): StoredPet => {
    if (isClosed) throw new StoreUnavailableError(CLOSED);
    if (!pets.hasIdsFor(1)) throw new StoreUnavailableError(NO_ID_LEFT);
    const id = pets.lastId + 1n;
    const pet = { id, text: formatPet(id, members) };
    pets.append(pet);
    return pet;
  };
  return {
    create: async (newPet) => add(formatMembers(newPet)),
    async createOnce(newPet, key) {
      const members = formatMembers(newPet);
      const stored = findStored({ pets, keys }, key);
      if (stored !== undefined) return { pet: replayedPet(stored, members), isReplayed: true };
      const pet = add(members);
      keys.add(key, pet.id, systemClock.now() + KEY_LIFETIME_MS);
      return { pet, isReplayed: false };
    },
    get: async (id) => pets.get(id),
    list: async (query) => pets.list(query),
    count: () => pets.count(),
    unreadiness: () => (isClosed ? CLOSED : undefined),
    async close() {
      isClosed = true;
    },
  };
}
