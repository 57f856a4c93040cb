/**
 * Idempotency-Key (after the IETF draft of that name): a create that is sent again with its key is
 * stored once.
 *
 * A key is known by a digest of it and of the API key that it came with, so that no two API keys
 * meet in one, and none of either is on the disk.
 */

import crypto from 'node:crypto';
import { ApiError } from '../http/api-error.ts';
import type { ApiRequest } from '../http/operation.ts';

/** The key of a request, as 32 hex digits; undefined without one. Throws an ApiError (400). */
export function readKeyHash({ idempotencyKeys, apiKey }: ApiRequest): string | undefined {
  const [value] = idempotencyKeys;
  if (value === undefined) return undefined;
  if (idempotencyKeys.length > 1) {
    throw invalid(`Expected one Idempotency-Key header field, not ${idempotencyKeys.length}`);
  }
  const key = value.startsWith('"') ? parseString(value) : value;
  if (key === undefined) {
    throw invalid('Idempotency-Key begins with a quote, and must be a string of RFC 9651 then');
  }
  if (!isIdempotencyKey(key)) {
    throw invalid(`Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters`);
  }
  return hashKey(apiKey, key);
}

/** The key of a create by the program around the app. Throws RangeError for what is none. */
export function hashEmbeddedKey(key: string): string {
  if (isIdempotencyKey(key)) return hashKey(EMBEDDED, key);
  throw new RangeError(`idempotencyKey must be 1 to ${MAX_LENGTH} visible ASCII characters`);
}

/** A scope of its own: no API key has a space in it. */
const EMBEDDED = 'the program around the app';

function isIdempotencyKey(key: unknown): key is string {
  return typeof key === 'string' && key.length <= MAX_LENGTH && /^[\x21-\x7e]+$/.test(key);
}

/** The key within a scope, which is an API key: nobody meets another's. */
function hashKey(scope: string, key: string): string {
  const scopeAndKey = Buffer.concat([crypto.hash('sha256', scope, 'buffer'), Buffer.from(key)]);
  return crypto.hash('sha256', scopeAndKey, 'hex').slice(0, 32);
}

const MAX_LENGTH = 255;

/**
 * The draft has the key in quotes, as a string of structured fields (RFC 9651 section 3.3.3).
 * Returns its value, or undefined if it is not such a string: other quotes, or parameters after it.
 */
function parseString(value: string): string | undefined {
  const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(value)?.[1];
  return quoted?.replace(/\\(.)/g, '$1');
}

function invalid(message: string): ApiError {
  return new ApiError('invalid_idempotency_key', message);
}
