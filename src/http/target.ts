/**
 * The request target (RFC 9112 section 3.2), split into path and query, both as they were sent; and
 * the decoding of what is in them.
 *
 * Each segment is percent-decoded once and by itself, so an encoded slash stays within its segment.
 */

import { quote } from '../base/quote.ts';
import { ApiError } from './api-error.ts';
import { isHost } from './request-rules.ts';

export interface Target {
  /** As sent, without the query; starts with a slash, or is '*'. */
  readonly path: string;
  /** What follows the first question mark, '' without one. */
  readonly query: string;
}

/**
 * Takes the request line's target apart. Throws an ApiError when it is none of RFC 9112's forms.
 */
export function readTarget(url: string): Target {
  const origin = url.startsWith('/') || url === '*' ? url : originForm(url);
  const mark = origin.indexOf('?');
  if (mark === -1) return { path: origin, query: '' };
  return { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/** The segments of a path, decoded; undefined where the encoding is broken. */
export function decodeSegments(path: string): (string | undefined)[] {
  const segments = path.slice(1).split('/');
  return path.includes('%') ? segments.map(percentDecode) : segments;
}

/** The error for '%' without two hex digits behind it, or bytes that are not UTF-8. */
export function brokenEncoding(part: string, text: string): ApiError {
  return new ApiError(
    'malformed_request',
    `The ${part} ${quote(text)} has broken percent-encoding`,
  );
}

/** The text decoded as percent-encoded UTF-8; undefined where that is broken. */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The path and query of an absolute target (RFC 9112 section 3.2.2). */
function originForm(url: string): string {
  const match = /^https?:\/\/([^/?#]*)([/?].*)?$/i.exec(url);
  if (match === null || !isHost(match[1] ?? '')) {
    throw new ApiError('malformed_request', `The request target ${quote(url)} is not valid`);
  }
  const rest = match[2] ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}
