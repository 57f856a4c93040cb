/**
 * Takes a request from its header to its response, from top to bottom:
 *
 *     rules of HTTP → policies → path → API key → query → Expect → method → operation → response
 *
 * For example, `PUT /v1/pets` without an API key is a 401, and with one a 405: below the protected
 * path, authentication comes before every error that depends on which paths exist, so that a client
 * without an API key does not learn that.
 *
 * Whatever refuses a request throws an HttpError. Up to the method nothing is awaited, so these
 * refusals are sent before the parser can reject the body. If an operation refuses a request whose
 * body the parser has rejected meanwhile, the client gets the parser's error.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cut, quote } from '../base/quote.ts';
import { authenticate, type ApiKey, type ApiKeys } from './authentication.ts';
import { announcesBody, areTooMany, checkFields, fieldOf } from './fields.ts';
import { HttpError, httpError, malformed, type FieldList } from './http-error.ts';
import { emptyResponse, errorResponse, sendResponse, type HttpResponse } from './http-response.ts';
import { lingeringClose } from './lingering-close.ts';
import type { Operation } from './operation.ts';
import { ClientGoneError, readBody } from './request-body.ts';
import { createRouter, methodsOf, type Route } from './router.ts';
import { percentDecode, readTarget } from './target.ts';

/** For the `request` event of a node:http server. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

interface ListenerOptions {
  readonly operations: readonly Operation[];
  /** What all paths begin with: '' or '/shop'. */
  readonly prefix: string;
  /** Below this path even the 404 of an unknown path requires an API key: '/v1'. */
  readonly protectedPath: string;
  readonly apiKeys: ApiKeys;
  /** In their order. */
  readonly policies: readonly Policy[];
  readonly bodyLimitBytes: number;
  /**
   * Returns what the 404 of an unknown path adds to its message, for example the probable path. The
   * path is normalized.
   */
  hintFor(path: string, request: IncomingMessage): string;
  /** Returns true during a graceful shutdown: each response then closes its connection. */
  isStopping(): boolean;
  /** Converts a documented error of an operation. Returns undefined for any other error. */
  fromOperationError(error: unknown): HttpError | undefined;
  /** Called with each other error, of which the client learns only that it is a 500. */
  onFailure(error: unknown, exchange: Exchange): void;
  /** Called with each response when it is sent, even if its client has gone. */
  onResponse(exchange: Exchange): void;
}

/** What holds for all operations, such as a header field that each response has. */
export interface Policy {
  /** Returns a response that is sent before authentication, or undefined to go on. */
  responseFor(request: IncomingMessage): HttpResponse | undefined;
  /** Returns header fields to add to a response. */
  headersFor(request: IncomingMessage, httpResponse: HttpResponse): FieldList;
}

/** A request with its response, as far as they are known. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When the listener got the request, after all earlier responses, by performance.now(). */
  readonly startedAt: number;
  /**
   * The path as it was sent, without query and host, which may be secret. '' if the request breaks
   * a rule of HTTP: a proxy may have understood it differently.
   */
  path: string;
  /** The name of its API key, which may be ''. Undefined without a valid key. */
  keyName: string | undefined;
  /** The name of the operation, if there is one. */
  operation: string | undefined;
  /** The status of the response, 0 before it is sent. */
  status: number;
  /** Bytes of the response body, 0 for HEAD. */
  bodyBytes: number;
}

export function createListener(options: ListenerOptions): Listener {
  const { operations, prefix, apiKeys, policies, bodyLimitBytes } = options;
  const findRoute = createRouter(operations, prefix);
  const protectedPath = `${prefix}${options.protectedPath}/`;
  const optionsOfService = emptyResponse(['Allow', allowOf(operations)]);

  /** Returns or resolves with the response. Throws at once if the header alone is a reason. */
  const answer = (exchange: Exchange): HttpResponse | Promise<HttpResponse> => {
    const { request } = exchange;
    checkFields(request);
    const { path, normalized, query } = readTarget(request);
    exchange.path = path;
    if (path === '*') return optionsOfService;
    for (const policy of policies) {
      const httpResponse = policy.responseFor(request);
      if (httpResponse !== undefined) return httpResponse;
    }

    const match = findRoute(normalized);
    const needsKey = match?.route.needsKey ?? `${normalized}/`.startsWith(protectedPath);
    let apiKey: ApiKey | undefined;
    if (needsKey !== false) {
      apiKey = authenticate(request, apiKeys, needsKey === true ? undefined : needsKey);
      exchange.keyName = apiKey.name;
    }
    if (match === undefined) throw unknownPath(path, options.hintFor(normalized, request));

    const { route, parameter: pathParameter } = match;
    const { method = '' } = request;
    if (percentDecode(query) === undefined) throw brokenEncoding('query', query);
    checkExpect(request);
    if (method === 'OPTIONS') return emptyResponse(['Allow', allowOf(route.operations.values())]);
    const operation = route.operations.get(method);
    if (operation === undefined) throw methodNotAllowed(path, method, route);
    exchange.operation = operation.name;
    return operation.handle({
      pathParameter,
      query,
      keyDigest: apiKey?.digest ?? '',
      header: (name) => fieldOf(request, name),
      readBody: () => readBody(request, bodyLimitBytes),
    });
  };

  return async (request, response) => {
    if (ended.has(request.socket)) return;
    const exchange: Exchange = {
      request,
      response,
      startedAt: performance.now(),
      path: '',
      keyName: undefined,
      operation: undefined,
      status: 0,
      bodyBytes: 0,
    };
    try {
      respond(exchange, await answer(exchange), options);
    } catch (error) {
      if (!(error instanceof ClientGoneError)) refuse(exchange, error, options);
    }
  };
}

/**
 * Responds to a request whose handling, or whose response, has thrown an error: with a 500 if no
 * operation has documented it.
 */
function refuse(exchange: Exchange, error: unknown, options: ListenerOptions): void {
  const { response } = exchange;
  const known = error instanceof HttpError ? error : options.fromOperationError(error);
  try {
    if (known === undefined) options.onFailure(error, exchange);
    // Either its report has failed, or other code of the process has begun a response.
    if (response.headersSent) return;
    const refusal = known ?? httpError('internal_error', 'The service failed to respond');
    respond(exchange, errorResponse(refusal), options);
  } catch (failure) {
    // A policy or a report has failed. Thrown on, the error would end the process.
    options.onFailure(failure, exchange);
    if (!response.headersSent) response.destroy();
  }
}

/**
 * Sends the response and reports it. Decides whether its connection stays open. Throws before
 * anything is sent if a header field of a handler is not valid.
 */
function respond(exchange: Exchange, httpResponse: HttpResponse, options: ListenerOptions): void {
  const { request, response } = exchange;
  const { socket, method } = request;
  const { status, bodyBytes } = httpResponse;
  const headers: string[] = [];
  for (const policy of options.policies) headers.push(...policy.headersFor(request, httpResponse));
  const isBodyLeft = leavesBody(request, status, options.bodyLimitBytes);
  // createPlainServer sets it already. On another server, node:http would reset the connection.
  if (isBodyLeft) socket.destroySoon = () => lingeringClose(socket);
  if (isBodyLeft || options.isStopping() || endsConnection(exchange)) {
    headers.push('Connection', 'close');
    ended.add(socket);
  }
  if (!response.destroyed) sendResponse(response, httpResponse, headers);
  exchange.status = status;
  exchange.bodyBytes = method === 'HEAD' ? 0 : bodyBytes;
  options.onResponse(exchange);
}

/**
 * The connections that end with a response. A server without a gate (gate.ts) passes on what came
 * in one packet with a refused request, and it must not be handled (RFC 9112 section 9.6).
 */
const ended = new WeakSet<Socket>();

/**
 * Returns true if a response leaves a part of its request's body unread, so that the connection
 * must end with it. That is so for an error response, unless the body was read to its end. It is so
 * for any other response, unless Content-Length shows that the body is within the limit: then
 * node:http discards the rest.
 *
 * Of a body that is too long (413) the reader has stopped. Whether its stream has ended all the
 * same depends on how much had arrived by then.
 */
function leavesBody(request: IncomingMessage, status: number, limitBytes: number): boolean {
  const isRead = request.readableEnded && status !== 413;
  if (isRead || !announcesBody(request)) return false;
  const length = fieldOf(request, 'content-length');
  return status >= 400 || length === undefined || Number(length) > limitBytes;
}

/** Returns true if nothing that follows the request on its connection can be understood. */
function endsConnection({ request, path }: Exchange): boolean {
  if (path === '') return true;
  // After a request to upgrade, node:http discards all bytes that came with it.
  if (fieldOf(request, 'upgrade') !== undefined) return true;
  // The parser obeys a Connection field in the trailer, and reads no request after it.
  const { rawTrailers } = request;
  const isConnection = (text: string): boolean => /^(?:proxy-)?connection$/i.test(text);
  return areTooMany(rawTrailers) || rawTrailers.some(isConnection);
}

function unknownPath(path: string, hint: string): HttpError {
  if (percentDecode(path) === undefined) return brokenEncoding('path', path);
  return httpError('unknown_path', `Unknown path ${cut(path)}${hint}`);
}

/** Returns the error for '%' without two hex digits after it, or for invalid UTF-8. */
function brokenEncoding(part: 'path' | 'query', text: string): HttpError {
  return malformed(`The ${part} ${quote(text)} has broken percent-encoding`);
}

/** Throws for an expectation that is not met (RFC 9110 section 10.1.1). */
function checkExpect(request: IncomingMessage): void {
  const expect = fieldOf(request, 'expect');
  if (expect === undefined || CONTINUE.test(expect)) return;
  throw httpError('expectation_failed', `Expect must be 100-continue, not ${quote(expect)}`);
}

/** Expect is a list: "100-continue" may be in it twice. */
const CONTINUE: RegExp = /^100-continue(?:[ \t]*,[ \t]*100-continue)*$/i;

function methodNotAllowed(path: string, method: string, { operations }: Route): HttpError {
  const allow = allowOf(operations.values());
  const message = `${cut(path)} does not support ${method}, only ${allow}`;
  return httpError('method_not_allowed', message, ['Allow', allow]);
}

/** Returns the value of the Allow header field. */
function allowOf(operations: Iterable<Operation>): string {
  return [...methodsOf(operations), 'OPTIONS'].join(', ');
}
