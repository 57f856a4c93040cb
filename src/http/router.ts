/**
 * The router: finds the route of a path, with everything of it that can be computed at start.
 *
 * A pattern is a path that may end with a parameter, `/v1/users/{userId}`. Paths match exactly:
 * case counts, and so does every slash. A parameter is one segment, not empty, and percent-decoded
 * once, so an encoded slash stays in it (RFC 3986 section 2.4).
 */

import { ApiError } from './api-error.ts';
import { emptyResponse, NO_HEADERS, type ApiResponse } from './api-response.ts';
import type { Deprecation, Operation } from './operation.ts';

export interface Match {
  readonly route: Route;
  /** The value of the pattern's parameter, or '' if it has none. */
  readonly parameter: string;
}

/** Returns the route of a path as it was sent, or undefined if there is none. */
export type Router = (path: string) => Match | undefined;

/** Returns the router of the operations, whose paths begin with the prefix. */
export function createRouter(operations: readonly Operation[], prefix: string): Router {
  const literal = new Map<string, Match>();
  const patterns: { readonly start: string; readonly route: Route }[] = [];
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const here = operations.filter((operation) => operation.path === path);
    const route = routeOf(here, prefix);
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
 * encodings are the same (RFC 3986 section 6.2.2.2). Other encodings stay.
 */
export function normalizePath(path: string): string {
  if (!path.includes('%')) return path;
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
  readonly operations: ReadonlyMap<string, RoutedOperation>;
  readonly needsKey: Operation['needsKey'];
  /** The value of the Allow header field. */
  readonly allow: string;
  readonly optionsResponse: ApiResponse;
}

export interface RoutedOperation {
  readonly operation: Operation;
  /** Header fields of every response until the operation is removed. */
  readonly headers: readonly string[];
  /** From when on it is removed, in milliseconds since 1970; undefined if it is not deprecated. */
  readonly removedAt: number | undefined;
}

/** Returns the route of the operations of one path. */
function routeOf(operations: readonly Operation[], prefix: string): Route {
  const byMethod = new Map<string, RoutedOperation>(
    operations.map((operation) => [operation.method, routed(operation, prefix)]),
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

function routed(operation: Operation, prefix: string): RoutedOperation {
  const { deprecation } = operation;
  if (deprecation === undefined) return { operation, headers: NO_HEADERS, removedAt: undefined };
  const headers = deprecationHeaders(deprecation, prefix);
  return { operation, headers, removedAt: Date.parse(deprecation.removedOn) };
}

/** Returns the header fields of a deprecated operation (RFC 9745, RFC 8594). */
export function deprecationHeaders(deprecation: Deprecation, prefix = ''): readonly string[] {
  return [
    'Deprecation',
    `@${Date.parse(deprecation.deprecatedSince) / 1000}`,
    'Sunset',
    new Date(deprecation.removedOn).toUTCString(),
    ...successorLink(deprecation, prefix),
  ];
}

/** Returns the error (410) of an operation after its removal. */
export function removedError({ name, deprecation }: Operation, prefix: string): ApiError {
  const { removedOn, successor } = deprecation!;
  const message = `${name} was removed on ${removedOn}, use ${prefix}${successor}`;
  return new ApiError('operation_removed', message, successorLink(deprecation!, prefix));
}

function successorLink({ successor }: Deprecation, prefix: string): readonly string[] {
  return ['Link', `<${prefix}${successor}>; rel="successor-version"`];
}
