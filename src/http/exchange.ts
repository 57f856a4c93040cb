/** Exchange: one request, its response, and the options of the listener. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, type Log } from '../base/log.ts';
import { ApiError } from './api-error.ts';
import { errorResponse, type ApiResponse } from './api-response.ts';
import type { CorsPolicy } from './cors-policy.ts';
import type { Keyring } from './keyring.ts';
import type { Operation } from './operation.ts';
import type { RequestHeaders } from './request-headers.ts';
import type { RequestRecord } from './request-record.ts';

export interface Exchange {
  readonly options: ListenerOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: RequestHeaders;
  /** When the listener got the request, by performance.now(). */
  readonly startedAt: number;
  /** '' if requests have none. */
  readonly requestId: string;
}

export interface ListenerOptions {
  readonly operations: readonly Operation[];
  /** What all paths begin with (PETSTORE_PREFIX): '' or '/shop'. */
  readonly prefix: string;
  /** Below this path even the 404 of an unknown path requires an API key: '/v1'. */
  readonly protectedPath: string;
  /**
   * Returns what the 404 of an unknown path adds to its message, for example the probable path.
   * `mount` is the path that the embedding program has removed from the target, or ''.
   */
  hintFor(path: string, mount: string): string;
  /** Returns the API keys in force for `needsKey`. Called for each request that needs a key. */
  keyring(needsKey: true | 'metrics'): Keyring;
  readonly bodyLimitBytes: number;
  /** The time of day in milliseconds since 1970. */
  now(): number;
  /** Returns true during a graceful shutdown: each response then closes its connection. */
  isDraining(): boolean;
  readonly log: Log;
  /** Converts a documented error of the store. Returns undefined for any other error. */
  fromStoreError?: ((error: unknown) => ApiError | undefined) | undefined;
  /** Called with each response just before it is sent, even if its client has gone. */
  onResponse(record: RequestRecord): void;
  /**
   * Returns the id of a request, which its response carries. If it is not set, there are no ids.
   */
  identify?: ((request: IncomingMessage) => string) | undefined;
  /** Responds to some requests before authentication, and adds header fields to all responses. */
  cors?: CorsPolicy | undefined;
}

/** Returns the response to a thrown error. If it is not an API error, logs it and returns 500. */
export function failureResponse(exchange: Exchange, path: string, error: unknown): ApiResponse {
  const { options, request, requestId } = exchange;
  const apiError = error instanceof ApiError ? error : options.fromStoreError?.(error);
  if (apiError !== undefined) return errorResponse(apiError);
  const { method = '' } = request;
  const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  options.log('error', 'A request failed', { requestId, method, path, cause });
  return errorResponse(new ApiError('internal_error', 'The service failed to respond'));
}
