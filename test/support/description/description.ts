/** The operations of the OpenAPI description, and their responses. */

import type {
  Named,
  OpenApi,
  OperationObject,
  ResponseObject,
} from '../../../src/openapi/types.ts';
import { resolveRef, type Json } from './json-schema.ts';

export interface Described {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

export function describedOperations({ paths }: OpenApi): readonly Described[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Named<OperationObject>).map(([method, operation]) => {
      return { method: method.toUpperCase(), path, operation };
    }),
  );
}

/** Returns the operation's responses by status or `default`, with references resolved. */
export function describedResponses(
  description: OpenApi,
  { responses }: OperationObject,
): readonly (readonly [string, ResponseObject])[] {
  return Object.entries(responses).map(([status, response]) => {
    if (!('$ref' in response)) return [status, response];
    const target = resolveRef(description as unknown as Json, response.$ref);
    return [status, target as unknown as ResponseObject];
  });
}
