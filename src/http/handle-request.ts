/**
 * Takes a request from its header to its response, from top to bottom:
 *
 *     rules of HTTP → preflight → path → API key → query → Expect → method → operation → response
 *
 * Below the protected path, authentication comes before every error that depends on which paths
 * exist: a client without an API key does not learn that. What the header refuses is returned as an
 * ApiError, and sent immediately, since the parser may reject the body next. What an operation
 * refuses is thrown.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, type Logger } from '../base/logger.ts';
import { cut, quote } from '../base/quote.ts';
import { ApiError, malformed } from './api-error.ts';
import {
  emptyResponse,
  errorResponse,
  NO_HEADERS,
  sendResponse,
  type ApiResponse,
} from './api-response.ts';
import { lingeringClose } from './lingering-close.ts';
import type { ApiRequest, Operation } from './operation.ts';
import { ClientGoneError, readBody } from './request-body.ts';
import {
  announcesBody,
  authenticate,
  fieldOf,
  findBrokenRule,
  percentDecode,
  readTarget,
  type ApiKey,
  type KeyUse,
} from './request-header.ts';
import { createRouter, type Route } from './router.ts';

/** For the `request` event of a node:http server. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

interface ListenerOptions {
  readonly operations: readonly Operation[];
  /** What all paths begin with (PETSTORE_PREFIX): '' or '/shop'. */
  readonly prefix: string;
  /** Below this path even the 404 of an unknown path requires an API key: '/v1'. */
  readonly protectedPath: string;
  /**
   * Returns what the 404 of an unknown path adds to its message, for example the probable path. The
   * path is normalized. `mount` is the path that the embedding program has removed from the target,
   * or ''.
   */
  hintFor(path: string, mount: string): string;
  /** Returns the API key with this text, or undefined if no such key is in force. */
  findKey(token: string): ApiKey | undefined;
  readonly bodyLimitBytes: number;
  /** Returns true during a graceful shutdown: each response then closes its connection. */
  isStopping(): boolean;
  readonly logger: Logger;
  /** Converts a documented error of the store. Returns undefined for any other error. */
  toApiError?: ((error: unknown) => ApiError | undefined) | undefined;
  /** Called with each response just before it is sent, even if its client has gone. */
  onResponse(summary: RequestSummary): void;
  /**
   * Returns the id of a request, which its response carries. If it is not set, there are no ids.
   */
  identify?: ((request: IncomingMessage) => string) | undefined;
  /** Responds to some requests before authentication, and adds header fields to all responses. */
  cors?: CorsPolicy | undefined;
}

/** What web pages of other origins may do. */
export interface CorsPolicy {
  /** Returns the response to a preflight from an allowed origin, or undefined. */
  preflight(request: IncomingMessage): ApiResponse | undefined;
  /** Returns the header fields of the responses to this origin. */
  headersFor(origin: string | undefined): readonly string[];
}

/** What a request asks for, as far as its header was read before the response was known. */
interface Asked {
  /** As it was sent, without query and host, which may be secret. '' if it is unsound. */
  readonly path: string;
  /** The request breaks a rule of HTTP: a proxy may have understood it differently. */
  readonly isUnsound?: true;
  /** The use of its API key, or undefined without a valid one. */
  readonly keyUse?: KeyUse | undefined;
  /** The name of the operation, if there is one. */
  readonly operation?: string | undefined;
}

/** A request with its response, for the metrics and the access log. */
export interface RequestSummary extends Asked {
  readonly request: IncomingMessage;
  /** '' if requests have none. */
  readonly requestId: string;
  /** When the listener got the request, after all earlier responses, by performance.now(). */
  readonly startedAt: number;
  readonly status: number;
  /** Bytes of the response body, 0 for HEAD. */
  readonly bodyBytes: number;
}

/** One request, its response, and the options of the listener. */
interface RequestContext {
  readonly options: ListenerOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedAt: number;
  readonly requestId: string;
}

const UNSOUND: Asked = { path: '', isUnsound: true };

export function createListener(options: ListenerOptions): Listener {
  const { prefix, cors } = options;
  const findRoute = createRouter(options.operations, prefix);
  const protectedPath = `${prefix}${options.protectedPath}`;

  return (request, response) => {
    const { method = '' } = request;
    // After a response, node:http discards the body by running its stream to the end, unless
    // something has read from the stream. `read(0)` counts as reading. Measured on Node 20, it
    // saves 10 % of a short request. Node 24 and later need no call (optimizeEmptyRequests).
    if (!announcesBody(request) && !request.complete) request.read(0);
    const startedAt = performance.now();
    const requestId = options.identify?.(request) ?? '';
    const context = { options, request, response, startedAt, requestId };

    const target = findBrokenRule(request) ?? readTarget(method, targetOf(request));
    if (target instanceof ApiError) return refuse(context, UNSOUND, target);
    const { path, normalized, query } = target;
    const preflight = path === '*' ? OPTIONS_OF_SERVICE : cors?.preflight(request);
    if (preflight !== undefined) return respond(context, { path }, preflight);

    const match = findRoute(normalized);
    const needsKey = match?.route.needsKey ?? `${normalized}/`.startsWith(`${protectedPath}/`);
    const apiKey = needsKey ? authenticate(request, needsKey, options.findKey) : undefined;
    if (apiKey instanceof ApiError) return refuse(context, { path }, apiKey);
    const keyUse = apiKey?.use;
    if (match === undefined) {
      const hint = options.hintFor(normalized, mountOf(request));
      return refuse(context, { path, keyUse }, unknownPath(path, hint));
    }

    const { route, parameter: pathParameter } = match;
    const refusal = findRefusal(request, query);
    if (refusal !== undefined) return refuse(context, { path, keyUse }, refusal);
    if (method === 'OPTIONS') {
      return respond(context, { path, keyUse }, emptyResponse(['Allow', allowOf(route)]));
    }
    const operation = route.operations.get(method);
    if (operation === undefined) {
      return refuse(context, { path, keyUse }, methodNotAllowed(path, method, route));
    }
    call(context, { path, keyUse, operation: operation.name }, operation, {
      pathParameter,
      query,
      apiKey: apiKey?.text ?? '',
      idempotencyKey: fieldOf(request, 'idempotency-key'),
      readBody: () => readBody(request, response, options.bodyLimitBytes),
    });
  };
}

/** The response to OPTIONS for the server as a whole. */
const OPTIONS_OF_SERVICE: ApiResponse = emptyResponse(['Allow', 'GET, HEAD, POST, OPTIONS']);

/** Calls the operation. It returns the response if that is known already, else a promise. */
function call(
  context: RequestContext,
  asked: Asked,
  operation: Operation,
  apiRequest: ApiRequest,
): void {
  try {
    const handled = operation.handle(apiRequest);
    if (!(handled instanceof Promise)) return respond(context, asked, handled);
    handled
      .then((apiResponse) => respond(context, asked, apiResponse))
      .catch((error: unknown) => fail(context, asked, error));
  } catch (error) {
    fail(context, asked, error);
  }
}

/** Responds to a thrown error. If it is not an API error, logs it, and the response is a 500. */
function fail(context: RequestContext, asked: Asked, error: unknown): void {
  if (error instanceof ClientGoneError) return;
  const { options, request, requestId } = context;
  const apiError = error instanceof ApiError ? error : options.toApiError?.(error);
  if (apiError !== undefined) return refuse(context, asked, apiError);
  const { method = '' } = request;
  const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  options.logger('error', 'A request failed', { requestId, method, path: asked.path, cause });
  refuse(context, asked, new ApiError('internal_error', 'The service failed to respond'));
}

function refuse(context: RequestContext, asked: Asked, error: ApiError): void {
  respond(context, asked, errorResponse(error));
}

/** Reports the response and sends it. Decides whether its connection stays open. */
function respond(context: RequestContext, asked: Asked, apiResponse: ApiResponse): void {
  const { options, request, response, startedAt, requestId } = context;
  const { path, keyUse, operation } = asked;
  const { status } = apiResponse;
  const bodyBytes = request.method === 'HEAD' ? 0 : apiResponse.bodyBytes;
  options.onResponse({ request, requestId, startedAt, path, operation, keyUse, status, bodyBytes });
  if (response.destroyed) return;
  const headers = extraHeaders(context, apiResponse);
  const isEarly = isEarlyResponse(context, status);
  const { socket } = request;
  // createHttpServer sets it already. On another server, node:http would reset the connection.
  if (isEarly) socket.destroySoon = () => lingeringClose(socket);
  const isLast = isEarly || endsConnection(context, asked);
  sendResponse(response, apiResponse, isLast ? [...headers, ...CLOSE] : headers);
}

const CLOSE: readonly string[] = ['Connection', 'close'];

/** Header fields in addition to the response's own. */
function extraHeaders(
  { options: { cors }, request, requestId }: RequestContext,
  { headers }: ApiResponse,
): readonly string[] {
  if (requestId === '' && cors === undefined) return NO_HEADERS;
  const all: string[] = [];
  if (requestId !== '') all.push('X-Request-Id', requestId);
  // A response that any web page may read has that field already.
  if (cors !== undefined && !headers.includes('Access-Control-Allow-Origin')) {
    all.push(...cors.headersFor(request.headers.origin));
  }
  return all;
}

/**
 * Returns true if the connection must end with this response, because the rest of the request body
 * will not be read. That is so for an error response. It is so for any other response, unless
 * Content-Length shows that the body is within the limit: then node:http discards the rest. A
 * request with Expect is not bounded: after a final response its client may omit the body, and
 * node:http would discard the next request as the body.
 */
function isEarlyResponse({ options, request }: RequestContext, status: number): boolean {
  if (request.complete || !announcesBody(request)) return false;
  const length = fieldOf(request, 'content-length');
  const isBounded = length !== undefined && fieldOf(request, 'expect') === undefined;
  return status >= 400 || !isBounded || Number(length) > options.bodyLimitBytes;
}

function endsConnection({ options, request }: RequestContext, asked: Asked): boolean {
  // After a request to upgrade, node:http discards all bytes that came with it.
  if (asked.isUnsound || options.isStopping()) return true;
  if (fieldOf(request, 'upgrade') !== undefined) return true;
  // The parser obeys a Connection field in the trailer, and reads no request after it.
  return request.rawTrailers.some((text) => /^(?:proxy-)?connection$/i.test(text));
}

/**
 * Returns the request's target. A program that mounts the listener under a path removes that path
 * from the url, and keeps the whole target as `originalUrl` (Connect, Express).
 */
function targetOf({ url = '', originalUrl }: MountedRequest): string {
  return typeof originalUrl === 'string' ? originalUrl : url;
}

type MountedRequest = IncomingMessage & { readonly originalUrl?: unknown };

/** Returns the path that was removed, or ''. */
function mountOf(request: MountedRequest): string {
  const { url = '' } = request;
  const target = targetOf(request);
  return url !== '' && target.endsWith(url) ? target.slice(0, -url.length) : '';
}

function unknownPath(path: string, hint: string): ApiError {
  if (percentDecode(path) === undefined) return brokenEncoding('path', path);
  return new ApiError('unknown_path', `Unknown path ${cut(path)}${hint}`);
}

/** Returns the error of a query or an Expect that no operation takes, or undefined. */
function findRefusal(request: IncomingMessage, query: string): ApiError | undefined {
  // An operation without parameters does not read the query, so it is checked here.
  if (percentDecode(query) === undefined) return brokenEncoding('query', query);
  const expect = fieldOf(request, 'expect');
  // Expect is a list: "100-continue" may be in it twice (RFC 9110 section 10.1.1).
  if (expect === undefined || CONTINUE.test(expect)) return undefined;
  const message = `Expect must be 100-continue, not ${quote(expect)}`;
  return new ApiError('expectation_failed', message);
}

const CONTINUE: RegExp = /^100-continue(?:[ \t]*,[ \t]*100-continue)*$/i;

/** Returns the error for '%' without two hex digits after it, or for invalid UTF-8. */
function brokenEncoding(part: 'path' | 'query', text: string): ApiError {
  return malformed(`The ${part} ${quote(text)} has broken percent-encoding`);
}

function methodNotAllowed(path: string, method: string, route: Route): ApiError {
  const allow = allowOf(route);
  const message = `${cut(path)} does not support ${method}, only ${allow}`;
  return new ApiError('method_not_allowed', message, ['Allow', allow]);
}

/** Returns the value of the Allow header field. */
function allowOf({ operations }: Route): string {
  return [...operations.keys(), 'OPTIONS'].join(', ');
}
