/** A pet for tests, and its text. */

import type { NewPet } from '../../../src/core/pets/pet.ts';

export const REX: NewPet = { name: 'Rex', categoryId: 7n };

/** The text of a Rex with this id. */
export const petText = (id: number | bigint): string => `{"id":${id},"name":"Rex","categoryId":7}`;
