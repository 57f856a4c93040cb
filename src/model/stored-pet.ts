/**
 * Pets and pages of stores that keep texts. Their values are parsed from the text only if a program
 * reads them. The service itself does so only to compare a repeated create (`replayedPet`).
 */

import type { Pet, StoredPet } from './pet.ts';
import type { PetPage } from './pet-store.ts';
import { parsePet, PET_SEPARATOR } from './pet-text.ts';

export function storedPetOf(id: bigint, text: string): StoredPet {
  let pet: Pet | undefined;
  const parsed = (): Pet => (pet ??= parsePet(text));
  return {
    id,
    text,
    get name() {
      return parsed().name;
    },
    get categoryId() {
      return parsed().categoryId;
    },
    get status() {
      return parsed().status;
    },
  };
}

/** Returns the page whose text formatPets wrote. */
export function petPageOf(text: string, next: bigint | undefined): PetPage {
  let pets: readonly StoredPet[] | undefined;
  return {
    text,
    textBytes: Buffer.byteLength(text),
    next,
    get pets() {
      // No pet's text contains the separator: JSON escapes a line feed in a name.
      const texts = text === '[]' ? [] : text.slice(1, -1).split(PET_SEPARATOR);
      return (pets ??= texts.map((each) => ({ ...parsePet(each), text: each })));
    },
  };
}
