/** What a store has in memory: the pets, and the idempotency keys with which some were created. */

import type { StoredPet } from '../pets/pet.ts';
import type { IdempotencyKeys, KeyHash } from './idempotency-keys.ts';
import type { PetTable } from './pet-table.ts';

export interface Tables {
  readonly pets: PetTable;
  readonly keys: IdempotencyKeys;
}

/** Returns the pet that the key has stored, if there is one. */
export function findStored({ pets, keys }: Tables, key: KeyHash): StoredPet | undefined {
  const id = keys.find(key);
  return id === undefined ? undefined : pets.get(id);
}
