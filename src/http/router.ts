/**
 * The router: from a path to the route that answers it.
 *
 * A pattern is a path whose segments are literal or a parameter, `/v1/pets/{petId}`. Paths match
 * exactly: case counts, and so does every slash; a parameter is never empty. Patterns without a
 * parameter are found by one look into a map, which is all that most requests need; the others are
 * compared segment by segment.
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
  const exact = new Map<string, Match<T>>();
  const patterns: { readonly segments: readonly string[]; readonly route: T }[] = [];
  for (const [pattern, route] of routes) {
    if (!pattern.includes('{')) exact.set(pattern, { route, parameters: NO_PARAMETERS });
    patterns.push({ segments: pattern.slice(1).split('/'), route });
  }
  const prefixes = [...routes].flatMap(([pattern, route]) => {
    const [prefix = '', ...rest] = pattern.split(/\{[^/]*\}$/);
    return rest.length === 1 && !prefix.includes('{') ? [{ prefix, route }] : [];
  });
  /** The fast way for a parameter at the path's end that is not encoded: no list of segments. */
  const matchEnd = (path: string): Match<T> | undefined => {
    if (path.includes('%')) return undefined;
    for (const { prefix, route } of prefixes) {
      if (!path.startsWith(prefix) || path.length === prefix.length) continue;
      if (!path.includes('/', prefix.length)) {
        return { route, parameters: [path.slice(prefix.length)] };
      }
    }
    return undefined;
  };
  return {
    match(path) {
      const found = exact.get(path) ?? matchEnd(path);
      if (found !== undefined) return found;
      const segments = decodeSegments(path);
      for (const { segments: pattern, route } of patterns) {
        const parameters = matchSegments(pattern, segments);
        if (parameters !== undefined) return { route, parameters };
      }
      return undefined;
    },
  };
}

const NO_PARAMETERS: readonly string[] = [];

function matchSegments(
  pattern: readonly string[],
  segments: readonly (string | undefined)[],
): readonly string[] | undefined {
  if (pattern.length !== segments.length) return undefined;
  const parameters: string[] = [];
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index];
    if (segment === undefined) return undefined;
    if (expected.startsWith('{') && segment !== '') parameters.push(segment);
    else if (segment !== expected) return undefined;
  }
  return parameters;
}
