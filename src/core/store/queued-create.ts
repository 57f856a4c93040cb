/** A create that waits for its commit, and the pets that a commit makes of such creates. */

import type { NewPet, PetStatus, StoredPet } from '../pets/pet.ts';
import { formatMembers, formatPet } from '../pets/pet-text.ts';
import type { KeyHash } from './idempotency-keys.ts';

export interface QueuedCreate {
  /** The members of the pet in its text, as formatMembers wrote them. */
  readonly members: string;
  readonly status: PetStatus | undefined;
  readonly key: KeyHash | undefined;
}

/** Returns the create of these values. Throws InvalidPetError. */
export function queuedCreate(newPet: NewPet, key?: KeyHash): QueuedCreate {
  return { members: formatMembers(newPet), status: newPet.status, key };
}

/** Returns the pet of each create. Their ids follow `lastId`. */
export function petsOf(creates: readonly QueuedCreate[], lastId: bigint): readonly StoredPet[] {
  return creates.map(({ members, status }, index) => {
    const id = lastId + BigInt(index + 1);
    return { id, text: formatPet(id, members), status };
  });
}
