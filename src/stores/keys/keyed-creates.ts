/**
 * Creates with a key: each key stores one pet, however often and however many at once it is sent.
 *
 * Whoever comes while the first create with a key is under way waits for its outcome. Only what was
 * stored is remembered: after a refusal one of those who wait is tried in its place, so that nobody
 * is stuck on somebody else's failure.
 */

import type { NewPet, StoredPet } from '../../model/pet.ts';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreatedPet,
} from '../../model/pet-store.ts';
import type { RequestKey } from './key-table.ts';

/** What a store knows of a key. */
export type KnownKey = { readonly pet: StoredPet } | { readonly unknown: string };

/** What the creates stand on. */
export interface KeyedStore {
  /** What the key stored, or why nobody can tell; undefined where it stored nothing. */
  find(key: RequestKey): KnownKey | undefined;
  /** Stores the pet and the key together. */
  create(newPet: NewPet, key: RequestKey): Promise<StoredPet>;
}

/** So many may wait for the outcomes of others. */
const MAX_WAITING = 16_384;

export class KeyedCreates {
  readonly #store: KeyedStore;
  /** The outcome of the create under way with a key; it does not reject. */
  readonly #underWay: Map<RequestKey, Promise<Error | undefined>> = new Map();
  #waiting = 0;

  constructor(store: KeyedStore) {
    this.#store = store;
  }

  async create(newPet: NewPet, key: RequestKey): Promise<CreatedPet> {
    for (;;) {
      const underWay = this.#underWay.get(key);
      if (underWay === undefined) break;
      const failure = await this.#outcomeOf(underWay);
      if (failure instanceof OutcomeUnknownError) throw failure;
    }
    const known = this.#store.find(key);
    if (known === undefined) return { pet: await this.#createFirst(newPet, key), isReplayed: false };
    if ('unknown' in known) throw new OutcomeUnknownError(known.unknown);
    if (isSame(known.pet, newPet)) return { pet: known.pet, isReplayed: true };
    throw new KeyReusedError(`The key was used for another pet, the one with the id ${known.pet.id}`);
  }

  async #outcomeOf(underWay: Promise<Error | undefined>): Promise<Error | undefined> {
    if (this.#waiting >= MAX_WAITING) {
      throw new StoreUnavailableError('Too many requests wait for others with their key');
    }
    this.#waiting += 1;
    try {
      return await underWay;
    } finally {
      this.#waiting -= 1;
    }
  }

  #createFirst(newPet: NewPet, key: RequestKey): Promise<StoredPet> {
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

/** By value: another spelling of the same pet is the same pet. */
function isSame(pet: NewPet, other: NewPet): boolean {
  return (
    pet.name === other.name && pet.categoryId === other.categoryId && pet.status === other.status
  );
}
