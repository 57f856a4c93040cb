/**
 * The three operations, their paths and their parameters (S4 of SPEC.md).
 *
 * Each needs an API key (S5.1). The version is the first segment of each path (S9.1).
 */

import crypto from 'node:crypto';
import { INT64_MAX, INT64_MIN, parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import type { FieldList, HttpError } from '../http/http-error.ts';
import { jsonResponse, type HttpResponse } from '../http/http-response.ts';
import type { HttpRequest, Operation } from '../http/operation.ts';
import {
  DEFAULT_LIMIT,
  EXPECTED_STATUS,
  MAX_LIMIT,
  PET_STATUSES,
  type NewPet,
} from '../pets/pet.ts';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../pets/pet-store.ts';
import { InvalidPetError, parseNewPet } from '../pets/pet-text.ts';
import { apiError, unavailable } from './api-error.ts';
import { invalidJson, readJsonText } from './json-body.ts';

export const BASE_PATH = '/v1';
export const PETS_PATH: string = `${BASE_PATH}/pets`;
const PET_PATH: string = `${PETS_PATH}/{petId}`;

/**
 * The first two functions return the store. They throw StoreUnavailableError while it is not open,
 * or while creates are refused. The prefix is put before paths in header fields.
 */
export function petOperations(
  storeForRead: () => PetStore,
  storeForCreate: () => PetStore,
  prefix: string,
  timeOfDay: () => number,
): readonly Operation[] {
  const path = `${prefix}${PETS_PATH}`;
  const deprecation = deprecationHeaders(prefix);
  const removedAt = Date.parse(GET_PET_REMOVED_ON);
  return [
    {
      name: 'listPets',
      method: 'GET',
      path: PETS_PATH,
      needsKey: true,
      handle: (request) => listPets(storeForRead(), request, path),
    },
    {
      name: 'createPet',
      method: 'POST',
      path: PETS_PATH,
      needsKey: true,
      handle: (request) => createPet(storeForCreate(), request, path),
    },
    {
      name: 'getPet',
      method: 'GET',
      path: PET_PATH,
      needsKey: true,
      handle(request) {
        if (timeOfDay() >= removedAt) throw removedError(path);
        return getPet(storeForRead(), request, deprecation);
      },
    },
  ];
}

/** getPet is deprecated since the first release, and removed on this day (S4.3.5, S9.3). */
const GET_PET_DEPRECATED_SINCE = '2026-11-21T00:00:00Z';
export const GET_PET_REMOVED_ON = '2030-12-05T00:00:00Z';

/** Returns the header fields of what getPet returns until it is removed (RFC 9745, RFC 8594). */
export function deprecationHeaders(prefix: string): FieldList {
  const since = `@${Date.parse(GET_PET_DEPRECATED_SINCE) / 1000}`;
  const until = new Date(GET_PET_REMOVED_ON).toUTCString();
  return ['Deprecation', since, 'Sunset', until, ...successorLink(`${prefix}${PETS_PATH}`)];
}

function successorLink(path: string): FieldList {
  return ['Link', `<${path}>; rel="successor-version"`];
}

function removedError(path: string): HttpError {
  const message = `getPet was removed on ${GET_PET_REMOVED_ON}, use ${path}`;
  return apiError('operation_removed', message, successorLink(path));
}

/**
 * listPets (S4.1.1). The body stays the plain array of S4.1.6. If there are more pets, the Link
 * header field leads to the next page (RFC 8288). That page starts after the last id of this
 * one. So it does not shift if pets are added, and the last page costs as little as the first.
 */
async function listPets(
  store: PetStore,
  { query }: HttpRequest,
  path: string,
): Promise<HttpResponse> {
  const parameters = readListParameters(query);
  const { limit = DEFAULT_LIMIT, status, after } = parameters;
  const { text, next } = await store.list({ limit, status, after });
  if (next === undefined) return jsonResponse(200, text);
  // The same query for pets after the id `next`. No value needs percent-encoding.
  const limitPart = parameters.limit === undefined ? '' : `limit=${limit}&`;
  const statusPart = status === undefined ? '' : `status=${status}&`;
  const nextPage = `${path}?${limitPart}${statusPart}after=${next}`;
  return jsonResponse(200, text, ['Link', `<${nextPage}>; rel="next"`]);
}

/** Reads the query of listPets, and ignores unknown parameters. Throws an HttpError (400). */
function readListParameters(query: string) {
  if (query === '') return NONE_GIVEN;
  // URLSearchParams drops one leading question mark. A mark that the client sent stays.
  const given = new URLSearchParams(`?${query}`);
  const invalid: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T | undefined, expected: string) => {
    const { 0: text, length: times } = given.getAll(name);
    if (text === undefined) return undefined;
    const value = times === 1 ? parse(text) : undefined;
    if (value !== undefined) return value;
    const wanted =
      times === 1 ? `${expected}, not ${quote(text)}` : `given once, not ${times} times`;
    invalid.push(`${name} must be ${wanted}`);
    return undefined;
  };
  const limit = read('limit', readLimit, EXPECTED_LIMIT);
  const status = read(
    'status',
    (text) => PET_STATUSES.find((one) => one === text),
    EXPECTED_STATUS,
  );
  // The only parameter that is not in SPEC.md: pets with a greater id (S4.1.6).
  const after = read('after', parseInt64, EXPECTED_AFTER);
  if (invalid.length > 0) throw apiError('invalid_parameter', invalid.join('; '));
  return { limit, status, after };
}

const EXPECTED_LIMIT = `an integer from 1 to ${MAX_LIMIT}`;
const EXPECTED_AFTER: string = `an integer from ${INT64_MIN} to ${INT64_MAX}`;
const NONE_GIVEN = { limit: undefined, status: undefined, after: undefined };

function readLimit(text: string): number | undefined {
  const limit = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined;
}

/** createPet (S4.2.1). Responds when the pet is durable. */
async function createPet(
  store: PetStore,
  request: HttpRequest,
  path: string,
): Promise<HttpResponse> {
  const key = readKeyHash(request);
  if (key !== undefined && store.createOnce === undefined) {
    // If the key were ignored, a retry would store the pet twice.
    throw invalidKey(NO_KEYS);
  }
  const newPet = parseBody(await readJsonText(request));
  const created =
    key === undefined
      ? { pet: await store.create(newPet), isReplayed: false }
      : await store.createOnce!(newPet, key);
  const { id, text } = created.pet;
  const headers = ['Location', `${path}/${id}`];
  if (created.isReplayed) headers.push('Idempotent-Replayed', 'true');
  return jsonResponse(201, text, headers);
}

const NO_KEYS =
  'The store of this service does not support idempotency keys: remove Idempotency-Key';

/*
 * Idempotency-Key (after the IETF draft of that name): a create that is repeated with its key
 * stores one pet. Stores see only one hash, of the idempotency key together with the API key of the
 * request. So two API keys never share an idempotency key, and no key is on the disk as sent.
 */

/**
 * Returns the key hash of a request, 32 hex digits, or undefined if it has no key. Throws an
 * HttpError (400) if the key is invalid.
 */
export function readKeyHash({
  header,
  keyDigest,
}: Pick<HttpRequest, 'header' | 'keyDigest'>): string | undefined {
  const value = header('idempotency-key');
  if (value === undefined) return undefined;
  const key = value.startsWith('"')
    ? QUOTED_STRING.exec(value)?.[1]?.replace(/\\(.)/g, '$1')
    : value;
  if (key === undefined) {
    throw invalidKey('Idempotency-Key begins with a quote, but is not a string of RFC 9651');
  }
  if (!isIdempotencyKey(key)) {
    throw invalidKey(`Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters`);
  }
  return hashKey(keyDigest, key);
}

/**
 * Returns the key hash of a create by the embedding program. Throws RangeError for an invalid key.
 */
export function hashEmbeddedKey(key: string): string {
  if (isIdempotencyKey(key)) return hashKey(EMBEDDED, key);
  throw new RangeError(`idempotencyKey must be 1 to ${MAX_LENGTH} visible ASCII characters`);
}

/** Differs from every API key, because no API key has a space in it. Stored hashes depend on it. */
const EMBEDDED: string = crypto.hash('sha256', 'the program around the app', 'hex');

function isIdempotencyKey(key: unknown): key is string {
  return typeof key === 'string' && key.length <= MAX_LENGTH && /^[\x21-\x7e]+$/.test(key);
}

/** Returns the hash of a key in a scope: the digest of an API key, or EMBEDDED. */
function hashKey(scope: string, key: string): string {
  const scopeAndKey = Buffer.concat([Buffer.from(scope, 'hex'), Buffer.from(key)]);
  return crypto.hash('sha256', scopeAndKey, 'hex').slice(0, 32);
}

const MAX_LENGTH = 255;

/** A string of RFC 9651 section 3.3.3, the form that the draft requires, without parameters. */
const QUOTED_STRING: RegExp = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

function invalidKey(message: string): HttpError {
  return apiError('invalid_idempotency_key', message);
}

/**
 * Returns the NewPet in the body (S2.2). Throws an HttpError (400, S4.2.3) that names each fault.
 */
function parseBody(text: string): NewPet {
  try {
    return parseNewPet(text);
  } catch (error) {
    if (error instanceof InvalidPetError) throw apiError('invalid_body', error.message);
    if (!(error instanceof SyntaxError)) throw error;
    throw invalidJson(`The body is not valid JSON: ${error.message}`);
  }
}

/**
 * getPet (S4.3.1, deprecated). A petId that is not an int64 gets 404 (S4.3.4), like any other
 * unknown pet: S4.3 lists no 400.
 */
async function getPet(
  store: PetStore,
  { pathParameter: petId }: HttpRequest,
  headers: FieldList,
): Promise<HttpResponse> {
  const id = parseInt64(petId);
  const pet = id === undefined ? undefined : await store.get(id);
  if (pet !== undefined) return jsonResponse(200, pet.text, headers);
  throw apiError('not_found', `There is no pet with the id ${quote(petId)}`, headers);
}

/**
 * Converts an error that is a store's answer to a valid request. Returns undefined for any other
 * one, which is a bug: an InvalidPetError, too, since the body was checked before.
 */
export function fromStoreError(error: unknown): HttpError | undefined {
  if (error instanceof StoreUnavailableError) {
    return unavailable(error.message, error.retryAfterSeconds);
  }
  if (error instanceof OutcomeUnknownError) return apiError('outcome_unknown', error.message);
  if (error instanceof KeyReusedError) return apiError('idempotency_key_reused', error.message);
  return undefined;
}
