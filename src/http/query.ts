/**
 * The query string, as forms write it (application/x-www-form-urlencoded): `limit=5&status=sold`.
 *
 * URLSearchParams would do, but it hides broken encoding, and it is slow for every request.
 */

import { brokenEncoding, decodeSegment } from './target.ts';

export interface QueryParameter {
  readonly name: string;
  readonly value: string;
}

/** The parameters in order, decoded. Throws an ApiError where the encoding is broken. */
export function readQuery(query: string): readonly QueryParameter[] {
  if (query === '') return NO_PARAMETERS;
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map(readPair);
}

const NO_PARAMETERS: readonly QueryParameter[] = [];

function readPair(pair: string): QueryParameter {
  const equals = pair.indexOf('=');
  const name = equals === -1 ? pair : pair.slice(0, equals);
  const value = equals === -1 ? '' : pair.slice(equals + 1);
  return { name: decode(name), value: decode(value) };
}

function decode(text: string): string {
  const decoded = decodeSegment(text.includes('+') ? text.replaceAll('+', ' ') : text);
  if (decoded === undefined) throw brokenEncoding('query', text);
  return decoded;
}
