/**
 * The simplest PetStore, and the one to read first: pets in a Map, for tests and for programs that
 * want no file. It promises the least that PetStore allows: a pet is lost when the process ends.
 */

import { INT64_MAX } from '../base/int64.ts';
import type { NewPet, PetStatus, StoredPet } from '../model/pet.ts';
import { CLOSED, NO_ID_LEFT, StoreUnavailableError, type PetStore } from '../model/pet-store.ts';
import { formatMembers, formatPet, formatPets, readNewPet } from '../model/pet-text.ts';
import { KeyTable } from './table/key-table.ts';
import { replayedPet } from './idempotent-creates.ts';

/** A store that begins with these pets, in ascending order of id. */
export function createMemoryStore(startingPets: Iterable<StoredPet> = []): PetStore {
  const pets = new Map<bigint, StoredPet>();
  const keys = new KeyTable({ now: () => performance.now(), timeOfDay: Date.now });
  let lastId = 0n;
  for (const pet of startingPets) {
    pets.set(pet.id, pet);
    lastId = pet.id;
  }
  let isClosed = false;
  const add = (values: NewPet): StoredPet => {
    if (isClosed) throw new StoreUnavailableError(CLOSED);
    if (lastId === INT64_MAX) throw new StoreUnavailableError(NO_ID_LEFT);
    const id = lastId + 1n;
    const pet = { ...values, id, text: formatPet(id, formatMembers(values)) };
    pets.set(id, pet);
    lastId = id;
    return pet;
  };
  return {
    create: async (newPet) => add(readNewPet(newPet)),
    async createOnce(newPet, key) {
      const values = readNewPet(newPet);
      // No pet has the id 0.
      const stored = pets.get(keys.find(key) ?? 0n);
      if (stored !== undefined && !isClosed)
        return { pet: replayedPet(stored, values), isReplayed: true };
      const pet = add(values);
      keys.add({ key, id: pet.id });
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
