/**
 * The router: from a path to the route that answers it.
 *
 * A pattern is a path whose segments are literal or a parameter, `/v1/users/{userId}`. Paths match
 * exactly: case counts, and so does every slash; a parameter is never empty. Each segment is
 * percent-decoded by itself before it is compared (RFC 3986 section 2.4).
 */

import { decodeSegments } from './target.ts';

export interface Match<T> {
  readonly route: T;
  /** The values of the pattern's parameters, in its order. */
  readonly parameters: readonly string[];
}

export interface Router<T> {
  /** The route of a path as it was sent; undefined where there is none. */
  match(path: string): Match<T> | undefined;
}

/** A router over patterns. No two may match the same path. */
export function createRouter<T>(routes: ReadonlyMap<string, T>): Router<T> {
  const patterns = [...routes].map(([pattern, route]) => ({
    segments: pattern.slice(1).split('/'),
    route,
  }));
  return {
    match(path) {
      const segments = decodeSegments(path);
      for (const { segments: pattern, route } of patterns) {
        const parameters = matchSegments(pattern, segments);
        if (parameters !== undefined) return { route, parameters };
      }
      return undefined;
    },
  };
}

/** The values of the parameters; undefined where the path does not match. */
function matchSegments(
  pattern: readonly string[],
  segments: readonly (string | undefined)[],
): readonly string[] | undefined {
  if (pattern.length !== segments.length) return undefined;
  const parameters: string[] = [];
  for (let index = 0; index < pattern.length; index += 1) {
    const expected = pattern[index]!;
    const segment = segments[index];
    if (segment === undefined) return undefined;
    if (expected.startsWith('{') && segment !== '') parameters.push(segment);
    else if (segment !== expected) return undefined;
  }
  return parameters;
}
