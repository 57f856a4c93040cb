/**
 * Deprecation of an operation: what its answers say (RFC 9745, RFC 8594) and when it ends.
 */

import { ApiError } from './api-error.ts';
import type { Deprecation } from './operation.ts';

/** The header fields of every answer of the operation until it is removed. */
export function deprecationHeaders(deprecation: Deprecation): readonly string[] {
  const since = Date.parse(deprecation.deprecatedSince) / 1000;
  return [
    'Deprecation',
    `@${since}`,
    'Sunset',
    new Date(deprecation.removedOn).toUTCString(),
    ...successorLink(deprecation),
  ];
}

/** The error (410) of the operation with this name after its removal. */
export function removedError(name: string, deprecation: Deprecation): ApiError {
  const message = `${name} was removed on ${deprecation.removedOn}, use ${deprecation.successor}`;
  return new ApiError('operation_removed', message, successorLink(deprecation));
}

function successorLink({ successor }: Deprecation): readonly string[] {
  return ['Link', `<${successor}>; rel="successor-version"`];
}
