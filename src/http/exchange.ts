/** Exchange: one request and its response, and what the listener serves them with. */

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
  /** By performance.now(). */
  readonly startedAt: number;
  /** '' if requests have none. */
  readonly requestId: string;
}

export interface ListenerOptions {
  readonly operations: readonly Operation[];
  /** What precedes their paths: '' or '/shop'. */
  readonly prefix: string;
  /** Below it, nothing is told without a key: '/v1'. */
  readonly protectedPath: string;
  /**
   * What the 404 of an unknown path adds to its message: the path that was meant, say. `mount` is
   * what the program around has taken off the path.
   */
  hintFor(path: string, mount: string): string;
  /** The keys in force, asked for on each request: those that open what `needsKey` says. */
  keyring(needsKey: true | 'metrics'): Keyring;
  readonly bodyLimitBytes: number;
  /** The time of day in milliseconds since 1970. */
  now(): number;
  /** True while the service stops: each response then closes its connection. */
  isDraining(): boolean;
  readonly log: Log;
  /** Converts a documented error of what the operations use; undefined for any other error. */
  toApiError?: ((error: unknown) => ApiError | undefined) | undefined;
  /** Called with each response as it goes out. */
  onResponse(record: RequestRecord): void;
  /** The id of a request, which its response then carries; without this, requests have none. */
  identify?: ((request: IncomingMessage) => string) | undefined;
  /** Responds to some requests before authentication, and adds header fields to all responses. */
  cors?: CorsPolicy | undefined;
}

/** The Error for anything that was thrown. An error without a code is a fault of the service. */
export function failureResponse(exchange: Exchange, path: string, error: unknown): ApiResponse {
  const { options, request, requestId } = exchange;
  const apiError = error instanceof ApiError ? error : options.toApiError?.(error);
  if (apiError !== undefined) return errorResponse(apiError);
  const { method = '' } = request;
  const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  options.log('error', 'A request failed', { requestId, method, path, cause });
  return errorResponse(new ApiError('internal_error', 'The service failed to answer'));
}
