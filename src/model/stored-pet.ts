/**
 * Pets and pages of stores that keep texts. Their values are parsed from the text only if a program
 * reads them. The service itself does so to compare a repeated create (`replayedPet`), and to load
 * pets into a memory store.
 */

import type { Pet, PetStatus, StoredPet } from './pet.ts';
import type { PetPage } from './pet-store.ts';
import { parsePet, PET_SEPARATOR } from './pet-text.ts';

/** A pet in a store, by its id and its text. */
export class TextPet implements StoredPet {
  readonly id: bigint;
  readonly text: string;
  #pet: Pet | undefined;

  constructor(id: bigint, text: string) {
    this.id = id;
    this.text = text;
  }

  get name(): string {
    return this.#parsed.name;
  }

  get categoryId(): bigint {
    return this.#parsed.categoryId;
  }

  get status(): PetStatus | undefined {
    return this.#parsed.status;
  }

  get #parsed(): Pet {
    return (this.#pet ??= parsePet(this.text));
  }
}

/** The page whose text formatPets wrote. */
export class TextPage implements PetPage {
  readonly text: string;
  readonly textBytes: number;
  readonly next: bigint | undefined;

  constructor(text: string, next: bigint | undefined) {
    this.text = text;
    this.textBytes = Buffer.byteLength(text);
    this.next = next;
  }

  get pets(): readonly StoredPet[] {
    // No pet's text contains the separator: JSON escapes a line feed in a name.
    const texts = this.text === '[]' ? [] : this.text.slice(1, -1).split(PET_SEPARATOR);
    return texts.map((text) => ({ ...parsePet(text), text }));
  }
}
