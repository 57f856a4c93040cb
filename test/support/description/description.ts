/** The OpenAPI description as a client gets it, and its parts. */

import type {
  HeaderObject,
  MediaType,
  OpenApi,
  OperationObject,
  Reference,
  ResponseObject,
} from '../../../src/openapi/types.ts';
import { resolveRef, type Json } from './json-schema.ts';
import { startService } from '../http/service.ts';

/** Fetches the description from a new service, without an API key. */
export async function fetchDescription(): Promise<OpenApi> {
  const service = await startService();
  try {
    const response = await service.fetch('/openapi.json', { headers: { Authorization: '' } });
    return (await response.json()) as OpenApi;
  } finally {
    await service.close();
  }
}

export interface Described {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly operation: OperationObject;
}

export function describedOperations(description: OpenApi): readonly Described[] {
  return Object.entries(description.paths).flatMap(([path, item]) => {
    const methods = [
      ['GET', item.get],
      ['POST', item.post],
    ] as const;
    return methods.flatMap(([method, operation]) =>
      operation === undefined ? [] : [{ method, path, operation }],
    );
  });
}

/** Returns the operation's responses by status or `default`, with references resolved. */
export function describedResponses(
  description: OpenApi,
  operation: OperationObject,
): readonly (readonly [string, ResponseObject])[] {
  return Object.entries(operation.responses).map(([status, response]) => [
    status,
    isReference(response) ? follow(description, response) : response,
  ]);
}

export function headersOf(response: ResponseObject): readonly (readonly [string, HeaderObject])[] {
  return Object.entries(response.headers ?? {});
}

export function examplesOf(content: Readonly<Record<string, MediaType>>): readonly Json[] {
  return Object.values(content).flatMap(({ examples = {} }) =>
    Object.values(examples).map(({ value }) => value as Json),
  );
}

/** Returns a part of the description as plain JSON, for code that needs no types. */
export function asJson(part: unknown): Json {
  return part as Json;
}

function isReference(response: ResponseObject | Reference): response is Reference {
  return '$ref' in response;
}

function follow(description: OpenApi, { $ref }: Reference): ResponseObject {
  return resolveRef(asJson(description), $ref) as unknown as ResponseObject;
}
