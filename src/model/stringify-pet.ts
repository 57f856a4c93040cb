/**
 * The JSON text of a pet, for programs, in Node.js and in browsers (spec section 2).
 *
 * JSON.stringify throws a TypeError for a bigint, and a number would round an int64.
 */

import type { NewPet, Pet } from './pet.ts';

/** Returns the JSON text of the pet, exact to the last digit, as the service sends it. */
export function stringifyPet(pet: Pet): string {
  return `{"id":${pet.id},${joinMembers(pet)}}`;
}

/** Returns the members of a pet in its JSON text, without its id. */
export function joinMembers({ name, categoryId, status }: NewPet): string {
  const statusMember = status === undefined ? '' : `,"status":"${status}"`;
  return `"name":${JSON.stringify(name)},"categoryId":${categoryId}${statusMember}`;
}
