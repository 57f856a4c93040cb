/**
 * Routes: the table of operations, grouped by path, with what can be worked out ahead of requests.
 */

import { deprecationHeaders } from '../http/deprecation.ts';
import type { Operation } from '../http/operation.ts';

/** Everything at one path. */
export interface Route {
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly needsKey: boolean;
  /** The value of the Allow header field. */
  readonly allow: string;
}

export interface Handler {
  readonly operation: Operation;
  /** Header fields of every answer until the operation is removed. */
  readonly headers: readonly string[];
  /** When the operation is removed, in milliseconds since 1970; Infinity when it is not. */
  readonly removedAt: number;
}

/** The routes by their pattern below the prefix. HEAD is answered wherever GET is. */
export function groupByPath(
  operations: readonly Operation[],
  prefix: string,
): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const { path } of operations) {
    const here = operations.filter((operation) => operation.path === path);
    const handlers = new Map(
      here.map((operation) => [operation.method, handlerOf(operation, prefix)]),
    );
    const byMethod = new Map<string, Handler>(handlers);
    const get = handlers.get('GET');
    if (get !== undefined) byMethod.set('HEAD', get);
    const allow = [...byMethod.keys(), 'OPTIONS'].join(', ');
    routes.set(`${prefix}${path}`, {
      handlers: byMethod,
      allow,
      needsKey: here.some(({ needsKey }) => needsKey),
    });
  }
  return routes;
}

function handlerOf(operation: Operation, prefix: string): Handler {
  if (operation.deprecation === undefined) return { operation, headers: [], removedAt: Infinity };
  const { successor } = operation.deprecation;
  const deprecation = { ...operation.deprecation, successor: `${prefix}${successor}` };
  return {
    operation: { ...operation, deprecation },
    headers: deprecationHeaders(deprecation),
    removedAt: Date.parse(deprecation.removedOn),
  };
}
