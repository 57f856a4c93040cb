/**
 * The client: the three operations of SPEC.md (S4) as typed functions, for Node and browsers.
 *
 * It needs only `fetch`: no module of Node and no package. An int64 is exact both ways: the client
 * returns it as a bigint, and accepts a bigint or a safe integer.
 */

import { toInt64, type Int64 } from '../../core/base/int64.ts';
import { findLink } from './link-header.ts';
import { cut, quoteValue } from '../../core/base/quote.ts';
import {
  assertNames,
  MAX_LIMIT,
  QUERY_NAMES,
  stringifyPet,
  type Pet,
  type PetInput,
  type PetQuery,
  type PetStatus,
} from '../../core/pets/pet.ts';
import { invalidAnswer, petFrom, petsFrom, type ServiceResponse } from './responses.ts';
import { PetStoreError, type ClientErrorCode, type PetStoreErrorCode } from './pet-store-error.ts';
import {
  checkApiKey,
  encodeNewPet,
  listPetsUrl,
  petsUrl,
  parseUrl,
  readBaseUrl,
  readIdempotencyKey,
} from './requests.ts';
import { send, type PetStoreRequest, type SendOptions } from './send.ts';

export { PetStoreError, stringifyPet };
export type { ClientErrorCode, Int64, Pet, PetInput, PetQuery, PetStatus, PetStoreErrorCode };

/**
 * Every function rejects with a PetStoreError if the call fails, with a TypeError or RangeError if
 * an argument is invalid, and with the reason of its signal if that is aborted.
 */
export interface PetStoreClient {
  /**
   * Resolves with a page of pets, in ascending order of id (`GET /pets`).
   *
   * Pass the `next` of a page instead of a query to get the page after it:
   *
   *     let page = await client.listPets({ status: 'available' });
   *     while (page.next !== undefined) page = await client.listPets(page.next);
   */
  listPets(query?: PetQuery | string, options?: CallOptions): Promise<PetPage>;

  /**
   * Yields all pets that match, in ascending order of id. It fetches a page when it is needed. The
   * query's `limit` is the length of a page, 100 by default. The time limit and the retries in
   * `options` apply to each page. The signal ends the whole iteration.
   *
   *     for await (const pet of client.allPets({ status: 'available' })) console.log(pet.name);
   */
  allPets(query?: PetQuery | string, options?: CallOptions): AsyncGenerator<Pet, void, undefined>;

  /**
   * Adds a pet. Resolves with the pet and its id when it is durably stored (`POST /pets`).
   *
   * If any attempt may have added the pet, the error says so: with the code `outcome_unknown`, or
   * at the end of its message, even if the last attempt was refused with `unavailable`. After an
   * abort it is not known either. With the code `invalid_answer` and the status 201, the pet was
   * probably added. Without an idempotency key the client retries only if the service says that no
   * pet was added. With a key it also retries after no response, 500, 502, 503 and 504, always with
   * that key. If it rejects, the caller can use the same key again for 24 hours.
   */
  createPet(newPet: PetInput, options?: CreateOptions): Promise<Pet>;

  /**
   * Resolves with the pet with this id (`GET /pets/{petId}`). Rejects with a PetStoreError with the
   * code `not_found` if there is none.
   *
   * @deprecated since 21 November 2026. It is removed on 5 December 2030: from then on it rejects
   * with the code `operation_removed`. Use listPets or allPets with a `status` instead.
   */
  getPet(id: Int64, options?: CallOptions): Promise<Pet>;
}

export interface PetPage {
  readonly pets: readonly Pet[];
  /** The URL of the next page, for listPets. Undefined on the last page. */
  readonly next: string | undefined;
}

/** Options of a single call. */
export interface CallOptions {
  /** If aborted, ends the call, or its wait before a retry. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit of the call with its retries and waits: from 1 on, or Infinity for none. */
  readonly timeoutMs?: number | undefined;
  /** The most retries of a request that is safe to repeat. 0 for none. */
  readonly retries?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /**
   * The key stores one pet, however often it is sent. It has 1 to 255 visible ASCII characters, and
   * belongs to one create. With `true` the client makes a random key for this call.
   */
  readonly idempotencyKey?: string | boolean | undefined;
}

/** The time limit of its calls is 30,000 ms by default, and they have 2 retries. */
export interface ClientOptions extends Pick<CallOptions, 'timeoutMs' | 'retries'> {
  /**
   * The base address of the service, which ends in /v1, such as `https://pets.example/v1`: http or
   * https, without credentials, query or fragment.
   */
  readonly baseUrl: string | URL;
  /** The client sends it below the base URL only. No error has it as a word. */
  readonly apiKey: string;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Creates a client. Throws a TypeError if an option is invalid. */
export function createClient(options: ClientOptions): PetStoreClient {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError('createClient needs its options: { baseUrl, apiKey }');
  }
  assertNames('createClient', options, CLIENT_OPTIONS);
  const baseUrl = readBaseUrl(options.baseUrl);
  checkApiKey(options.apiKey);
  const defaults = readCallOptions(options, { timeoutMs: 30_000, retries: 2 });
  const { apiKey, fetch: given } = options;
  if (given !== undefined && typeof given !== 'function') {
    throw new TypeError(`fetch must be a function, not ${quoteValue(given)}`);
  }
  // The global fetch is looked up at each call: mocks and instrumentation may replace it later.
  // Neither may be called as a method.
  const sendRequest: typeof fetch = (...request) => (given ?? fetch)(...request);

  const call = (request: PetStoreRequest, options: CallOptions = {}): Promise<ServiceResponse> => {
    const { operation } = request;
    const more = operation === 'createPet' ? ['idempotencyKey'] : [];
    assertNames(`The options of ${operation}`, options, [...CALL_OPTIONS, ...more]);
    const limits = readCallOptions(options, defaults);
    return send(request, { fetch: sendRequest, apiKey, signal: options.signal, ...limits });
  };

  async function listPets(query: PetQuery | string = {}, options?: CallOptions): Promise<PetPage> {
    const isLink = typeof query === 'string';
    if (!isLink) assertNames('A query', query, QUERY_NAMES);
    const url = isLink ? linkUrl(baseUrl, query) : listPetsUrl(baseUrl, query);
    const response = await call({ operation: 'listPets', url }, options);
    return { pets: petsFrom(response), next: readNext(response, url, baseUrl) };
  }

  async function* allPets(
    query: PetQuery | string = {},
    options?: CallOptions,
  ): AsyncGenerator<Pet, void, undefined> {
    // The two checks end the iteration if the Links of the service lead in a circle.
    let lastId: bigint | undefined;
    let next: PetQuery | string | undefined =
      typeof query === 'string' ? query : { ...query, limit: query.limit ?? MAX_LIMIT };
    while (next !== undefined) {
      const page: PetPage = await listPets(next, options);
      for (const pet of page.pets) {
        if (lastId !== undefined && pet.id <= lastId) {
          throw invalidAnswer('The ids of the list do not ascend from page to page', 200);
        }
        lastId = pet.id;
        yield pet;
      }
      if (page.next !== undefined && page.pets.length === 0) {
        throw invalidAnswer('An empty page has a next page', 200);
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
      const request = { operation: 'createPet', url, body, idempotencyKey } as const;
      return petFrom(await call(request, options));
    },
    async getPet(id, options) {
      const url = new URL(`pets/${toInt64('id', id)}`, baseUrl);
      return petFrom(await call({ operation: 'getPet', url }, options));
    },
  };
}

const CLIENT_OPTIONS: readonly string[] = ['baseUrl', 'apiKey', 'timeoutMs', 'retries', 'fetch'];
const CALL_OPTIONS: readonly (keyof CallOptions)[] = ['signal', 'timeoutMs', 'retries'];

type CallLimits = Pick<SendOptions, 'timeoutMs' | 'retries'>;

function readCallOptions(options: CallOptions, defaults: CallLimits): CallLimits {
  const { timeoutMs = defaults.timeoutMs, retries = defaults.retries, signal } = options;
  if (signal && typeof signal.addEventListener !== 'function') {
    throw new TypeError(`signal must be an AbortSignal, not ${quoteValue(signal)}`);
  }
  return { timeoutMs: limit('timeoutMs', timeoutMs, 1), retries: limit('retries', retries, 0) };
}

/** Returns the value. Throws a TypeError if it is less than the least one, or no number. */
function limit(name: string, value: number, least: number): number {
  if (typeof value === 'number' && value >= least) return value;
  throw new TypeError(`${name} must be a number from ${least} on, not ${quoteValue(value)}`);
}

/** True if the API key may be sent to the URL: it is below the base URL. */
function isBelow(baseUrl: URL, url: URL): boolean {
  return url.href.startsWith(baseUrl.href);
}

/** Returns the URL of a page that the caller passed. Throws a TypeError if it is elsewhere. */
function linkUrl(baseUrl: URL, link: string): URL {
  const url = parseUrl(link);
  if (url !== undefined && isBelow(baseUrl, url)) return url;
  throw new TypeError('A page must be the `next` URL of another page, below the base URL');
}

/** Returns the URL of the next page, if any. Throws a PetStoreError if its Link is invalid. */
function readNext(response: ServiceResponse, url: URL, baseUrl: URL): string | undefined {
  const { status, headers } = response;
  let next: URL;
  try {
    const target = findLink(headers.get('Link') ?? '', 'next');
    if (target === undefined) return undefined;
    next = new URL(target, url);
  } catch {
    throw invalidAnswer('The Link of the response is invalid', status);
  }
  if (isBelow(baseUrl, next)) return next.href;
  const elsewhere = next.origin === baseUrl.origin ? 'another path' : cut(next.origin);
  const message = `The next page is at ${elsewhere}, not below ${baseUrl.href}, and is not fetched`;
  throw invalidAnswer(`${message}: a proxy must pass paths unchanged (--prefix)`, status);
}
