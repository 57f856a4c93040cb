/**
 * Converts the caller's arguments to URLs and JSON texts.
 *
 * The client refuses only what it cannot send exactly, for example a number that is already
 * rounded. The service decides which values are valid.
 */

import { stringifyExactJson } from '../../core/base/exact-json.ts';
import { toInt64 } from '../../core/base/int64.ts';
import type { PetInput, PetQuery } from '../../core/pets/pet.ts';

/** Returns undefined if the text is not an absolute URL. Safari 16 has no URL.canParse. */
export function parseUrl(text: string | URL): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the base URL with one trailing slash, so that every URL below it begins with it. Throws a
 * TypeError if it is invalid. The message does not quote it, since it may contain a password.
 */
export function readBaseUrl(text: string | URL): URL {
  const url = parseUrl(text);
  // `search` and `hash` do not show an empty query or fragment.
  if (url === undefined || !/^https?:\/\/[^@/]+\/[^?#]*$/.test(url.href)) {
    const without = 'user name, password, query and fragment';
    throw new TypeError(`baseUrl must be an absolute http or https URL without ${without}`);
  }
  url.pathname = url.pathname.replace(/\/*$/, '/');
  return url;
}

/** Throws a TypeError if the key is invalid. The message does not quote it. */
export function checkApiKey(apiKey: string | undefined): void {
  // A program in JavaScript may give a number, which the pattern would take for a text.
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError('apiKey must consist of visible ASCII characters, without spaces');
  }
}

export function petsUrl(baseUrl: URL): URL {
  return new URL('pets', baseUrl);
}

/** Throws a TypeError or RangeError if `after` is not an int64. */
export function listPetsUrl(baseUrl: URL, { limit, status, after }: PetQuery): URL {
  const url = petsUrl(baseUrl);
  if (limit !== undefined) url.searchParams.set('limit', String(limit));
  if (status !== undefined) url.searchParams.set('status', status);
  if (after !== undefined) url.searchParams.set('after', `${toInt64('after', after)}`);
  return url;
}

/** Returns the NewPet as JSON. Throws a TypeError or RangeError if a field is invalid. */
export function encodeNewPet({ name, categoryId, status }: PetInput): string {
  if (typeof name !== 'string') throw new TypeError('name must be a string');
  return stringifyExactJson({ name, categoryId: toInt64('categoryId', categoryId), status });
}

/**
 * Returns the value of Idempotency-Key for a create and its retries: the caller's key, or a new one
 * for `true`. Throws a TypeError if the key is invalid.
 */
export function readIdempotencyKey(key: string | boolean | undefined): string | undefined {
  if (key === undefined || key === false) return undefined;
  if (key === true) return randomKey();
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) {
    // A key that begins with a quote is sent as an RFC 9651 string, as the service reads it.
    return key.startsWith('"') ? `"${key.replace(/["\\]/g, '\\$&')}"` : key;
  }
  throw new TypeError('idempotencyKey must be true, or 1 to 255 visible ASCII characters');
}

/** Returns 128 random bits as 32 hex digits. On a page without TLS there is no randomUUID. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
