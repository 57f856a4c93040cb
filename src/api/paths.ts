/** The paths of the API, after the prefix. The version is the first segment (spec section 9). */

export const BASE_PATH = '/v1';
export const PETS_PATH: string = `${BASE_PATH}/pets`;
export const PET_PATH: string = `${PETS_PATH}/{petId}`;
