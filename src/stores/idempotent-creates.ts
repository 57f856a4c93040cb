/**
 * Creates with a key: each key stores one pet, however often it is sent, also concurrently.
 *
 * A create that arrives while the first one with its key is in progress waits for that outcome. If
 * the first one is refused, one of the waiting creates is tried instead, so that it does not fail
 * for another create's reason. If that one is refused too, the others are refused with it:
 * otherwise 1,000 waiting creates would fail one after the other.
 */

import type { NewPet, StoredPet } from '../model/pet.ts';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreatedPet,
} from '../model/pet-store.ts';
import type { KeyHash } from './table/key-table.ts';

export interface IdempotentCreatesDeps {
  /** Returns the pet that the key stored, or undefined if it stored none. */
  find(key: KeyHash): StoredPet | undefined;
  /** Stores the pet and the key together. */
  create(newPet: NewPet, key: KeyHash): Promise<StoredPet>;
  /**
   * Counts a create that waits for the outcome of another one, until the returned function is
   * called. Throws StoreUnavailableError if too many wait.
   */
  hold(newPet: NewPet): () => void;
}

/** A create is refused after it has waited for this many refused creates with the same key. */
const MAX_REFUSALS = 2;

export class IdempotentCreates {
  readonly #store: IdempotentCreatesDeps;
  /** By key, the failure, if any, of the create in progress. The promise does not reject. */
  readonly #inProgress: Map<KeyHash, Promise<Error | undefined>> = new Map();

  constructor(store: IdempotentCreatesDeps) {
    this.#store = store;
  }

  async create(newPet: NewPet, key: KeyHash): Promise<CreatedPet> {
    let refusals = 0;
    for (;;) {
      const inProgress = this.#inProgress.get(key);
      if (inProgress !== undefined) {
        const refusal = await this.#waitFor(inProgress, newPet);
        if (refusal instanceof StoreUnavailableError) refusals += 1;
        if (refusals >= MAX_REFUSALS) throw refusal;
        continue;
      }
      // No await from here to the create: else another one with the key could begin in between.
      const stored = this.#store.find(key);
      if (stored !== undefined) return { pet: replayedPet(stored, newPet), isReplayed: true };
      return { pet: await this.#createFirst(newPet, key), isReplayed: false };
    }
  }

  /**
   * Resolves with the failure of the create in progress, or undefined. Rejects if its outcome is
   * unknown: then the outcome of all waiting creates is unknown, too.
   */
  async #waitFor(
    inProgress: Promise<Error | undefined>,
    newPet: NewPet,
  ): Promise<Error | undefined> {
    const release = this.#store.hold(newPet);
    try {
      const failure = await inProgress;
      if (failure instanceof OutcomeUnknownError) throw failure;
      return failure;
    } finally {
      release();
    }
  }

  #createFirst(newPet: NewPet, key: KeyHash): Promise<StoredPet> {
    const creating = this.#store.create(newPet, key);
    const settle = (failure?: Error): Error | undefined => {
      this.#inProgress.delete(key);
      return failure;
    };
    this.#inProgress.set(
      key,
      creating.then(() => settle(), settle),
    );
    return creating;
  }
}

/**
 * Returns `pet`, which the key stored. Throws KeyReusedError unless the new pet has the same
 * values; its JSON text may differ.
 */
export function replayedPet(pet: StoredPet, { name, categoryId, status }: NewPet): StoredPet {
  if (pet.name === name && pet.categoryId === categoryId && pet.status === status) return pet;
  throw new KeyReusedError(`The key was used for another pet, the one with the id ${pet.id}`);
}
