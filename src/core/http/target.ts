/**
 * The target of a request: its path and its query (RFC 9112 section 3.2).
 *
 *     target                          path            query
 *     /v1/pets?limit=5                /v1/pets        limit=5
 *     http://host/v1/p%65ts           /v1/p%65ts      (none)   normalized: /v1/pets
 *     *                               *               (none)   only with OPTIONS
 *     host:443, v1/pets, ftp://host/  are refused
 *     /v1/pets#dogs                   is refused: a client sends no fragment
 */

import type { IncomingMessage } from 'node:http';
import { quote } from '../base/quote.ts';
import { HOST } from './fields.ts';
import { malformed } from './http-error.ts';

export interface Target {
  /** The path as it was sent, without the query. It starts with a slash, or is '*'. */
  readonly path: string;
  /** The path to compare with others (normalizePath). */
  readonly normalized: string;
  /** The text after the first question mark, or ''. */
  readonly query: string;
}

/** Returns the parts of a request's target. Throws its error if it has none of HTTP's forms. */
export function readTarget(request: IncomingMessage): Target {
  const text = targetOf(request);
  const origin = text.startsWith('/') || text === '*' ? text : originForm(text);
  if (origin === undefined || text.includes('#')) {
    throw malformed(`The request target ${quote(text)} is not valid`);
  }
  // '*' means the server as a whole, and only for OPTIONS (RFC 9110 section 9.3.7).
  if (text === '*' && request.method !== 'OPTIONS') {
    throw malformed(`The request target * is not for ${request.method}`);
  }
  const mark = origin.indexOf('?');
  const path = mark === -1 ? origin : origin.slice(0, mark);
  const query = mark === -1 ? '' : origin.slice(mark + 1);
  return { path, normalized: normalizePath(path), query };
}

/** Returns the path and query of an absolute target (RFC 9112 section 3.2.2), if it is valid. */
function originForm(text: string): string | undefined {
  const match = /^https?:\/\/([^/?#]*)([/?].*)?$/i.exec(text);
  if (match === null || !HOST.test(match[1] ?? '')) return undefined;
  const rest = match[2] ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * Decodes every percent-encoded letter, digit and `-._~` of a path: paths that differ only in such
 * encodings are the same (RFC 3986 section 6.2.2.2). Other encodings stay, and so does a path with
 * a broken one: of `%3%31` the first part would become a valid encoding. What is behind the first
 * 1,024 characters stays, too: only a parameter is there, and 16 KiB would take a millisecond.
 */
function normalizePath(path: string): string {
  if (!path.includes('%') || percentDecode(path) === undefined) return path;
  const start = path.slice(0, MAX_NORMALIZED);
  const normalized = start.replace(ENCODED, (encoded) => decodeURIComponent(encoded));
  return normalized + path.slice(MAX_NORMALIZED);
}

const MAX_NORMALIZED = 1024;
const ENCODED = /(?:%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]))+/gi;

/** Returns the text decoded as percent-encoded UTF-8, or undefined if the encoding is broken. */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the whole target of a request. A program that mounts the listener under a path removes
 * that path from the url, and keeps the whole target as `originalUrl` (Connect, Express).
 */
export function targetOf(request: IncomingMessage & { readonly originalUrl?: unknown }): string {
  const { url = '', originalUrl } = request;
  return typeof originalUrl === 'string' ? originalUrl : url;
}
