/** Deprecation of an operation: its header fields (RFC 9745, RFC 8594), and its removal. */

import { ApiError } from './api-error.ts';
import type { Deprecation } from './operation.ts';

/** Returns the header fields of every response of the operation until its removal. */
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

/** Returns the error (410) of the operation after its removal. */
export function removedError(name: string, deprecation: Deprecation): ApiError {
  const message = `${name} was removed on ${deprecation.removedOn}, use ${deprecation.successor}`;
  return new ApiError('operation_removed', message, successorLink(deprecation));
}

function successorLink({ successor }: Deprecation): readonly string[] {
  return ['Link', `<${successor}>; rel="successor-version"`];
}
