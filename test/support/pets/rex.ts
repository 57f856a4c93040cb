/** A pet for tests, and its text. */

import type { NewPet } from '../../../src/model/pet.ts';
import { formatMembers } from '../../../src/model/pet-text.ts';
import type { PendingPet } from '../../../src/stores/commit.ts';

export const REX: NewPet = { name: 'Rex', categoryId: 7n };

/** The text of a Rex with this id. */
export const petText = (id: number | bigint): string => `{"id":${id},"name":"Rex","categoryId":7}`;

/** When the keys of these commits are forgotten: in the year 2100, unless cut to 24 hours. */
export const EXPIRES_AT: number = Date.UTC(2100, 0);

/** The pet as it waits for its commit in etcd. */
export function pendingPet(newPet: NewPet, key?: string): PendingPet {
  const pet = { members: formatMembers(newPet), status: newPet.status };
  return key === undefined ? pet : { ...pet, key };
}
