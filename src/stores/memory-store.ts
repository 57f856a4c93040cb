/**
 * The simplest PetStore, and the one to read first: pets in an array, for tests and for programs
 * that want no file. It promises the least that PetStore allows: a pet is lost when the process
 * ends.
 */

import { systemClock } from '../base/clock.ts';
import { INT64_MAX } from '../base/int64.ts';
import type { NewPet, PetStatus, StoredPet } from '../model/pet.ts';
import { CLOSED, NO_ID_LEFT, StoreUnavailableError, type PetStore } from '../model/pet-store.ts';
import { formatMembers, formatPet, formatPets, readNewPet } from '../model/pet-text.ts';
import { KeyTable, replayedPet } from './table/key-table.ts';

/** A store that begins with these pets, in ascending order of id. */
export function createMemoryStore(startingPets: Iterable<StoredPet> = []): PetStore {
  const pets = [...startingPets];
  const keys = new KeyTable(systemClock);
  let isClosed = false;
  /** Returns how many pets have this id or a smaller one, by binary search. */
  const countUpTo = (id: bigint): number => {
    let [low, high] = [0, pets.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pets[middle]!.id <= id) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const get = (id: bigint): StoredPet | undefined => {
    const pet = pets[countUpTo(id) - 1];
    return pet?.id === id ? pet : undefined;
  };
  const add = (values: NewPet): StoredPet => {
    if (isClosed) throw new StoreUnavailableError(CLOSED);
    const lastId = pets.at(-1)?.id ?? 0n;
    if (lastId === INT64_MAX) throw new StoreUnavailableError(NO_ID_LEFT);
    const id = lastId + 1n;
    const pet = { ...values, id, text: formatPet(id, formatMembers(values)) };
    pets.push(pet);
    return pet;
  };
  return {
    create: async (newPet) => add(readNewPet(newPet)),
    async createOnce(newPet, key) {
      const values = readNewPet(newPet);
      // No pet has the id 0.
      const stored = get(keys.find(key) ?? 0n);
      if (stored !== undefined && !isClosed)
        return { pet: replayedPet(stored, values), isReplayed: true };
      const pet = add(values);
      keys.add({ key, id: pet.id });
      return { pet, isReplayed: false };
    },
    get,
    list({ limit, status, after = 0n }) {
      const page: StoredPet[] = [];
      let next: bigint | undefined;
      for (let index = countUpTo(after); index < pets.length; index += 1) {
        const pet = pets[index]!;
        if (status !== undefined && pet.status !== status) continue;
        if (page.length === limit) {
          next = page.at(-1)?.id;
          break;
        }
        page.push(pet);
      }
      return { pets: page, text: formatPets(page.map(({ text }) => text)), next };
    },
    count() {
      const byStatus: Record<PetStatus, number> = { available: 0, pending: 0, sold: 0 };
      for (const { status } of pets) if (status !== undefined) byStatus[status] += 1;
      return { total: pets.length, byStatus };
    },
    problem: () => (isClosed ? CLOSED : undefined),
    async close() {
      isClosed = true;
    },
  };
}
