/**
 * The listener: takes one request from node:http to its answer.
 *
 *     rules of HTTP → match the path → authenticate → match the method → handle → reply
 *
 * Below the guarded path nothing is told without a key, not even which paths there are, so
 * authentication comes before any other complaint. Every failure on the way is thrown, and caught here, in one place.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, type Log } from '../base/log.ts';
import { cut, quote } from '../base/quote.ts';
import type { Answer } from './answer.ts';
import { ApiError } from './api-error.ts';
import { authenticate, type Keyring } from './bearer.ts';
import type { CorsPolicy } from './cors-policy.ts';
import { dropBody } from './drop-body.ts';
import { skipEmptyBody } from './empty-request.ts';
import type { Call, Operation } from './operation.ts';
import {
  emptyReply,
  errorReply,
  NO_HEADERS,
  sendReply,
  sendReplyOpen,
  type Reply,
} from './reply.ts';
import { ClientGoneError, readBody } from './request-body.ts';
import { announcesBody, readHeaders, type RequestHeaders } from './request-headers.ts';
import { checkRequestRules } from './request-rules.ts';
import { createRouter, type Router } from './router.ts';
import { brokenEncoding, decodeSegments, percentDecode, readTarget } from './target.ts';
import { groupByPath, type PreparedOperation, type Route } from './routes.ts';

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
  onAnswer(answer: Answer): void;
  /** The id of a request, which its answer then carries; without this, requests have none. */
  identify?: ((request: IncomingMessage) => string) | undefined;
  /** Answers some requests before authentication, and adds header fields to all answers. */
  cors?: CorsPolicy | undefined;
}

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export function createListener(options: ListenerOptions): Listener {
  const router = createRouter(groupByPath(options.operations, options.prefix));
  return (request, response) => void serve(options, router, request, response);
}

async function serve(
  options: ListenerOptions,
  router: Router<Route>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const exchange = openExchange(options, request, response);
  try {
    const reply = answer(exchange, router);
    // What the header alone decides goes out at once, before the parser may find fault with the body.
    send(exchange, 'then' in reply ? await reply : reply);
  } catch (error) {
    fail(exchange, error);
  }
}

/** One request and its answer; also the Call that its handler gets to see. */
interface Exchange extends Call, Answer {
  readonly options: ListenerOptions;
  readonly response: ServerResponse;
  readonly headers: RequestHeaders;
  prepared: PreparedOperation | undefined;
  operation: string;
  path: string;
  parameters: readonly string[];
  query: string;
  /** Until then it is not known whether everybody on its way understood the request alike. */
  isSound: boolean;
  status: number;
  bodyBytes: number;
}

function openExchange(
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
    parameters: [],
    query: '',
    isSound: false,
    status: 0,
    bodyBytes: 0,
    readBody: () => readBody(request, response, headers, options.bodyLimitBytes),
  };
}

function answer(exchange: Exchange, router: Router<Route>): Reply | Promise<Reply> {
  const { options, request, headers } = exchange;
  const { method = '' } = request;
  checkRequestRules(request, headers);
  const { path, query } = readTarget(targetOf(request));
  exchange.path = path;
  if (path === '*') checkAsterisk(method);
  exchange.isSound = true;
  if (path === '*') return emptyReply(['Allow', 'GET, HEAD, POST, OPTIONS']);
  const preflight = options.cors?.preflight(request);
  if (preflight !== undefined) return preflight;
  const found = router.match(path);
  if (
    found === undefined
      ? isBelow(path, `${options.prefix}${options.guardedPath}`)
      : found.route.needsKey
  ) {
    authenticate(headers, options.keyring());
  }
  if (found === undefined) throw noSuchPath(path);
  // Here too, since an operation without parameters does not read the query.
  if (percentDecode(query) === undefined) throw brokenEncoding('query', query);
  checkExpectation(headers);
  if (method === 'OPTIONS') return emptyReply(['Allow', found.route.allow]);
  const prepared = operationFor(found.route, method, path);
  const { operation, removal } = prepared;
  exchange.prepared = prepared;
  exchange.operation = operation.name;
  exchange.parameters = found.parameters;
  exchange.query = query;
  if (removal !== undefined && options.now() >= removal.at) throw removal.error();
  return operation.handle(exchange);
}

function operationFor(route: Route, method: string, path: string): PreparedOperation {
  const prepared = route.operations.get(method);
  if (prepared !== undefined) return prepared;
  const message = `${cut(path)} does not answer ${method}, only ${route.allow}`;
  throw new ApiError('method_not_allowed', message, ['Allow', route.allow]);
}

function send(exchange: Exchange, reply: Reply): void {
  const { options, request, response } = exchange;
  exchange.status = reply.status;
  exchange.bodyBytes = request.method === 'HEAD' ? 0 : reply.bodyBytes;
  options.onAnswer(exchange);
  if (response.destroyed) return;
  const hasUnreadBody = announcesBody(exchange.headers) && !request.complete;
  const isEarly = hasUnreadBody && (reply.status >= 400 || !isShort(exchange));
  const extra = extraHeaders(exchange);
  const headers = isEarly || isLast(exchange) ? [...extra, ...CLOSE] : extra;
  if (isEarly) {
    sendReplyOpen(response, reply, headers);
    dropBody(request, response);
  } else {
    sendReply(response, reply, headers);
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
function fail(exchange: Exchange, error: unknown): void {
  if (error instanceof ClientGoneError) return;
  if (error instanceof ApiError) {
    send(exchange, errorReply(error));
  } else {
    const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    const { options, request, requestId, path } = exchange;
    const { method = '' } = request;
    options.log('error', 'A request failed', { requestId, method, path, cause });
    send(exchange, errorReply(new ApiError('internal_error', 'The service failed to answer')));
  }
}

/** Header fields beside the reply's own. */
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

/**
 * The request's target. A program that mounts the listener under a path of its own takes that off
 * the url, and keeps the whole as `originalUrl` (Connect, Express).
 */
function targetOf(request: IncomingMessage & { readonly originalUrl?: unknown }): string {
  const { url = '', originalUrl } = request;
  return typeof originalUrl === 'string' ? originalUrl : url;
}

/** The target '*' stands for the server as a whole (RFC 9110 section 9.3.7). */
function checkAsterisk(method: string): void {
  if (method === 'OPTIONS') return;
  throw new ApiError('malformed_request', `The request target * is not for ${method}`);
}

function isBelow(path: string, guardedPath: string): boolean {
  const segments = decodeSegments(path);
  return decodeSegments(guardedPath).every((segment, index) => segment === segments[index]);
}

function noSuchPath(path: string): ApiError {
  if (decodeSegments(path).includes(undefined)) return brokenEncoding('path', path);
  return new ApiError('unknown_path', `There is nothing at ${cut(path)}`);
}

function checkExpectation({ expect }: RequestHeaders): void {
  if (expect === undefined || expect.toLowerCase() === '100-continue') return;
  const message = `Expect must be 100-continue, not ${quote(expect)}`;
  throw new ApiError('expectation_failed', message);
}
