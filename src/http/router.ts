/**
 * The router: finds the route of a path.
 *
 * A pattern is a path whose segments are literal or a parameter, `/v1/users/{userId}`. Paths match
 * exactly: case counts, and so does every slash. A parameter is one segment, not empty, and
 * percent-decoded once, so an encoded slash stays in it (RFC 3986 section 2.4).
 */

import { normalizePath, percentDecode } from './request-target.ts';

export interface Match<T> {
  readonly route: T;
  /** The values of the pattern's parameters, in its order. */
  readonly parameters: readonly string[];
}

/** Returns the route of a path as it was sent, or undefined if there is none. */
export type Router<T> = (path: string) => Match<T> | undefined;

/** Returns a router. The literal segments of its patterns consist of letters, digits and `-._~`. */
export function createRouter<T>(routes: ReadonlyMap<string, T>): Router<T> {
  const literal = new Map<string, Match<T>>();
  const patterns: { readonly pieces: readonly string[]; readonly route: T }[] = [];
  for (const [pattern, route] of routes) {
    const pieces = pattern.split(/\{[^}]+\}/);
    if (pieces.length > 1) patterns.push({ pieces, route });
    else literal.set(pattern, { route, parameters: [] });
  }
  return (path) => {
    const normalized = normalizePath(path);
    const found = literal.get(normalized);
    if (found !== undefined) return found;
    for (const { pieces, route } of patterns) {
      const parameters = matchPieces(pieces, normalized);
      if (parameters !== undefined) return { route, parameters };
    }
    return undefined;
  };
}

/** Returns the decoded texts between the pieces, or undefined if the path does not match. */
function matchPieces(pieces: readonly string[], path: string): readonly string[] | undefined {
  const parameters: string[] = [];
  let at = 0;
  for (let index = 0; index < pieces.length; index += 1) {
    const piece = pieces[index]!;
    if (index > 0) {
      const slash = path.indexOf('/', at);
      const end = slash === -1 ? path.length : slash;
      const parameter = percentDecode(path.slice(at, end));
      if (parameter === undefined || parameter === '') return undefined;
      parameters.push(parameter);
      at = end;
    }
    if (!path.startsWith(piece, at)) return undefined;
    at += piece.length;
  }
  return at === path.length ? parameters : undefined;
}
