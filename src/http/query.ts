/**
 * The query string, as forms write it (application/x-www-form-urlencoded): `limit=5&status=sold`.
 *
 * URLSearchParams is slower. decide.ts refuses a query with broken percent-encoding before.
 */

export interface QueryParameter {
  readonly name: string;
  readonly value: string;
}

/** Returns the parameters in order, decoded. Throws URIError if the encoding is broken. */
export function readQuery(query: string): readonly QueryParameter[] {
  const parameters: QueryParameter[] = [];
  for (let start = 0; start < query.length;) {
    const mark = query.indexOf('&', start);
    const end = mark === -1 ? query.length : mark;
    if (end > start) parameters.push(readPair(query.slice(start, end)));
    start = end + 1;
  }
  return parameters;
}

function readPair(pair: string): QueryParameter {
  const equals = pair.indexOf('=');
  if (equals === -1) return { name: decode(pair), value: '' };
  return { name: decode(pair.slice(0, equals)), value: decode(pair.slice(equals + 1)) };
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decodeURIComponent(spaced) : spaced;
}
