/**
 * The header of a request: its fields, and the rules of HTTP/1.1 that node:http's parser does not
 * enforce (RFC 9110 and RFC 9112): the version, Transfer-Encoding, Host, and the forms of the
 * request target. A proxy may understand a request that breaks one of these rules differently,
 * which makes request smuggling possible. So it is refused before any other check, and its
 * connection is closed. The API key is read here, too (spec section 5, RFC 6750).
 *
 * One violation cannot be seen here: the parser accepts RTSP/1.0 and RTSP/1.1 as HTTP, and ICE/1.0
 * with the method SOURCE. They get the same responses as HTTP.
 */

import type { IncomingMessage } from 'node:http';
import { quote } from '../base/quote.ts';
import { ApiError, malformed, unsupportedVersion } from './api-error.ts';

/**
 * Returns the field with this name, which is given in small letters. Several lines of one field are
 * joined with a comma and a space. No host, credential, type or idempotency key has these, so such
 * a field is invalid if it is sent twice.
 *
 * node:http's `rawHeaders` has name, value, name, value … Its other lists drop fields that were
 * sent twice, such as a second Host or Authorization. A search is faster than a table of fields.
 */
export function fieldOf({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]!;
    if (sent.length !== name.length || sent.toLowerCase() !== name) continue;
    const value = rawHeaders[i + 1]!;
    found = found === undefined ? value : `${found}, ${value}`;
  }
  return found;
}

/**
 * Returns true if a body follows the header. Before the end of the request, node:http has no other
 * sign of a body.
 */
export function announcesBody(request: IncomingMessage): boolean {
  if (fieldOf(request, 'transfer-encoding') !== undefined) return true;
  return Number(fieldOf(request, 'content-length') ?? 0) > 0;
}

/** Returns the error of a request that breaks a rule of its header, or undefined. */
export function findBrokenRule(request: IncomingMessage): ApiError | undefined {
  const { httpVersionMajor: major, httpVersionMinor: minor } = request;
  if (major !== 1) return unsupportedVersion(`HTTP/${request.httpVersion}`);
  const transferEncoding = fieldOf(request, 'transfer-encoding');
  if (transferEncoding !== undefined) {
    if (minor === 0) return malformed('Transfer-Encoding is not part of HTTP/1.0');
    if (transferEncoding.toLowerCase() !== 'chunked') {
      const message = `Transfer-Encoding must be chunked, not ${quote(transferEncoding)}`;
      return new ApiError('unsupported_transfer_coding', message);
    }
  }
  const host = fieldOf(request, 'host');
  if (host === undefined) return minor === 0 ? undefined : malformed('A Host field is required');
  return HOST.test(host) ? undefined : malformed(`Host ${quote(host)} is not a host`);
}

/** A host, or an IP literal in brackets, with or without a port; never empty. */
const HOST: RegExp = /^(?:\[[0-9a-fA-Fv:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]+)(?::[0-9]*)?$/;

export interface Target {
  /** The path as it was sent, without the query. It starts with a slash, or is '*'. */
  readonly path: string;
  /** The path to compare with others (normalizePath). */
  readonly normalized: string;
  /** The text after the first question mark, or ''. */
  readonly query: string;
}

/** Splits a request target, or returns the error if it has none of the forms of RFC 9112. */
export function readTarget(method: string, url: string): Target | ApiError {
  const origin = url.startsWith('/') || url === '*' ? url : originForm(url);
  if (origin === undefined) return malformed(`The request target ${quote(url)} is not valid`);
  // '*' means the server as a whole, and only for OPTIONS (RFC 9110 section 9.3.7).
  if (url === '*' && method !== 'OPTIONS') {
    return malformed(`The request target * is not for ${method}`);
  }
  const mark = origin.indexOf('?');
  const path = mark === -1 ? origin : origin.slice(0, mark);
  const query = mark === -1 ? '' : origin.slice(mark + 1);
  return { path, normalized: normalizePath(path), query };
}

/** Returns the path and query of an absolute target (RFC 9112 section 3.2.2), if it is valid. */
function originForm(url: string): string | undefined {
  const match = /^https?:\/\/([^/?#]*)([/?].*)?$/i.exec(url);
  if (match === null || !HOST.test(match[1] ?? '')) return undefined;
  const rest = match[2] ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * Decodes every percent-encoded letter, digit and `-._~` of a path: paths that differ only in such
 * encodings are the same (RFC 3986 section 6.2.2.2). Other encodings stay, and so does a path with
 * a broken one: of `%3%31` the first part would become a valid encoding.
 */
function normalizePath(path: string): string {
  if (!path.includes('%') || percentDecode(path) === undefined) return path;
  return path.replace(/%[2-7][0-9A-Fa-f]/g, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
  });
}

/** Returns the text decoded as percent-encoded UTF-8, or undefined if the encoding is broken. */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

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
  request: IncomingMessage,
  needsKey: true | 'metrics',
  findKey: (token: string) => ApiKey | undefined,
): ApiKey | ApiError {
  const authorization = fieldOf(request, 'authorization');
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
