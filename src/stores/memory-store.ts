/**
 * The simplest PetStore, and the one to read first: pets in a Map, for tests and for programs that
 * want no file. Its promise is the least that PetStore allows: a pet is as durable as the process.
 */

import { INT64_MAX } from '../base/int64.ts';
import { systemMemory } from '../base/memory.ts';
import type { NewPet, PetStatus, StoredPet } from '../model/pet.ts';
import { CLOSED, NO_ID_LEFT, StoreUnavailableError, type PetStore } from '../model/pet-store.ts';
import { formatNewPet, formatPet, formatPets } from '../model/pet-text.ts';
import { KEY_LIFETIME_MS, KeyTable } from './keys/key-table.ts';
import { samePet } from './keys/keyed-creates.ts';

/** A store that begins with these pets, in ascending order of id. */
export function createMemoryStore(startingPets: Iterable<StoredPet> = []): PetStore {
  const pets = new Map<bigint, StoredPet>();
  const clock = { now: () => performance.now(), timeOfDay: Date.now };
  const keys = new KeyTable(systemMemory, clock);
  let lastId = 0n;
  for (const pet of startingPets) {
    pets.set(pet.id, pet);
    lastId = pet.id;
  }
  let isClosed = false;
  const add = (newPet: NewPet): StoredPet => {
    if (isClosed) throw new StoreUnavailableError(CLOSED);
    if (lastId === INT64_MAX) throw new StoreUnavailableError(NO_ID_LEFT);
    const id = lastId + 1n;
    const pet = { ...newPet, id, text: formatPet(id, formatNewPet(newPet)) };
    pets.set(id, pet);
    lastId = id;
    return pet;
  };
  return {
    create: async (newPet) => add(newPet),
    async createOnce(newPet, key) {
      const stored = pets.get(keys.find(key) ?? 0n);
      if (stored !== undefined && !isClosed)
        return { pet: samePet(stored, newPet), isReplayed: true };
      const pet = add(newPet);
      keys.add({ key, id: pet.id, expiresAt: clock.timeOfDay() + KEY_LIFETIME_MS, petCrc: 0 });
      return { pet, isReplayed: false };
    },
    get: (id) => pets.get(id),
    list({ limit, status, after = 0n }) {
      const matches = [...pets.values()].filter(
        (pet) => pet.id > after && (status === undefined || pet.status === status),
      );
      const page = matches.slice(0, limit);
      return {
        pets: page,
        text: formatPets(page.map(({ text }) => text)),
        next: matches.length > limit ? page.at(-1)?.id : undefined,
      };
    },
    count() {
      const byStatus: Record<PetStatus, number> = { available: 0, pending: 0, sold: 0 };
      for (const { status } of pets.values()) if (status !== undefined) byStatus[status] += 1;
      return { total: pets.size, byStatus };
    },
    problem: () => (isClosed ? CLOSED : undefined),
    async close() {
      isClosed = true;
    },
  };
}
