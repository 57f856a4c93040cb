/**
 * Safe retries: an idempotency key stores one pet, however often it is sent, also at the same time.
 *
 * For example, a client sends a create with the key K, gets no response, and sends it again. If the
 * first one is stored by then, the second gets the same pet. If it is still in progress, the second
 * waits for it, and shares its outcome: stored, refused, or in doubt. It is not tried anew in place
 * of a refused one, since what refused the first would refuse it, too.
 *
 * The rule: before a client learns that its create failed, the key is looked up again, since a
 * commit that was in doubt may have stored it meanwhile. And a create is not refused while it is in
 * doubt whether an earlier one has stored the key: then its outcome is unknown, too.
 */

import type { StoredPet } from '../pets/pet.ts';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreateOnceResult,
} from '../pets/pet-store.ts';
import type { CommitQueue } from './commit-queue.ts';
import { replayedPet, type KeyHash } from './idempotency-keys.ts';
import { findStored, type Tables } from './tables.ts';

/** Returns the error for a create whose key may be stored; undefined if that is not in doubt. */
type DoubtOf = (key: KeyHash) => OutcomeUnknownError | undefined;

type Queue = Pick<CommitQueue<unknown>, 'isFull' | 'hold'>;

export class KeyedCreates {
  readonly #tables: Tables;
  readonly #doubtOf: DoubtOf;
  /** Creates that wait for another one keep their pet in memory: they count towards its bound. */
  readonly #queue: Queue;
  /** By key, the create in progress. */
  readonly #inProgress: Map<KeyHash, Promise<StoredPet>> = new Map();

  /** The tables have the pets and keys that are stored. */
  constructor(tables: Tables, doubtOf: DoubtOf, queue: Queue) {
    this.#tables = tables;
    this.#doubtOf = doubtOf;
    this.#queue = queue;
  }

  /**
   * Resolves with the pet that the key has stored, or calls `create` to store one with these
   * members. Rejects with KeyReusedError if that is another pet, and as the create does.
   */
  async createOnce(
    members: string,
    key: KeyHash,
    create: () => Promise<StoredPet>,
  ): Promise<CreateOnceResult> {
    const stored = this.#find(members, key);
    if (stored !== undefined) return stored;
    try {
      const earlier = this.#inProgress.get(key);
      if (earlier !== undefined) return await this.#replayOf(earlier, members);
      const creating = create().finally(() => this.#inProgress.delete(key));
      this.#inProgress.set(key, creating);
      return { pet: await creating, isReplayed: false };
    } catch (error) {
      const isRefused = error instanceof StoreUnavailableError;
      if (!isRefused && !(error instanceof OutcomeUnknownError)) throw error;
      const storedMeanwhile = this.#find(members, key);
      if (storedMeanwhile !== undefined) return storedMeanwhile;
      throw (isRefused ? this.#doubtOf(key) : undefined) ?? error;
    }
  }

  #find(members: string, key: KeyHash): CreateOnceResult | undefined {
    const stored = findStored(this.#tables, key);
    return stored && { pet: replayedPet(stored, members), isReplayed: true };
  }

  /** Waits for an earlier create with the key. */
  async #replayOf(earlier: Promise<StoredPet>, members: string): Promise<CreateOnceResult> {
    // Not refused: the earlier one may still be stored.
    if (this.#queue.isFull) {
      throw new OutcomeUnknownError('An earlier create with the key is in progress');
    }
    const release = this.#queue.hold(Buffer.byteLength(members));
    try {
      return { pet: replayedPet(await earlier, members), isReplayed: true };
    } finally {
      release();
    }
  }
}
