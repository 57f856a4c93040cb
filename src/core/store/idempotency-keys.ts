/**
 * The idempotency keys that are remembered: which pet each of them stored, and until when.
 *
 * Holds the newest 100,000. A key is found until it expires, for 24 hours; then it stays until it
 * is evicted. The keys are in a Map, in the order of their pets' ids: V8 seeds its hashes, so that
 * chosen keys do not collide, and it keeps the order of insertion, so that the oldest key is the
 * first one. A key takes about 200 bytes.
 *
 * Keys age by the monotonic clock: if the system clock is set, no key expires early.
 */

import type { Clock } from '../base/system.ts';
import type { StoredPet } from '../pets/pet.ts';
import { KeyReusedError } from '../pets/pet-store.ts';
import { formatPet } from '../pets/pet-text.ts';

/** The first 16 bytes of a SHA-256, as 32 hex digits (api/operations.ts). */
export type KeyHash = string;

/** A key and what it stored. */
export interface KeyEntry {
  readonly key: KeyHash;
  /** The id of its pet. */
  readonly id: bigint;
  /** When it is forgotten, by the monotonic clock. */
  readonly endsAt: number;
}

export const MAX_IDEMPOTENCY_KEYS = 100_000;
export const KEY_LIFETIME_MS: number = 24 * 60 * 60 * 1000;

export class IdempotencyKeys {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #capacity: number;
  readonly #keys: Map<KeyHash, Omit<KeyEntry, 'key'>> = new Map();
  /**
   * The keys in the order in which they are evicted. The iterator also reaches keys that
   * are added later.
   */
  readonly #oldestFirst: MapIterator<KeyHash> = this.#keys.keys();
  /** How many keys were evicted before they expired. */
  evicted = 0;

  /** For tests: `capacity` is how many keys are kept. */
  constructor(clock: Pick<Clock, 'now'>, capacity: number = MAX_IDEMPOTENCY_KEYS) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  /** How many keys are held, including expired ones. */
  get length(): number {
    return this.#keys.size;
  }

  /**
   * Returns the id of the pet that the key stored, or undefined if it stored none or has expired.
   */
  find(key: KeyHash): bigint | undefined {
    const held = this.#keys.get(key);
    return held === undefined || held.endsAt <= this.#clock.now() ? undefined : held.id;
  }

  /** Adds a key. Its id must be greater than that of each key before. */
  add(key: KeyHash, id: bigint, endsAt: number): void {
    // A key that is stored again moves to the position of its greater id.
    this.#keys.delete(key);
    if (this.#keys.size === this.#capacity) {
      const oldest = this.#oldestFirst.next().value!;
      if (this.#keys.get(oldest)!.endsAt > this.#clock.now()) this.evicted += 1;
      this.#keys.delete(oldest);
    }
    this.#keys.set(flat(key), { id, endsAt });
  }

  /** Yields the entries that have not expired, in ascending order of id. */
  *entries(): Generator<KeyEntry, undefined> {
    const now = this.#clock.now();
    for (const [key, { id, endsAt }] of this.#keys) if (endsAt > now) yield { key, id, endsAt };
  }
}

/** Returns a copy. A key that was cut out of a longer string would keep that string in memory. */
function flat(key: KeyHash): KeyHash {
  return Buffer.from(key, 'latin1').toString('latin1');
}

/**
 * Returns `pet`, which the key stored. Throws KeyReusedError unless the new pet has the same
 * values, and so, as formatMembers writes them, the same members.
 */
export function replayedPet(pet: StoredPet, members: string): StoredPet {
  if (pet.text === formatPet(pet.id, members)) return pet;
  throw new KeyReusedError(`The key was used for another pet, the one with the id ${pet.id}`);
}
