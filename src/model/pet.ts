/**
 * PetStatus, NewPet and Pet (spec sections 2 and 3), as a program holds them.
 *
 * The two integers are int64 and so bigint here: a number would round them above 2^53.
 */

export type PetStatus = 'available' | 'pending' | 'sold';

export const PET_STATUSES: readonly PetStatus[] = ['available', 'pending', 'sold'];

export interface NewPet {
  /** Any string, the empty one and lone surrogates included. */
  readonly name: string;
  /** int64; it is not checked against any category. */
  readonly categoryId: bigint;
  /** Absent stays absent: such a pet matches no status filter. */
  readonly status?: PetStatus | undefined;
}

export interface Pet extends NewPet {
  /** int64, given by the store, positive and ascending in the order of creation. */
  readonly id: bigint;
}

/** A Pet in a store, with its JSON text as it is sent (pet-text.ts). */
export interface StoredPet extends Pet {
  readonly text: string;
}

export function isPetStatus(value: unknown): value is PetStatus {
  return (PET_STATUSES as readonly unknown[]).includes(value);
}

/**
 * Returns the JSON text of the pet, exact to the last digit, as the service sends it. It works in
 * browsers, too. JSON.stringify throws a TypeError for a bigint.
 */
export function stringifyPet(pet: Pet): string {
  return `{"id":${pet.id},${joinMembers(pet)}}`;
}

/** Returns the members of a pet in its JSON text, without its id. */
export function joinMembers({ name, categoryId, status }: NewPet): string {
  const statusMember = status === undefined ? '' : `,"status":"${status}"`;
  return `"name":${JSON.stringify(name)},"categoryId":${categoryId}${statusMember}`;
}
