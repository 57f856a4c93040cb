/** Bearer credentials (spec section 5, RFC 6750): the API key of a request. */

import { ApiError } from './api-error.ts';
import type { RequestHeaders } from './request-header.ts';

/** Returns the API key with this text, or undefined if no such key is in force. */
export type Keyring = (token: string) => ApiKey | undefined;

export interface ApiKey {
  readonly text: string;
  readonly use: KeyUse;
}

/** The use of all keys with one name. */
export interface KeyUse {
  readonly name: string;
  requests: number;
  /** When the last request began, by performance.now(); 0 before the first. */
  lastUsedAt: number;
}

/** Returns the API key of a request, or an ApiError (401) if it has none that is in force. */
export function authenticate(headers: RequestHeaders, keyring: Keyring): ApiKey | ApiError {
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
  // RFC 6750 section 3.1: an error code only if a token was sent and is wrong.
  return keyring(token) ?? unauthorized('The API key is not valid', 'invalid_token');
}

const SCHEME = 'Bearer ';

function unauthorized(message: string, error?: string): ApiError {
  const challenge = `Bearer realm="petstore"${error === undefined ? '' : `, error="${error}"`}`;
  return new ApiError('unauthorized', message, ['WWW-Authenticate', challenge]);
}
