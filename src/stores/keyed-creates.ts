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
import type { CommitQueue } from './commit-queue.ts';
import { replayedPet, type KeyHash } from './table/idempotency-keys.ts';

export class KeyedCreates {
  readonly #find: (key: KeyHash) => StoredPet | undefined;
  /** Creates that wait for another one keep their pet in memory: they count towards its bound. */
  readonly #queue: Pick<CommitQueue<unknown, unknown>, 'isFull' | 'hold'>;
  /** By key, the create in progress. */
  readonly #inProgress: Map<KeyHash, Promise<StoredPet>> = new Map();

  /** `find` returns the pet that a key has stored. */
  constructor(
    find: (key: KeyHash) => StoredPet | undefined,
    queue: Pick<CommitQueue<unknown, unknown>, 'isFull' | 'hold'>,
  ) {
    this.#find = find;
    this.#queue = queue;
  }

  /**
   * Resolves with the pet that the key has stored, or calls `create` to store one, of about `bytes`
   * bytes. Rejects with KeyReusedError if that is another pet, and as the create does.
   */
  async createOnce(
    newPet: NewPet,
    key: KeyHash,
    bytes: number,
    create: () => Promise<StoredPet>,
  ): Promise<CreatedPet> {
    const stored = this.#find(key);
    if (stored !== undefined) return { pet: replayedPet(stored, newPet), isReplayed: true };
    const earlier = this.#inProgress.get(key);
    if (earlier !== undefined) {
      return { pet: replayedPet(await this.#outcomeOf(earlier, bytes), newPet), isReplayed: true };
    }
    const creating = create();
    this.#inProgress.set(key, creating);
    try {
      return { pet: await creating, isReplayed: false };
    } finally {
      this.#inProgress.delete(key);
    }
  }

  async #outcomeOf(earlier: Promise<StoredPet>, bytes: number): Promise<StoredPet> {
    // Not refused: the earlier one may still be stored.
    if (this.#queue.isFull) {
      throw new OutcomeUnknownError('An earlier create with the key is in progress');
    }
    const release = this.#queue.hold(bytes);
    try {
      return await earlier;
    } finally {
      release();
    }
  }
}
