/**
 * The query string, as forms write it (application/x-www-form-urlencoded): `limit=5&status=sold`.
 *
 * URLSearchParams would do, but it hides broken encoding, and it is slower, which counts on every
 * request.
 */

import { brokenEncoding, percentDecode } from './target.ts';

export interface QueryParameter {
  readonly name: string;
  readonly value: string;
}

/** The parameters in order, decoded. Throws an ApiError where the encoding is broken. */
export function readQuery(query: string): readonly QueryParameter[] {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map(readPair);
}

function readPair(pair: string): QueryParameter {
  const equals = pair.indexOf('=');
  const name = equals === -1 ? pair : pair.slice(0, equals);
  const value = equals === -1 ? '' : pair.slice(equals + 1);
  return { name: decode(name), value: decode(value) };
}

function decode(text: string): string {
  const decoded = percentDecode(text.includes('+') ? text.replaceAll('+', ' ') : text);
  // The listener refuses this first: here it is for whoever calls readQuery alone.
  if (decoded === undefined) throw brokenEncoding('query', text);
  return decoded;
}
