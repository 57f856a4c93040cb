/**
 * Idempotency-Key (after the IETF draft of that name): a create that is repeated with its key
 * stores one pet.
 *
 * Stores see only one hash, of the idempotency key together with the API key of the request. So
 * two API keys never share an idempotency key, and no key is on the disk as it was sent.
 */

import crypto from 'node:crypto';
import { ApiError } from '../http/api-error.ts';
import type { ApiRequest } from '../http/operation.ts';

/**
 * Returns the key hash of a request, 32 hex digits, or undefined if it has no key. Throws an
 * ApiError (400) if the key is invalid.
 */
export function readKeyHash({ idempotencyKey: value, apiKey }: ApiRequest): string | undefined {
  if (value === undefined) return undefined;
  const key = value.startsWith('"')
    ? QUOTED_STRING.exec(value)?.[1]?.replace(/\\(.)/g, '$1')
    : value;
  if (key === undefined) {
    throw invalid('Idempotency-Key begins with a quote, but is not a string of RFC 9651');
  }
  if (!isIdempotencyKey(key)) {
    throw invalid(`Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters`);
  }
  return hashKey(apiKey, key);
}

/**
 * Returns the key hash of a create by the embedding program. Throws RangeError for an invalid key.
 */
export function hashEmbeddedKey(key: string): string {
  if (isIdempotencyKey(key)) return hashKey(EMBEDDED, key);
  throw new RangeError(`idempotencyKey must be 1 to ${MAX_LENGTH} visible ASCII characters`);
}

/** Differs from every API key, because no API key has a space in it. Stored hashes depend on it. */
const EMBEDDED = 'the program around the app';

function isIdempotencyKey(key: unknown): key is string {
  return typeof key === 'string' && key.length <= MAX_LENGTH && /^[\x21-\x7e]+$/.test(key);
}

/** Returns the hash of a key in a scope: an API key, or EMBEDDED. */
function hashKey(scope: string, key: string): string {
  const scopeAndKey = Buffer.concat([crypto.hash('sha256', scope, 'buffer'), Buffer.from(key)]);
  return crypto.hash('sha256', scopeAndKey, 'hex').slice(0, 32);
}

const MAX_LENGTH = 255;

/** A string of RFC 9651 section 3.3.3, the form that the draft requires, without parameters. */
const QUOTED_STRING: RegExp = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

function invalid(message: string): ApiError {
  return new ApiError('invalid_idempotency_key', message);
}
