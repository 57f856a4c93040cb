/**
 * Decides by the header of a request: returns a response, or the call of an operation.
 *
 *     rules of HTTP → preflight → path → key → query → Expect → method → removal → call
 *
 * Below the protected path, after the rules of HTTP and the preflight, authentication comes before
 * every error that depends on which paths exist: a client without an API key does not learn that.
 */

import type { IncomingMessage } from 'node:http';
import { cut, quote } from '../base/quote.ts';
import { ApiError, malformed } from './api-error.ts';
import { emptyResponse, type ApiResponse } from './api-response.ts';
import { authenticate } from './bearer.ts';
import { failureResponse, type Exchange, type ListenerOptions } from './exchange.ts';
import type { ApiRequest, Operation } from './operation.ts';
import { readBody } from './request-body.ts';
import type { RequestHeaders } from './request-headers.ts';
import type { RequestFacts } from './request-record.ts';
import { checkRequestRules } from './request-rules.ts';
import { brokenEncoding, normalizePath, percentDecode, readTarget } from './request-target.ts';
import { createRouter } from './router.ts';
import { groupByPath, type PreparedOperation, type Route } from './routes.ts';

/** The header decides the response. */
export interface Respond {
  readonly kind: 'respond';
  readonly facts: RequestFacts;
  readonly apiResponse: ApiResponse;
}

/** The header is valid: the operation handles the request. */
export interface Call {
  readonly kind: 'call';
  readonly facts: RequestFacts;
  readonly operation: Operation;
  readonly apiRequest: ApiRequest;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Returns the function that decides. It never throws. */
export function createDecide(options: ListenerOptions): (exchange: Exchange) => Respond | Call {
  const { prefix, bodyLimitBytes, cors } = options;
  const findRoute = createRouter(groupByPath(options.operations, prefix));
  const protectedPath = `${prefix}${options.protectedPath}`;
  return (exchange) => {
    const { request, headers } = exchange;
    const { method = '' } = request;
    const facts: Mutable<RequestFacts> = {
      path: '',
      keyUse: undefined,
      prepared: undefined,
      isPublic: false,
      passedRequestRules: false,
    };
    try {
      checkRequestRules(request, headers);
      const { path, query } = readTarget(targetOf(request));
      if (path === '*') checkAsterisk(method);
      facts.passedRequestRules = true;
      facts.path = path;
      if (path === '*') return respondWith(facts, ANY_PATH);
      const preflight = cors?.preflight(request);
      if (preflight !== undefined) return respondWith(facts, preflight);

      const found = findRoute(path);
      const needsKey = found === undefined ? isBelow(path, protectedPath) : found.route.needsKey;
      const key = needsKey ? authenticate(headers, options.keyring(needsKey)) : undefined;
      facts.keyUse = key?.use;
      const apiKey = key?.text ?? '';
      if (found === undefined) throw noSuchPath(path, options.hintFor(path, mountOf(request)));
      const { route, parameters: pathParameters } = found;
      facts.isPublic = route.isPublic;
      // An operation without parameters does not read the query, so it is checked here.
      if (percentDecode(query) === undefined) throw brokenEncoding('query', query);
      checkExpectation(headers);
      if (method === 'OPTIONS') return respondWith(facts, route.optionsResponse);
      const prepared = (facts.prepared = operationFor(route, method, path));
      checkRemoval(prepared, options.now);
      const { idempotencyKeys } = headers;
      const body = (): Promise<Buffer> => readBody(exchange, bodyLimitBytes);
      const apiRequest = { prefix, pathParameters, query, apiKey, idempotencyKeys, readBody: body };
      return { kind: 'call', facts, operation: prepared.operation, apiRequest };
    } catch (error) {
      return respondWith(facts, failureResponse(exchange, facts.path, error));
    }
  };
}

function respondWith(facts: RequestFacts, apiResponse: ApiResponse): Respond {
  return { kind: 'respond', facts, apiResponse };
}

/** The response to OPTIONS for the server as a whole. */
const ANY_PATH: ApiResponse = emptyResponse(['Allow', 'GET, HEAD, POST, OPTIONS']);

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

/** The target '*' means the server as a whole, and only for OPTIONS (RFC 9110 section 9.3.7). */
function checkAsterisk(method: string): void {
  if (method === 'OPTIONS') return;
  throw malformed(`The request target * is not for ${method}`);
}

function isBelow(path: string, protectedPath: string): boolean {
  return `${normalizePath(path)}/`.startsWith(`${protectedPath}/`);
}

function noSuchPath(path: string, hint: string): ApiError {
  if (percentDecode(path) === undefined) return brokenEncoding('path', path);
  return new ApiError('unknown_path', `Unknown path ${cut(path)}${hint}`);
}

/** Expect is a list: "100-continue" may be in it twice (RFC 9110 section 10.1.1). */
function checkExpectation({ expect }: RequestHeaders): void {
  if (expect === undefined || /^100-continue(?:[ \t]*,[ \t]*100-continue)*$/i.test(expect)) return;
  const message = `Expect must be 100-continue, not ${quote(expect)}`;
  throw new ApiError('expectation_failed', message);
}

function operationFor(route: Route, method: string, path: string): PreparedOperation {
  const prepared = route.operations.get(method);
  if (prepared !== undefined) return prepared;
  const message = `${cut(path)} does not support ${method}, only ${route.allow}`;
  throw new ApiError('method_not_allowed', message, ['Allow', route.allow]);
}

function checkRemoval({ removal }: PreparedOperation, now: () => number): void {
  if (removal !== undefined && now() >= removal.at) throw removal.error();
}
