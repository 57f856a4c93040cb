/**
 * Deprecation of an operation: what its answers say (RFC 9745, RFC 8594) and when it ends.
 */

import { ApiError } from './api-error.ts';
import type { Deprecation } from './operation.ts';

/** The header fields of every answer of the operation until it is removed. */
export function deprecationHeaders(deprecation: Deprecation): readonly string[] {
  const since = Date.parse(deprecation.deprecatedSince) / 1000;
  return [
    ...['Deprecation', `@${since}`],
    ...['Sunset', new Date(deprecation.removedOn).toUTCString()],
    ...successorLink(deprecation),
  ];
}

/** Throws an ApiError (410) once the operation is removed. `now` is in milliseconds since 1970. */
export function checkNotRemoved(name: string, deprecation: Deprecation, now: number): void {
  if (now < Date.parse(deprecation.removedOn)) return;
  const message = `${name} was removed on ${deprecation.removedOn}, use ${deprecation.successor}`;
  throw new ApiError('operation_removed', message, successorLink(deprecation));
}

function successorLink({ successor }: Deprecation): readonly string[] {
  return ['Link', `<${successor}>; rel="successor-version"`];
}
