/**
 * Authentication by API keys, as bearer tokens (RFC 6750): `Authorization: Bearer <API_KEY>`.
 *
 * A right is any string that operations and keys agree on. For example, an operation that shows
 * figures asks for the right 'figures': a key with that right opens it and nothing else, and a key
 * without a right opens everything. There are no other rules: no key has two rights.
 */

import type { IncomingMessage } from 'node:http';
import { fieldOf } from './fields.ts';
import { httpError, type HttpError } from './http-error.ts';

export interface ApiKey {
  /** The SHA-256 digest of its text, as 64 hex digits. */
  readonly digest: string;
  /** '' for a key without a name. */
  readonly name: string;
  /** If it is set, the key is valid only for operations that ask for this right. */
  readonly right: string | undefined;
}

export interface ApiKeys {
  /** Returns the key in force with this text, or undefined if there is none. */
  find(token: string): ApiKey | undefined;
  /** What a client sees of which service the keys are for (RFC 9110 section 11.5). */
  readonly realm: string;
}

/**
 * Returns the API key of a request. Throws the error (401) of a request without a key that is valid
 * for this right, or for everything if `right` is undefined.
 */
export function authenticate(
  request: IncomingMessage,
  { find, realm }: ApiKeys,
  right: string | undefined,
): ApiKey {
  const authorization = fieldOf(request, 'authorization');
  if (authorization === undefined) {
    throw unauthorized(realm, 'An API key is required: Authorization: Bearer <API_KEY>');
  }
  // node:http has removed the whitespace at the end.
  const token = /^bearer [ \t]*(.+)$/i.exec(authorization)?.[1];
  if (token === undefined) {
    const message = 'The Authorization header field must be of the form Bearer <API_KEY>';
    throw unauthorized(realm, message);
  }
  const key = find(token);
  if (key !== undefined && (key.right === undefined || key.right === right)) return key;
  // RFC 6750 section 3.1: an error code only if a token was sent and is wrong.
  throw unauthorized(realm, 'The API key is not valid', 'invalid_token');
}

function unauthorized(realm: string, message: string, error?: string): HttpError {
  const challenge = `Bearer realm="${realm}"${error === undefined ? '' : `, error="${error}"`}`;
  return httpError('unauthorized', message, ['WWW-Authenticate', challenge]);
}
