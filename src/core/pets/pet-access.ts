/**
 * The pets as values, for the program around the app: the same pets that requests see, without HTTP
 * and without a key. As in the client, an int64 is returned as a bigint, and may be given as a
 * number that is a safe integer.
 */

import { isObject } from '../base/exact-json.ts';
import { findInt64Error, toInt64, type Int64 } from '../base/int64.ts';
import { quoteValue } from '../base/quote.ts';
import {
  assertNames,
  isPetStatus,
  DEFAULT_LIMIT,
  EXPECTED_STATUS,
  MAX_LIMIT,
  QUERY_NAMES,
  type Pet,
  type PetInput,
  type PetQuery,
  type PetStatus,
} from './pet.ts';
import type { PetCount, PetStore } from './pet-store.ts';
import { parsePet, splitPets } from './pet-text.ts';

/** Each rejects with StoreUnavailableError while the store is not open. */
export interface PetAccess {
  /**
   * Resolves with a page, by ascending id. Rejects with RangeError if the query is invalid, and
   * with TypeError if it is no object, or has an unknown name.
   */
  list(query?: PetQuery): Promise<PetAccessPage>;
  /** Yields all pets that match. Reads page by page: pets that are added meanwhile come last. */
  all(query?: { readonly status?: PetStatus | undefined }): AsyncGenerator<Pet, void, undefined>;
  /**
   * Resolves with the pet with this id, or undefined if there is none. Rejects with TypeError or
   * RangeError if the id is not an int64.
   */
  get(id: Int64): Promise<Pet | undefined>;
  /**
   * Resolves with the pet when it is durable. Rejects with InvalidPetError or
   * StoreUnavailableError if nothing of it is stored, and with OutcomeUnknownError if that is
   * unknown.
   *
   * With an idempotency key it may be called again: for 24 hours the key stores one pet, which each
   * of these calls returns. These keys are separate from those of requests. Rejects with
   * KeyReusedError if the key has stored another pet, with RangeError if the key is invalid, and
   * with TypeError if the store does not support keys.
   */
  create(newPet: PetInput, options?: PetAccessCreateOptions): Promise<Pet>;
  count(): Promise<PetCount>;
}

export interface PetAccessCreateOptions {
  /** 1 to 255 visible ASCII characters, different for each pet. */
  readonly idempotencyKey?: string | undefined;
}

export interface PetAccessPage {
  readonly pets: readonly Pet[];
  /** The next page's `after`, or undefined if no more pets match. */
  readonly next: bigint | undefined;
}

/**
 * Both functions return the store, or throw StoreUnavailableError if none is open for such a call.
 * `hashKey` returns the hash under which the store keeps an idempotency key. It throws RangeError
 * if the key is invalid.
 */
export function createPetAccess(
  storeForRead: () => PetStore,
  storeForCreate: () => PetStore,
  hashKey: (idempotencyKey: string) => string,
): PetAccess {
  const list = async (query: PetQuery = {}): Promise<PetAccessPage> => {
    assertObject('A query', query);
    assertNames('A query', query, QUERY_NAMES);
    const { limit = DEFAULT_LIMIT, status, after } = query;
    checkQuery(limit, status, after);
    const afterId = after === undefined ? undefined : BigInt(after);
    const { text, next } = await storeForRead().list({ limit, status, after: afterId });
    return { pets: splitPets(text).map(parsePet), next };
  };
  return {
    list,
    async *all(query = {}) {
      assertObject('A query', query);
      assertNames('A query of all', query, ['status']);
      const { status } = query;
      let after: bigint | undefined;
      do {
        const page = await list({ limit: MAX_LIMIT, status, after });
        yield* page.pets;
        after = page.next;
      } while (after !== undefined);
    },
    async get(id) {
      const pet = await storeForRead().get(toInt64('id', id));
      return pet === undefined ? undefined : parsePet(pet.text);
    },
    async create(pet, options = {}) {
      assertObject('A pet', pet);
      assertNames('The second argument', options, ['idempotencyKey']);
      const { idempotencyKey } = options;
      const { name, categoryId, status } = pet;
      const store = storeForCreate();
      // The store checks the values.
      const exact = Number.isSafeInteger(categoryId) ? BigInt(categoryId) : (categoryId as bigint);
      const newPet = { name, categoryId: exact, status };
      if (idempotencyKey === undefined) return parsePet((await store.create(newPet)).text);
      const key = hashKey(idempotencyKey);
      if (store.createOnce === undefined) {
        throw new TypeError('The store remembers no keys: it has no createOnce');
      }
      return parsePet((await store.createOnce(newPet, key)).pet.text);
    },
    count: async () => storeForRead().count(),
  };
}

/** The types are no help to a program in JavaScript. */
function assertObject(what: string, value: unknown): void {
  if (isObject(value)) return;
  throw new TypeError(`${what} must be an object, not ${quoteValue(value)}`);
}

function checkQuery(limit: unknown, status: unknown, after: unknown): void {
  const invalid: string[] = [];
  if (!Number.isInteger(limit) || Number(limit) < 1) {
    invalid.push(`limit must be an integer from 1 on, not ${quoteValue(limit)}`);
  }
  if (status !== undefined && !isPetStatus(status)) {
    invalid.push(`status must be ${EXPECTED_STATUS}, not ${quoteValue(status)}`);
  }
  const afterError = after === undefined ? undefined : findInt64Error('after', after);
  if (afterError !== undefined) invalid.push(afterError.message);
  if (invalid.length > 0) throw new RangeError(invalid.join('; '));
}
