/**
 * What goes out: the caller's arguments as URLs and JSON texts.
 *
 * Only what could not be sent as it was meant is refused here (a number that has been rounded
 * already, say); whether a value is allowed is for the service to tell.
 */

import { toInt64, type Int64 } from '../base/int64.ts';
import type { PetStatus } from '../model/pet.ts';

/** A pet to add. */
export interface NewPet {
  /** Any string, the empty one and lone surrogates included. */
  readonly name: string;
  /** It is not checked against any category. */
  readonly categoryId: Int64;
  /** Stays absent where none is given: such a pet matches no status filter. */
  readonly status?: PetStatus | undefined;
}

/** Which pets to list; all of them where nothing is given. */
export interface PetQuery {
  /** The most pets of one page: 1 to 100, 20 by default. */
  readonly limit?: number | undefined;
  readonly status?: PetStatus | undefined;
  /** Only pets with a greater id than this. */
  readonly after?: Int64 | undefined;
}

/**
 * The base URL, with one slash at its end: then a URL is below it when it begins with it. Throws a
 * TypeError, which does not quote it: it may hold a password.
 */
export function readBaseUrl(text: string | URL): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new TypeError('baseUrl must be an absolute URL');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`baseUrl must begin with http: or https:, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl must not hold a user name or password');
  }
  // An empty query or fragment is not in `search` and `hash`, but in the text.
  if (/[?#]/.test(url.href)) throw new TypeError('baseUrl must not hold a query or fragment');
  url.pathname = url.pathname.replace(/\/*$/, '/');
  return url;
}

/** Throws a TypeError that does not quote the key. */
export function checkApiKey(apiKey: string | undefined): void {
  if (apiKey === undefined) throw new TypeError('apiKey is required');
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError('apiKey must be of visible ASCII characters, without a space');
  }
}

/** Whether the key may be sent there: to the base URL's origin, below its path. */
export function isBelow(baseUrl: URL, url: URL): boolean {
  return url.href.startsWith(baseUrl.href);
}

export function petsUrl(baseUrl: URL): URL {
  return new URL('pets', baseUrl);
}

/** Throws a TypeError or RangeError when `after` is no int64. */
export function listPetsUrl(baseUrl: URL, { limit, status, after }: PetQuery): URL {
  const url = petsUrl(baseUrl);
  if (limit !== undefined) url.searchParams.set('limit', String(limit));
  if (status !== undefined) url.searchParams.set('status', status);
  if (after !== undefined) url.searchParams.set('after', `${toInt64('after', after)}`);
  return url;
}

/** Throws a TypeError or RangeError when `id` is no int64. */
export function petUrl(baseUrl: URL, id: Int64): URL {
  return new URL(`pets/${toInt64('id', id)}`, baseUrl);
}

/** The NewPet's JSON text. Throws a TypeError or RangeError when it cannot be written. */
export function encodeNewPet({ name, categoryId, status }: NewPet): string {
  if (typeof name !== 'string') throw new TypeError('name must be a string');
  const statusField = status === undefined ? '' : `,"status":${JSON.stringify(status)}`;
  const exact = toInt64('categoryId', categoryId);
  return `{"name":${JSON.stringify(name)},"categoryId":${exact}${statusField}}`;
}

/**
 * The key that a create is sent with, each time it is sent: the caller's, or for `true` a new one.
 * Throws a TypeError for what is none.
 */
export function readIdempotencyKey(key: string | boolean | undefined): string | undefined {
  if (key === undefined || key === false) return undefined;
  if (key === true) return crypto.randomUUID();
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return encodeKey(key);
  throw new TypeError('idempotencyKey must be true, or 1 to 255 visible ASCII characters');
}

/** A value that begins with a quote is read as a string of RFC 9651 (section 3.3.3). */
function encodeKey(key: string): string {
  return key.startsWith('"') ? `"${key.replace(/["\\]/g, '\\$&')}"` : key;
}
