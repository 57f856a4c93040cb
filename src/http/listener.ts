/**
 * The listener: takes one request from node:http to its response.
 *
 *     rules of HTTP → preflight → path → key → query → Expect → method → handle → respond
 *
 * Below the guarded path nothing is told without a key, not even which paths there are, so
 * authentication comes before any complaint about path, method or body. Every failure on the way is
 * thrown, and becomes an Error body here.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { cut, quote } from '../base/quote.ts';
import { ApiError } from './api-error.ts';
import { emptyResponse, type ApiResponse } from './api-response.ts';
import { authenticate } from './bearer.ts';
import {
  openExchange,
  respond,
  respondWithError,
  type Exchange,
  type ListenerOptions,
} from './exchange.ts';
import type { Operation } from './operation.ts';
import type { RequestHeaders } from './request-headers.ts';
import { checkRequestRules } from './request-rules.ts';
import { createRouter, type Router } from './router.ts';
import { groupByPath, type PreparedOperation, type Route } from './routes.ts';
import { brokenEncoding, decodeSegments, percentDecode, readTarget } from './target.ts';

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export function createListener(options: ListenerOptions): Listener {
  const router = createRouter(groupByPath(options.operations, options.prefix));
  return (request, response) => {
    const exchange = openExchange(options, request, response);
    try {
      // What the header alone decides goes out at once: the parser may find fault with the body next.
      const decided = decide(exchange, router);
      if ('handle' in decided) void handle(exchange, decided);
      else respond(exchange, decided);
    } catch (error) {
      respondWithError(exchange, error);
    }
  };
}

async function handle(exchange: Exchange, operation: Operation): Promise<void> {
  try {
    respond(exchange, await operation.handle(exchange));
  } catch (error) {
    respondWithError(exchange, error);
  }
}

/** The response that the header alone decides, or the operation that is asked for. */
function decide(exchange: Exchange, router: Router<Route>): ApiResponse | Operation {
  const { options, request, headers } = exchange;
  const { method = '' } = request;
  checkRequestRules(request, headers);
  const { path, query } = readTarget(targetOf(request));
  exchange.path = path;
  if (path === '*') checkAsterisk(method);
  exchange.isSound = true;
  if (path === '*') return emptyResponse(['Allow', 'GET, HEAD, POST, OPTIONS']);
  const preflight = options.cors?.preflight(request);
  if (preflight !== undefined) return preflight;
  const found = router.match(path);
  const needsKey =
    found?.route.needsKey ?? isBelow(path, `${options.prefix}${options.guardedPath}`);
  if (needsKey) exchange.apiKey = authenticate(headers, options.keyring());
  if (found === undefined) throw noSuchPath(path);
  // Here too, since an operation without parameters does not read the query.
  if (percentDecode(query) === undefined) throw brokenEncoding('query', query);
  checkExpectation(headers);
  if (method === 'OPTIONS') return emptyResponse(['Allow', found.route.allow]);
  const prepared = operationFor(found.route, method, path);
  const { operation, removal } = prepared;
  exchange.prepared = prepared;
  exchange.operation = operation.name;
  exchange.pathParameters = found.parameters;
  exchange.query = query;
  if (removal !== undefined && options.now() >= removal.at) throw removal.error();
  return operation;
}

function operationFor(route: Route, method: string, path: string): PreparedOperation {
  const prepared = route.operations.get(method);
  if (prepared !== undefined) return prepared;
  const message = `${cut(path)} does not answer ${method}, only ${route.allow}`;
  throw new ApiError('method_not_allowed', message, ['Allow', route.allow]);
}

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
