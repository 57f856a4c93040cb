/**
 * Operation: one method of one path, and what serves it. Tables of these make up the interface.
 */

import type { ApiResponse } from './api-response.ts';

export interface Operation {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** A router's pattern: literal segments, and parameters in braces. */
  readonly path: string;
  /** False for what may be asked without an API key; 'metrics' if keys for metrics open it, too. */
  readonly needsKey: boolean | 'metrics';
  /** True for what any web page may read, whatever the CORS policy is. */
  readonly isPublic?: true;
  readonly deprecation?: Deprecation;
  /**
   * Returns the response, or a promise if it is not known yet: a promise costs a tenth of a short
   * request. Throws or rejects with an ApiError for what a client is to be told.
   */
  handle(request: ApiRequest): ApiResponse | Promise<ApiResponse>;
}

export interface Deprecation {
  /** Date-times of ISO 8601. */
  readonly deprecatedSince: string;
  /** From then on the operation responds with 410. */
  readonly removedOn: string;
  /** The path of what replaces it. */
  readonly successor: string;
}

/** What a handler gets to see of a request. */
export interface ApiRequest {
  /** What precedes the operation's path: '' or the prefix that the app is mounted under. */
  readonly prefix: string;
  /** The values of the path's parameters, decoded, in their order. */
  readonly pathParameters: readonly string[];
  /** The query string as it was sent, without the question mark. */
  readonly query: string;
  /** The API key that was presented, '' if none is needed. */
  readonly apiKey: string;
  /** The values of the header field Idempotency-Key, one for each line. */
  readonly idempotencyKeys: readonly string[];
  /** The body: valid UTF-8, not empty, within the limit. Rejects as request-body.ts says. */
  readBody(): Promise<Buffer>;
}
