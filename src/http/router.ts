/**
 * The router: finds the route of a path, with everything of it that can be computed at start.
 *
 * A pattern is a path that may end with a parameter, `/v1/users/{userId}`. Paths match exactly:
 * case counts, and so does every slash. A parameter is one segment, not empty, and percent-decoded
 * once, so an encoded slash stays in it (RFC 3986 section 2.4).
 */

import { emptyResponse, type ApiResponse } from './api-response.ts';
import type { Operation } from './operation.ts';

interface Match {
  readonly route: Route;
  /** The value of the pattern's parameter, or '' if it has none. */
  readonly parameter: string;
}

/** Returns the route of a path as it was sent, or undefined if there is none. */
type Router = (path: string) => Match | undefined;

/** Returns the router of the operations, whose paths begin with the prefix. */
export function createRouter(operations: readonly Operation[], prefix: string): Router {
  const literal = new Map<string, Match>();
  const patterns: { readonly start: string; readonly route: Route }[] = [];
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const here = operations.filter((operation) => operation.path === path);
    const route = routeOf(here);
    const start = `${prefix}${path.replace(/\{.*\}$/, '')}`;
    if (path.endsWith('}')) patterns.push({ start, route });
    else literal.set(start, { route, parameter: '' });
  }
  return (path) => {
    const normalized = normalizePath(path);
    const found = literal.get(normalized);
    if (found !== undefined) return found;
    for (const { start, route } of patterns) {
      if (!normalized.startsWith(start)) continue;
      const segment = normalized.slice(start.length);
      const parameter = segment.includes('/') ? undefined : percentDecode(segment);
      if (parameter !== undefined && parameter !== '') return { route, parameter };
    }
    return undefined;
  };
}

/**
 * Decodes every percent-encoded letter, digit and `-._~` of a path: paths that differ only in such
 * encodings are the same (RFC 3986 section 6.2.2.2). Other encodings stay, and so does a path with
 * a broken one: of `%3%31` the first part would become a valid encoding.
 */
export function normalizePath(path: string): string {
  if (!path.includes('%') || percentDecode(path) === undefined) return path;
  return path.replace(/%[2-7][0-9A-Fa-f]/g, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
  });
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

/** All operations of one path. */
export interface Route {
  /** By method. HEAD is included if GET is. */
  readonly operations: ReadonlyMap<string, Operation>;
  readonly needsKey: Operation['needsKey'];
  /** The value of the Allow header field. */
  readonly allow: string;
  readonly optionsResponse: ApiResponse;
}

/** Returns the route of the operations of one path. */
function routeOf(operations: readonly Operation[]): Route {
  const byMethod = new Map<string, Operation>(
    operations.map((operation) => [operation.method, operation]),
  );
  const get = byMethod.get('GET');
  if (get !== undefined) byMethod.set('HEAD', get);
  const allow = [...byMethod.keys(), 'OPTIONS'].join(', ');
  return {
    operations: byMethod,
    needsKey: operations.find(({ needsKey }) => needsKey)?.needsKey ?? false,
    allow,
    optionsResponse: emptyResponse(['Allow', allow]),
  };
}
