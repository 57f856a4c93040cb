/**
 * The request target (RFC 9112 section 3.2), split into path and query, both as they were sent; and
 * percent-encoding.
 */

import { quote } from '../base/quote.ts';
import { malformed, type ApiError } from './api-error.ts';
import { isHost } from './request-rules.ts';

export interface Target {
  /** The path as it was sent, without the query. It starts with a slash, or is '*'. */
  readonly path: string;
  /** The text after the first question mark, or ''. */
  readonly query: string;
}

/** Splits a request target. Throws an ApiError if it has none of the forms of RFC 9112. */
export function readTarget(url: string): Target {
  const origin = url.startsWith('/') || url === '*' ? url : originForm(url);
  const mark = origin.indexOf('?');
  if (mark === -1) return { path: origin, query: '' };
  return { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/**
 * Decodes every percent-encoded letter, digit and `-._~` of a path: paths that differ only in such
 * encodings are the same (RFC 3986 section 6.2.2.2). Other encodings stay.
 */
export function normalizePath(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/%[2-7][0-9A-Fa-f]/g, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
  });
}

/** Returns the error for '%' without two hex digits after it, or for invalid UTF-8. */
export function brokenEncoding(part: 'path' | 'query', text: string): ApiError {
  return malformed(`The ${part} ${quote(text)} has broken percent-encoding`);
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

/** Returns the path and query of an absolute target (RFC 9112 section 3.2.2). */
function originForm(url: string): string {
  const match = /^https?:\/\/([^/?#]*)([/?].*)?$/i.exec(url);
  const isValid = match !== null && isHost(match[1] ?? '');
  if (!isValid) throw malformed(`The request target ${quote(url)} is not valid`);
  const rest = match[2] ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}
