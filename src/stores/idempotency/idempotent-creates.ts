/**
 * Creates with a key: each key stores one pet, however often and however many at once it is sent.
 *
 * A create that comes while the first one with its key is in progress waits for its outcome. Only
 * what was stored is remembered: after a refusal one of those that wait is tried in its place, so
 * that none is stuck on another's failure. Those that wait still when that one is refused, too, are
 * refused with it, since a thousand of them would fail one after the other.
 */

import type { NewPet, StoredPet } from '../../model/pet.ts';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreatedPet,
} from '../../model/pet-store.ts';
import type { KeyHash } from './key-table.ts';

/** What the creates stand on. */
export interface IdempotentCreatesDeps {
  /** What the key stored; undefined if it stored nothing. */
  find(key: KeyHash): StoredPet | undefined;
  /** Stores the pet and the key together. */
  create(newPet: NewPet, key: KeyHash): Promise<StoredPet>;
  /**
   * Counts a pet that waits for another one's outcome, until what this returns is called. Throws
   * StoreUnavailableError where too many wait.
   */
  hold(newPet: NewPet): () => void;
}

/** Who has waited for so many creates that were refused is refused, too. */
const MAX_REFUSALS = 2;

export class IdempotentCreates {
  readonly #store: IdempotentCreatesDeps;
  /** The outcome of the create under way with a key; it does not reject. */
  readonly #underWay: Map<KeyHash, Promise<Error | undefined>> = new Map();

  constructor(store: IdempotentCreatesDeps) {
    this.#store = store;
  }

  async create(newPet: NewPet, key: KeyHash): Promise<CreatedPet> {
    let refusals = 0;
    for (;;) {
      const underWay = this.#underWay.get(key);
      if (underWay !== undefined) {
        const refusal = await this.#waitFor(underWay, newPet);
        if (refusal instanceof StoreUnavailableError) refusals += 1;
        if (refusals >= MAX_REFUSALS) throw refusal;
        continue;
      }
      // No await from here to the create: else another one with the key could begin in between.
      const stored = this.#store.find(key);
      if (stored !== undefined) return { pet: samePet(stored, newPet), isReplayed: true };
      return { pet: await this.#createFirst(newPet, key), isReplayed: false };
    }
  }

  /**
   * Resolves when that create is over, with why it failed; where its outcome is unknown, so is that
   * of all who wait.
   */
  async #waitFor(underWay: Promise<Error | undefined>, newPet: NewPet): Promise<Error | undefined> {
    const release = this.#store.hold(newPet);
    try {
      const failure = await underWay;
      if (failure instanceof OutcomeUnknownError) throw failure;
      return failure;
    } finally {
      release();
    }
  }

  #createFirst(newPet: NewPet, key: KeyHash): Promise<StoredPet> {
    const creating = this.#store.create(newPet, key);
    const settle = (failure?: Error): Error | undefined => {
      this.#underWay.delete(key);
      return failure;
    };
    this.#underWay.set(
      key,
      creating.then(() => settle(), settle),
    );
    return creating;
  }
}

/**
 * The pet that the key stored. Throws KeyReusedError unless the new one is the same by value:
 * another spelling of a pet is the same pet.
 */
export function samePet(pet: StoredPet, { name, categoryId, status }: NewPet): StoredPet {
  if (pet.name === name && pet.categoryId === categoryId && pet.status === status) return pet;
  throw new KeyReusedError(`The key was used for another pet, the one with the id ${pet.id}`);
}
