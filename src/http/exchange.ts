/**
 * Exchange: one request and its response, from the moment that its turn has come.
 *
 * The response goes out in one place, `respond`, which decides what is to become of the connection:
 * it ends where the request may not have been understood alike by all on its way, where its body was
 * not read, and while the service stops.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, type Log } from '../base/log.ts';
import { ApiError } from './api-error.ts';
import {
  errorResponse,
  NO_HEADERS,
  sendResponse,
  sendResponseOpen,
  type ApiResponse,
} from './api-response.ts';
import type { Keyring } from './keyring.ts';
import type { CorsPolicy } from './cors-policy.ts';
import { dropBody } from './drop-body.ts';
import { skipEmptyBody } from './empty-request.ts';
import type { ApiRequest, Operation } from './operation.ts';
import { ClientGoneError, readBody } from './request-body.ts';
import { announcesBody, readHeaders, type RequestHeaders } from './request-headers.ts';
import type { RequestRecord } from './request-record.ts';
import type { PreparedOperation } from './routes.ts';

export interface ListenerOptions {
  readonly operations: readonly Operation[];
  /** What stands before their paths: '' or '/shop'. */
  readonly prefix: string;
  /** Below it, nothing is told without a key: '/v1'. */
  readonly guardedPath: string;
  /** The keys in force, asked for on each request. */
  keyring(): Keyring;
  readonly bodyLimitBytes: number;
  /** The time of day in milliseconds since 1970. */
  now(): number;
  /** True while the service stops: each answer then closes its connection. */
  isDraining(): boolean;
  readonly log: Log;
  /** Told of each answer as it goes out. */
  onResponse(record: RequestRecord): void;
  /** The id of a request, which its answer then carries; without this, requests have none. */
  identify?: ((request: IncomingMessage) => string) | undefined;
  /** Answers some requests before authentication, and adds header fields to all answers. */
  cors?: CorsPolicy | undefined;
}

/** Its handler sees the ApiRequest in it; metrics and the access log see the RequestRecord. */
export interface Exchange extends ApiRequest, RequestRecord {
  readonly options: ListenerOptions;
  readonly response: ServerResponse;
  readonly headers: RequestHeaders;
  prepared: PreparedOperation | undefined;
  operation: string;
  path: string;
  pathParameters: readonly string[];
  query: string;
  apiKey: string;
  /** False until the request has passed the rules of HTTP: others may have understood it otherwise. */
  isSound: boolean;
  status: number;
  bodyBytes: number;
}

export function openExchange(
  options: ListenerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Exchange {
  const headers = readHeaders(request.rawHeaders);
  if (!announcesBody(headers)) skipEmptyBody(request);
  return {
    options,
    request,
    response,
    headers,
    prefix: options.prefix,
    startedAt: performance.now(),
    requestId: options.identify === undefined ? '' : options.identify(request),
    prepared: undefined,
    operation: '',
    path: '',
    pathParameters: [],
    query: '',
    apiKey: '',
    idempotencyKeys: headers.idempotencyKeys,
    isSound: false,
    status: 0,
    bodyBytes: 0,
    readBody: () => readBody(request, response, headers, options.bodyLimitBytes),
  };
}

/** Sends the response, and tells of it. */
export function respond(exchange: Exchange, apiResponse: ApiResponse): void {
  const { options, request, response } = exchange;
  exchange.status = apiResponse.status;
  exchange.bodyBytes = request.method === 'HEAD' ? 0 : apiResponse.bodyBytes;
  options.onResponse(exchange);
  if (response.destroyed) return;
  const hasUnreadBody = announcesBody(exchange.headers) && !request.complete;
  // A failure does not wait for the rest of a body; nor does any response, where that may be long.
  const isEarly = hasUnreadBody && (apiResponse.status >= 400 || !isShort(exchange));
  const extra = extraHeaders(exchange);
  const headers = isEarly || isLast(exchange) ? [...extra, ...CLOSE] : extra;
  if (isEarly) {
    sendResponseOpen(response, apiResponse, headers);
    dropBody(request, response);
  } else {
    sendResponse(response, apiResponse, headers);
  }
}

/** True when the connection ends with this answer. */
function isLast({ options, request, headers, isSound }: Exchange): boolean {
  // Of what came along with a request to upgrade, node:http drops the rest, even half a request.
  if (!isSound || headers.asksToUpgrade || options.isDraining()) return true;
  // The parser heeds a Connection among the trailers, and takes no request after it.
  return request.rawTrailers.some((text) => /^(?:proxy-)?connection$/i.test(text));
}

/** Answers with an Error body; what is no ApiError is our own fault, and its cause for the log. */
export function respondWithError(exchange: Exchange, error: unknown): void {
  if (error instanceof ClientGoneError) return;
  if (error instanceof ApiError) {
    respond(exchange, errorResponse(error));
  } else {
    const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    const { options, request, requestId, path } = exchange;
    const { method = '' } = request;
    options.log('error', 'A request failed', { requestId, method, path, cause });
    respond(
      exchange,
      errorResponse(new ApiError('internal_error', 'The service failed to answer')),
    );
  }
}

/** Header fields beside the response's own. */
function extraHeaders(exchange: Exchange): readonly string[] {
  const { options, request, requestId, prepared, status } = exchange;
  // What a removed operation was deprecated for is no longer of use to anybody.
  const headers = prepared === undefined || status === 410 ? NO_HEADERS : prepared.headers;
  const isPublic = prepared?.operation.isPublic === true;
  if (requestId === '' && options.cors === undefined && !isPublic) return headers;
  const all = [...headers];
  if (requestId !== '') all.push('X-Request-Id', requestId);
  if (isPublic) all.push('Access-Control-Allow-Origin', '*');
  else if (options.cors !== undefined) all.push(...options.cors.headersFor(request));
  return all;
}

/** A body that nobody asked for is dropped by node:http; a short one keeps the connection. */
function isShort({ headers: { contentLength, expect }, options }: Exchange): boolean {
  const isBounded = contentLength !== undefined && expect === undefined;
  return isBounded && Number(contentLength) <= options.bodyLimitBytes;
}

const CLOSE: readonly string[] = ['Connection', 'close'];
