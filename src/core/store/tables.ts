/** What a store has in memory: the pets, and the idempotency keys with which some were created. */

import type { Clock } from '../base/system.ts';
import type { StoredPet } from '../pets/pet.ts';
import { IdempotencyKeys, type KeyHash } from './idempotency-keys.ts';
import { PetTable } from './pet-table.ts';

export interface Tables {
  readonly pets: PetTable;
  readonly keys: IdempotencyKeys;
}

export interface TablesDeps {
  readonly clock: Pick<Clock, 'now'>;
}

export function emptyTables({ clock }: TablesDeps): Tables {
  return { pets: new PetTable(), keys: new IdempotencyKeys(clock) };
}

/** Returns the pet that the key has stored, if there is one. */
export function findStored({ pets, keys }: Tables, key: KeyHash): StoredPet | undefined {
  const id = keys.find(key);
  return id === undefined ? undefined : pets.get(id);
}
