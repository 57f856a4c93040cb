/** Operation: one method of one path, and its handler. The API is a table of operations. */

import type { ApiResponse } from './api-response.ts';

export interface Operation {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** A router's pattern: literal segments, and perhaps a parameter in braces at the end. */
  readonly path: string;
  /** False if no API key is needed; 'metrics' if an API key for metrics only is enough. */
  readonly needsKey: boolean | 'metrics';
  /**
   * Returns the response, or a promise if it is not known yet: a promise costs 10 % of a short
   * request. Throws or rejects with an ApiError for an error response.
   */
  handle(request: ApiRequest): ApiResponse | Promise<ApiResponse>;
}

/** The part of a request that a handler sees. */
export interface ApiRequest {
  /** The value of the path's parameter, decoded, or '' if it has none. */
  readonly pathParameter: string;
  /** The query string as it was sent, without the question mark. */
  readonly query: string;
  /** The API key of the request, or '' if none is needed. */
  readonly apiKey: string;
  /** The header field Idempotency-Key. */
  readonly idempotencyKey: string | undefined;
  /**
   * Resolves with the body: valid UTF-8, not empty, within the limit. Rejects as readBody does
   * (request-body.ts).
   */
  readBody(): Promise<Buffer>;
}
