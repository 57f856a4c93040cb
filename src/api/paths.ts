/**
 * The paths of the interface, below each base address; the version is their first segment (part 9).
 */

export const VERSION_SEGMENT = 'v1';
export const PETS_PATH = '/v1/pets';
export const PET_PATH = '/v1/pets/{petId}';
