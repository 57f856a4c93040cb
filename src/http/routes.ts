/** Routes: the operations grouped by path, with everything that can be computed at start. */

import type { ApiError } from './api-error.ts';
import { deprecationHeaders, removedError } from './deprecation.ts';
import type { Operation } from './operation.ts';
import { emptyResponse, NO_HEADERS, type ApiResponse } from './api-response.ts';

/** All operations of one path. */
export interface Route {
  /** By method. HEAD is included if GET is. */
  readonly operations: ReadonlyMap<string, PreparedOperation>;
  readonly needsKey: Operation['needsKey'];
  /** True if one of the operations is public: then all responses of this path are. */
  readonly isPublic: boolean;
  /** The value of the Allow header field. */
  readonly allow: string;
  readonly optionsResponse: ApiResponse;
}

export interface PreparedOperation {
  readonly operation: Operation;
  /** Header fields of every response until the operation is removed. */
  readonly headers: readonly string[];
  /**
   * The time in milliseconds since 1970, and the error from then on. Undefined if never removed.
   */
  readonly removal: { readonly at: number; error(): ApiError } | undefined;
}

/** Returns the routes by their pattern, which begins with the prefix. */
export function groupByPath(
  operations: readonly Operation[],
  prefix: string,
): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const { path } of operations) {
    const here = operations.filter((operation) => operation.path === path);
    const byMethod = new Map<string, PreparedOperation>(
      here.map((operation) => [operation.method, prepare(operation, prefix)]),
    );
    const get = byMethod.get('GET');
    if (get !== undefined) byMethod.set('HEAD', get);
    const allow = [...byMethod.keys(), 'OPTIONS'].join(', ');
    const isPublic = here.some((operation) => operation.isPublic === true);
    routes.set(`${prefix}${path}`, {
      operations: byMethod,
      needsKey: here.find(({ needsKey }) => needsKey)?.needsKey ?? false,
      isPublic,
      allow,
      optionsResponse: emptyResponse(['Allow', allow, ...(isPublic ? PUBLIC_PREFLIGHT : [])]),
    });
  }
  return routes;
}

/** For a preflight of any page (Fetch standard). `*` does not include Authorization. */
const PUBLIC_PREFLIGHT: readonly string[] = [
  'Access-Control-Allow-Methods',
  'GET, HEAD',
  'Access-Control-Allow-Headers',
  '*, Authorization',
  'Access-Control-Max-Age',
  '600',
];

function prepare(operation: Operation, prefix: string): PreparedOperation {
  const { name, deprecation } = operation;
  if (deprecation === undefined) return { operation, headers: NO_HEADERS, removal: undefined };
  const prefixed = { ...deprecation, successor: `${prefix}${deprecation.successor}` };
  return {
    operation,
    headers: deprecationHeaders(prefixed),
    removal: { at: Date.parse(prefixed.removedOn), error: () => removedError(name, prefixed) },
  };
}
