/**
 * The query string, as forms write it (application/x-www-form-urlencoded): `limit=5&status=sold`.
 *
 * URLSearchParams is slower. decide.ts refuses a query with broken percent-encoding before.
 */

/**
 * Returns the decoded values of each parameter in order. Throws URIError if the encoding is broken.
 */
export function readQuery(query: string): ReadonlyMap<string, readonly string[]> {
  const parameters = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
    const earlier = parameters.get(name);
    if (earlier === undefined) parameters.set(name, [value]);
    else earlier.push(value);
  }
  return parameters;
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decodeURIComponent(spaced) : spaced;
}
