/**
 * Spec section 4 as a table: the three operations.
 *
 * Each needs an API key (section 5). The version is the first segment of each path (section 9).
 */

import type { Deprecation, Operation } from '../http/operation.ts';
import type { PetStore } from '../model/pet-store.ts';
import { createPet } from './create-pet.ts';
import { getPet } from './get-pet.ts';
import { listPets } from './list-pets.ts';
import { PET_PATH, PETS_PATH } from './paths.ts';

/**
 * The functions return the store. They throw StoreUnavailableError while it is not open, or while
 * creates are refused.
 */
export function petOperations(
  storeForRead: () => PetStore,
  storeForCreate: () => PetStore,
): readonly Operation[] {
  return [
    {
      name: 'listPets',
      method: 'GET',
      path: PETS_PATH,
      needsKey: true,
      handle: (request) => listPets(storeForRead(), request),
    },
    {
      name: 'createPet',
      method: 'POST',
      path: PETS_PATH,
      needsKey: true,
      handle: (request) => createPet(storeForCreate(), request),
    },
    {
      name: 'getPet',
      method: 'GET',
      path: PET_PATH,
      needsKey: true,
      deprecation: GET_PET_DEPRECATION,
      handle: (request) => getPet(storeForRead(), request),
    },
  ];
}

/** Deprecated since the first release, removed on 5 December 2030 (spec sections 4.3 and 9). */
export const GET_PET_DEPRECATION: Deprecation = {
  deprecatedSince: '2026-11-21T00:00:00Z',
  removedOn: '2030-12-05T00:00:00Z',
  successor: PETS_PATH,
};
