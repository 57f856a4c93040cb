/**
 * Safe retries: an idempotency key stores one pet, however often it is sent, also at the same time.
 *
 * For example, a client sends a create with the key K, gets no response, and sends it again. If the
 * first one is stored by then, the second gets the same pet. If it is still in progress, the second
 * waits for it, and shares its outcome: stored, refused, or in doubt. It is not tried anew in place
 * of a refused one, since what refused the first would refuse it, too.
 */

import type { NewPet, StoredPet } from '../model/pet.ts';
import { OutcomeUnknownError, type CreatedPet } from '../model/pet-store.ts';
import { replayedPet, type KeyHash } from './table/idempotency-keys.ts';
import { findStored, type Tables } from './table/tables.ts';

/** How many creates may wait for another one's outcome, of which they keep the pet in memory. */
const MAX_WAITING = 16_384;

export class KeyedCreates {
  readonly #tables: Tables;
  /** By key, the create in progress. */
  readonly #inProgress: Map<KeyHash, Promise<StoredPet>> = new Map();
  #waiting = 0;

  /** The tables have the pets and keys that are stored. */
  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /**
   * Resolves with the pet that the key has stored, or calls `create` to store one. Rejects with
   * KeyReusedError if that is another pet, and as the create does.
   */
  async createOnce(
    newPet: NewPet,
    key: KeyHash,
    create: () => Promise<StoredPet>,
  ): Promise<CreatedPet> {
    const stored = findStored(this.#tables, key);
    if (stored !== undefined) return { pet: replayedPet(stored, newPet), isReplayed: true };
    const earlier = this.#inProgress.get(key);
    if (earlier !== undefined) {
      return { pet: replayedPet(await this.#outcomeOf(earlier), newPet), isReplayed: true };
    }
    const creating = create();
    this.#inProgress.set(key, creating);
    try {
      return { pet: await creating, isReplayed: false };
    } finally {
      this.#inProgress.delete(key);
    }
  }

  async #outcomeOf(earlier: Promise<StoredPet>): Promise<StoredPet> {
    // Not refused: the earlier one may still be stored.
    if (this.#waiting === MAX_WAITING) {
      throw new OutcomeUnknownError('An earlier create with the key is in progress');
    }
    this.#waiting += 1;
    try {
      return await earlier;
    } finally {
      this.#waiting -= 1;
    }
  }
}
