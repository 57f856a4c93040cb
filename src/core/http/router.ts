/**
 * The router: finds the operations of a path.
 *
 * The path of an operation may end with a parameter, `/v1/users/{userId}`. Paths match exactly:
 * case counts, and so does every slash. A parameter is one segment, not empty, and percent-decoded
 * once, so an encoded slash stays in it (RFC 3986 section 2.4).
 */

import type { Operation } from './operation.ts';
import { percentDecode } from './target.ts';

/** All operations of one path. */
export interface Route {
  /** By method. HEAD is included if GET is. */
  readonly operations: Map<string, Operation>;
  readonly needsKey: Operation['needsKey'];
}

interface Match {
  readonly route: Route;
  /** The value of the parameter, or '' if the path has none. */
  readonly parameter: string;
}

/** Returns the router of the operations, with the prefix before the path of each. */
export function createRouter(
  operations: readonly Operation[],
  prefix: string,
): (normalizedPath: string) => Match | undefined {
  const literals = new Map<string, Route>();
  /** By the path up to the parameter. */
  const patterns = new Map<string, Route>();
  for (const operation of operations) {
    const { path, needsKey } = operation;
    const start = `${prefix}${path.replace(/\{.*\}$/, '')}`;
    const routes = path.endsWith('}') ? patterns : literals;
    const route = routes.get(start) ?? { operations: new Map<string, Operation>(), needsKey };
    // A request is authenticated before its method is looked at.
    if (route.needsKey !== needsKey) throw new Error(`All operations of ${path} need the same key`);
    routes.set(start, route);
    for (const method of methodsOf([operation])) route.operations.set(method, operation);
  }
  return (path) => {
    const literal = literals.get(path);
    if (literal !== undefined) return { route: literal, parameter: '' };
    const start = path.slice(0, path.lastIndexOf('/') + 1);
    const route = patterns.get(start);
    const parameter = route && percentDecode(path.slice(start.length));
    return route && parameter ? { route, parameter } : undefined;
  };
}

/** Returns the methods of the operations, in their order. Whatever has GET has HEAD. */
export function methodsOf(operations: Iterable<Operation>): readonly string[] {
  const methods = new Set<string>();
  for (const { method } of operations) {
    methods.add(method);
    if (method === 'GET') methods.add('HEAD');
  }
  return [...methods];
}
