/**
 * Sends a response, and decides whether its connection stays open.
 *
 * The connection ends if a proxy may have understood the request differently, if its body was not
 * read, and during a graceful shutdown.
 */

import { NO_HEADERS, sendResponse, type ApiResponse } from './api-response.ts';
import type { Exchange } from './exchange.ts';
import { lingeringClose } from './lingering-close.ts';
import { announcesBody } from './request-headers.ts';
import type { RequestFacts } from './request-record.ts';

/** Sends the response and reports it. */
export function respond(exchange: Exchange, facts: RequestFacts, apiResponse: ApiResponse): void {
  const { options, request, response, startedAt, requestId } = exchange;
  const { status } = apiResponse;
  const bodyBytes = request.method === 'HEAD' ? 0 : apiResponse.bodyBytes;
  options.onResponse({ request, facts, status, bodyBytes, startedAt, requestId });
  if (response.destroyed) return;
  const headers = extraHeaders(exchange, facts, status);
  const isEarly = isEarlyResponse(exchange, status);
  const { socket } = request;
  // createHttpServer sets it already. On another server, node:http would reset the connection.
  if (isEarly) socket.destroySoon = () => lingeringClose(socket);
  const isLast = isEarly || endsConnection(exchange, facts);
  sendResponse(response, apiResponse, isLast ? [...headers, ...CLOSE] : headers);
}

const CLOSE: readonly string[] = ['Connection', 'close'];

/**
 * Returns true if the connection must end with this response, because the rest of the request body
 * will not be read. That is so for an error response. It is so for any other response, unless
 * Content-Length shows that the body is within the limit: then node:http discards the rest. A
 * request with Expect is not bounded: after a final response its client may omit the body, and
 * node:http would discard the next request as the body.
 */
function isEarlyResponse({ options, request, headers }: Exchange, status: number): boolean {
  if (!announcesBody(headers) || request.complete) return false;
  const { contentLength, expect } = headers;
  const isBounded = contentLength !== undefined && expect === undefined;
  return status >= 400 || !isBounded || Number(contentLength) > options.bodyLimitBytes;
}

function endsConnection({ options, request, headers }: Exchange, facts: RequestFacts): boolean {
  // After a request to upgrade, node:http discards all bytes that came with it.
  if (!facts.passedRequestRules || headers.asksToUpgrade || options.isDraining()) return true;
  // The parser obeys a Connection field in the trailer, and reads no request after it.
  return request.rawTrailers.some((text) => /^(?:proxy-)?connection$/i.test(text));
}

/** Header fields in addition to the response's own. */
function extraHeaders(
  { options: { cors }, request, requestId }: Exchange,
  { prepared, isPublic }: RequestFacts,
  status: number,
): readonly string[] {
  // A removed operation is no longer deprecated.
  const headers = prepared === undefined || status === 410 ? NO_HEADERS : prepared.headers;
  if (requestId === '' && cors === undefined && !isPublic) return headers;
  const all = [...headers];
  if (requestId !== '') all.push('X-Request-Id', requestId);
  if (isPublic) all.push('Access-Control-Allow-Origin', '*');
  else if (cors !== undefined) all.push(...cors.headersFor(request.headers.origin));
  return all;
}
