/**
 * Bearer credentials (the interface's part 5, RFC 6750): the key of a request.
 */

import { SPACE, TAB } from '../base/ascii.ts';
import { ApiError } from './api-error.ts';
import type { Keyring } from './keyring.ts';
import type { RequestHeaders } from './request-headers.ts';

/** The API key of a request. Throws an ApiError (401) unless it is one, and a valid one. */
export function authenticate(headers: RequestHeaders, keyring: Keyring): string {
  if (headers.authorizationCount === 0) {
    const message = 'An API key is required: Authorization: Bearer <API_KEY>';
    throw new ApiError('unauthorized', message, CHALLENGE);
  }
  if (headers.authorizationCount > 1) {
    const message = `Expected one Authorization header field, not ${headers.authorizationCount}`;
    throw new ApiError('unauthorized', message, CHALLENGE);
  }
  const { authorization } = headers;
  const scheme = authorization.slice(0, SCHEME.length);
  const isBearer = scheme === SCHEME || scheme.toLowerCase() === SCHEME.toLowerCase();
  const token = withoutSpace(authorization.slice(SCHEME.length));
  if (!isBearer || token === '') {
    const message = 'The Authorization header field must be of the form Bearer <API_KEY>';
    throw new ApiError('unauthorized', message, CHALLENGE);
  }
  if (!keyring.accepts(token)) {
    throw new ApiError('unauthorized', 'The API key is not valid', INVALID_TOKEN_CHALLENGE);
  }
  return token;
}

const SCHEME = 'Bearer ';

/** RFC 6750 section 3.1: an error code only where a token was sent, and is wrong. */
const CHALLENGE: readonly string[] = ['WWW-Authenticate', 'Bearer realm="petstore"'];
const INVALID_TOKEN_CHALLENGE: readonly string[] = [
  'WWW-Authenticate',
  'Bearer realm="petstore", error="invalid_token"',
];

/**
 * Removes leading and trailing optional whitespace (space and tab, RFC 9110 section 5.6.3). A loop
 * does it, because a regular expression for trailing spaces takes quadratic time on a long run of
 * spaces.
 */
function withoutSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}
