/** Bearer credentials (spec section 5, RFC 6750): the API key of a request. */

import { ApiError } from './api-error.ts';
import type { RequestHeaders } from './request-header.ts';

export interface ApiKey {
  readonly text: string;
  readonly use: KeyUse;
  /** If it is set, the key is valid only for operations that need no more. */
  readonly only: 'metrics' | undefined;
}

/** The use of all keys with one name. */
export interface KeyUse {
  readonly name: string;
  requests: number;
  /** When the last request began, by performance.now(); 0 before the first. */
  lastUsedAt: number;
}

/**
 * Returns the API key of a request, or an ApiError (401) if it has none that is valid for what it
 * needs. `findKey` returns the key in force with this text.
 */
export function authenticate(
  headers: RequestHeaders,
  needsKey: true | 'metrics',
  findKey: (token: string) => ApiKey | undefined,
): ApiKey | ApiError {
  const authorization = headers.get('authorization');
  if (authorization === undefined) {
    return unauthorized('An API key is required: Authorization: Bearer <API_KEY>');
  }
  const scheme = authorization.slice(0, SCHEME.length);
  const isBearer = scheme === SCHEME || scheme.toLowerCase() === SCHEME.toLowerCase();
  // node:http has removed the whitespace at the end.
  let start = SCHEME.length;
  while (authorization[start] === ' ' || authorization[start] === '\t') start += 1;
  const token = authorization.slice(start);
  if (!isBearer || token === '') {
    return unauthorized('The Authorization header field must be of the form Bearer <API_KEY>');
  }
  const key = findKey(token);
  if (key !== undefined && (key.only === undefined || key.only === needsKey)) return key;
  // RFC 6750 section 3.1: an error code only if a token was sent and is wrong.
  return unauthorized('The API key is not valid', 'invalid_token');
}

const SCHEME = 'Bearer ';

function unauthorized(message: string, error?: string): ApiError {
  const challenge = `Bearer realm="petstore"${error === undefined ? '' : `, error="${error}"`}`;
  return new ApiError('unauthorized', message, ['WWW-Authenticate', challenge]);
}
