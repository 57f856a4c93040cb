/** Bearer credentials (spec section 5, RFC 6750): the API key of a request. */

import { SPACE, TAB } from '../base/ascii.ts';
import { ApiError } from './api-error.ts';
import type { ApiKey, Keyring } from './keyring.ts';
import type { RequestHeaders } from './request-headers.ts';

/** Returns the API key of a request. Throws an ApiError (401) if it has none that is in force. */
export function authenticate(headers: RequestHeaders, keyring: Keyring): ApiKey {
  const { authorization, authorizationCount } = headers;
  if (authorizationCount === 0) {
    throw unauthorized('An API key is required: Authorization: Bearer <API_KEY>');
  }
  if (authorizationCount > 1) {
    throw unauthorized(`Expected one Authorization header field, not ${authorizationCount}`);
  }
  const scheme = authorization.slice(0, SCHEME.length);
  const isBearer = scheme === SCHEME || scheme.toLowerCase() === SCHEME.toLowerCase();
  const token = withoutSpace(authorization.slice(SCHEME.length));
  if (!isBearer || token === '') {
    throw unauthorized('The Authorization header field must be of the form Bearer <API_KEY>');
  }
  const apiKey = keyring(token);
  // RFC 6750 section 3.1: an error code only if a token was sent and is wrong.
  if (apiKey === undefined) throw unauthorized('The API key is not valid', 'invalid_token');
  return apiKey;
}

const SCHEME = 'Bearer ';

function unauthorized(message: string, error?: string): ApiError {
  const challenge = `Bearer realm="petstore"${error === undefined ? '' : `, error="${error}"`}`;
  return new ApiError('unauthorized', message, ['WWW-Authenticate', challenge]);
}

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
