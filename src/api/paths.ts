/**
 * The paths of the interface, below each base address; the version is their first segment (part 9).
 */

export const BASE_PATH = '/v1';
export const PETS_PATH: string = `${BASE_PATH}/pets`;
export const PET_PATH: string = `${PETS_PATH}/{petId}`;
