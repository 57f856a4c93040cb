/**
 * The client: the interface's three operations as typed functions, for Node and for browsers.
 *
 * It needs `fetch` and nothing else: no part of Node, no package. An int64 is exact both ways: it
 * comes as a bigint, always, and goes as a bigint or as a number that is a safe integer.
 */

import type { Int64 } from '../base/int64.ts';
import { findLink } from '../base/link-header.ts';
import { cut, quoteValue } from '../base/quote.ts';
import type { Pet, PetStatus } from '../model/pet.ts';
import { stringifyPet } from '../model/stringify-pet.ts';
import { invalidAnswer, petFrom, petsFrom, type ServiceResponse } from './responses.ts';
import { systemClock, type Clock } from './clock.ts';
import { PetStoreError, type ClientErrorCode } from './pet-store-error.ts';
import {
  checkApiKey,
  encodeNewPet,
  isBelow,
  listPetsUrl,
  petsUrl,
  petUrl,
  readBaseUrl,
  readIdempotencyKey,
  type NewPet,
  type PetQuery,
} from './requests.ts';
import { send, type PetStoreRequest } from './send.ts';

export { PetStoreError, stringifyPet };
export type { ClientErrorCode, Int64, NewPet, Pet, PetQuery, PetStatus };

/**
 * Every function rejects with a PetStoreError, with a TypeError or RangeError for an argument that
 * cannot be sent, or with the reason of its signal when that is aborted.
 */
export interface PetStoreClient {
  /**
   * One page of pets, in ascending order of id (`GET /pets`).
   *
   * For the page after it, give its `next` in place of a query:
   *
   *     let page = await client.listPets({ status: 'available' });
   *     while (page.next !== undefined) page = await client.listPets(page.next);
   */
  listPets(query?: PetQuery | string, options?: CallOptions): Promise<PetPage>;

  /**
   * All pets that match, in ascending order of id, page by page as they are asked for: the query's
   * `limit` is that of one page, here 100 by default. The time limit and the retries in `options`
   * are those of one page; the signal ends the whole.
   *
   *     for await (const pet of client.allPets({ status: 'available' })) console.log(pet.name);
   */
  allPets(query?: PetQuery | string, options?: CallOptions): AsyncGenerator<Pet, void, undefined>;

  /**
   * Adds a pet, and resolves when it is stored for good, with its id (`POST /pets`).
   *
   * After the codes `network_failure` (unless its message says that no pet was added), `timeout`
   * and the service's own `outcome_unknown`, and after a proxy's failure (`unexpected_status`), it
   * is not known whether the pet was added. Without an idempotency key the client tries again by
   * itself only when the service says that it was not; with one also after no answer and after 500,
   * 502, 503 and 504, always with that key. Should it reject even so, the caller may go on with the
   * same key for 24 hours.
   */
  createPet(newPet: NewPet, options?: CreateOptions): Promise<Pet>;

  /**
   * The pet with this id (`GET /pets/{petId}`); a PetStoreError with the code `not_found` when
   * there is none.
   *
   * @deprecated since 21 November 2026, and removed on 5 December 2030: from then on it rejects
   * with the code `operation_removed`. Use listPets or allPets with a `status` instead.
   */
  getPet(id: Int64, options?: CallOptions): Promise<Pet>;
}

export interface PetPage {
  readonly pets: readonly Pet[];
  /** The URL of the next page, for listPets; undefined on the last one. */
  readonly next: string | undefined;
}

/** What may be different for one call. */
export interface CallOptions {
  /** Ends the call when it is aborted, and a wait before a retry too. */
  readonly signal?: AbortSignal | undefined;
  /** For the whole call, retries and the waits before them included: from 1, Infinity for none. */
  readonly timeoutMs?: number | undefined;
  /** How often a request that is safe to repeat is sent again at the most; 0 for never. */
  readonly retries?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /**
   * The key stores one pet, however often it is sent: 1 to 255 visible ASCII characters that no
   * other create has. `true` lets the client make one for this call (a random UUID).
   */
  readonly idempotencyKey?: string | boolean | undefined;
}

export interface ClientOptions {
  /**
   * The base address of the service, which ends in /v1, such as `https://pets.example/v1`: http or
   * https, without credentials, query or fragment.
   */
  readonly baseUrl: string | URL;
  /** It is sent below the base URL only, and is in no error. */
  readonly apiKey: string;
  /** In place of the global one. */
  readonly fetch?: typeof fetch | undefined;
  /** 30,000 by default; see CallOptions. */
  readonly timeoutMs?: number | undefined;
  /** 2 by default; see CallOptions. */
  readonly retries?: number | undefined;
  /** For tests: a clock that does not wait. */
  readonly clock?: Clock | undefined;
}

/** Throws a TypeError for an option that is invalid. */
export function createClient(options: ClientOptions): PetStoreClient {
  const baseUrl = readBaseUrl(options.baseUrl);
  checkApiKey(options.apiKey);
  const defaults = readCallOptions(options, { timeoutMs: 30_000, retries: 2 });
  // Not a method call: a browser's fetch does not work as one.
  const { apiKey, fetch: sendRequest = fetch, clock = systemClock } = options;

  const call = async (
    request: PetStoreRequest,
    options: CallOptions = {},
  ): Promise<ServiceResponse> => {
    const { signal } = options;
    const limits = readCallOptions(options, defaults);
    return send(request, { fetch: sendRequest, apiKey, clock, signal, ...limits });
  };

  async function listPets(query: PetQuery | string = {}, options?: CallOptions): Promise<PetPage> {
    const isLink = typeof query === 'string';
    const url = isLink ? linkUrl(baseUrl, query) : listPetsUrl(baseUrl, query);
    const request = { operation: 'listPets', method: 'GET', url, expectedStatus: 200 } as const;
    const answer = await call(request, options);
    return { pets: petsFrom(answer), next: readNext(answer, url, baseUrl) };
  }

  async function* allPets(
    query: PetQuery | string = {},
    options?: CallOptions,
  ): AsyncGenerator<Pet, void, undefined> {
    let lastId: bigint | undefined;
    let next: PetQuery | string | undefined =
      typeof query === 'string' ? query : { ...query, limit: query.limit ?? MAX_LIMIT };
    while (next !== undefined) {
      const page: PetPage = await listPets(next, options);
      for (const pet of page.pets) {
        if (lastId !== undefined && pet.id <= lastId) throw notAscending();
        lastId = pet.id;
        yield pet;
      }
      if (page.next !== undefined && page.pets.length === 0) {
        throw invalidAnswer('A page without pets has a next page', 200);
      }
      next = page.next;
    }
  }

  return {
    listPets,
    allPets,
    async createPet(newPet, options) {
      const [url, body] = [petsUrl(baseUrl), encodeNewPet(newPet)];
      const idempotencyKey = readIdempotencyKey(options?.idempotencyKey);
      const post = { operation: 'createPet', method: 'POST', url, expectedStatus: 201 } as const;
      return petFrom(await call({ ...post, body, idempotencyKey }, options));
    },
    async getPet(id, options) {
      const url = petUrl(baseUrl, id);
      const request = { operation: 'getPet', method: 'GET', url, expectedStatus: 200 } as const;
      return petFrom(await call(request, options));
    },
  };
}

const MAX_LIMIT = 100;

/** The most that a timer takes: a longer one would fire at once. */
const MAX_TIMEOUT_MS: number = 2 ** 31 - 1;

interface CallLimits {
  readonly timeoutMs: number;
  readonly retries: number;
}

function readCallOptions(options: CallOptions, defaults: CallLimits): CallLimits {
  const { timeoutMs = defaults.timeoutMs, retries = defaults.retries } = options;
  const isTime = isIntegerWithin(timeoutMs, 1, MAX_TIMEOUT_MS) || timeoutMs === Infinity;
  if (!isTime) {
    const expected = `an integer from 1 to ${MAX_TIMEOUT_MS} or Infinity`;
    throw new TypeError(`timeoutMs must be ${expected}, not ${quoteValue(timeoutMs)}`);
  }
  if (!isIntegerWithin(retries, 0, Number.MAX_SAFE_INTEGER)) {
    throw new TypeError(`retries must be an integer from 0 on, not ${quoteValue(retries)}`);
  }
  return { timeoutMs, retries };
}

function isIntegerWithin(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

/** The URL of a page that a caller kept. */
function linkUrl(baseUrl: URL, link: string): URL {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url !== undefined && isBelow(baseUrl, url)) return url;
  throw new TypeError('A page must be the `next` URL of another page, below the base URL');
}

/** The URL of the page after this one. Throws a PetStoreError (invalid_answer). */
function readNext(answer: ServiceResponse, url: URL, baseUrl: URL): string | undefined {
  const { status, headers } = answer;
  const field = headers.get('Link');
  if (field === null) return undefined;
  let next: URL | undefined;
  try {
    const target = findLink(field, 'next');
    if (target === undefined) return undefined;
    next = new URL(target, url);
  } catch {
    throw invalidAnswer('The Link of the answer cannot be read', status);
  }
  if (isBelow(baseUrl, next)) return next.href;
  const there = next.origin === baseUrl.origin ? 'another path' : cut(next.origin);
  const message = `The next page is at ${there}, not below ${baseUrl.href}: it is not asked for`;
  throw invalidAnswer(message, status);
}

/** Without this and the check for empty pages, a service that leads in a circle would never end. */
function notAscending(): PetStoreError {
  return invalidAnswer('The ids of the list do not ascend from page to page', 200);
}
