/**
 * The listener: takes one request from node:http to its answer.
 *
 *     rules of HTTP → match the path → authenticate → match the method → handle → reply
 *
 * Under /v1 nothing is told without a key, not even which paths there are, so authentication comes
 * before any other complaint. Every failure on the way is thrown, and caught here, in one place.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, type Log } from '../base/log.ts';
import { ApiError } from '../http/api-error.ts';
import { authenticate, type Keyring } from '../http/bearer.ts';
import { checkNotRemoved, deprecationHeaders } from '../http/deprecation.ts';
import { dropBody } from '../http/drop-body.ts';
import type { Call, Operation } from '../http/operation.ts';
import { errorReply, NO_HEADERS, sendReply, sendReplyOpen, type Reply } from '../http/reply.ts';
import { ClientGoneError, readJsonBody } from '../http/request-body.ts';
import { announcesBody, readHeaders, type RequestHeaders } from '../http/request-headers.ts';
import { checkRequestRules } from '../http/request-rules.ts';
import { createRouter, type Match } from '../http/router.ts';
import {
  brokenEncoding,
  decodeSegment,
  decodeSegments,
  readTarget,
  type Target,
} from '../http/target.ts';
import { StoreUnavailableError } from '../model/pet-store.ts';
import { VERSION_SEGMENT } from './paths.ts';

export interface ListenerOptions {
  readonly operations: readonly Operation[];
  /** The keys in force, asked for on each request. */
  keyring(): Keyring;
  readonly bodyLimitBytes: number;
  /** The time of day in milliseconds since 1970. */
  now(): number;
  /** True while the service stops: each answer then closes its connection. */
  isDraining(): boolean;
  readonly log: Log;
  /** Told of each answer; `operation` is '' where none was found. */
  onReply(operation: string, status: number): void;
}

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export function createListener(options: ListenerOptions): Listener {
  const router = createRouter(groupByPath(options.operations));
  return (request, response) => {
    const exchange = new Exchange(options, request, response);
    try {
      const reply = exchange.answer(router.match);
      if (reply instanceof Promise) {
        reply.then(
          (found) => exchange.send(found),
          (error: unknown) => exchange.fail(error),
        );
      } else {
        exchange.send(reply);
      }
    } catch (error) {
      exchange.fail(error);
    }
  };
}

/** Everything at one path. */
interface Route {
  readonly methods: ReadonlyMap<string, Handler>;
  readonly needsKey: boolean;
  /** The value of the Allow header field. */
  readonly allow: string;
}

interface Handler {
  readonly operation: Operation;
  readonly headers: readonly string[];
}

function groupByPath(operations: readonly Operation[]): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const { path } of operations) {
    const here = operations.filter((operation) => operation.path === path);
    const handlers = here.map((operation): [string, Handler] => [
      operation.method,
      {
        operation,
        headers: operation.deprecation ? deprecationHeaders(operation.deprecation) : [],
      },
    ]);
    const methods = new Map(handlers);
    const get = methods.get('GET');
    if (get !== undefined) methods.set('HEAD', get);
    const allow = [...methods.keys(), 'OPTIONS'].join(', ');
    routes.set(path, { methods, allow, needsKey: here.some(({ needsKey }) => needsKey) });
  }
  return routes;
}

/** One request and its answer. */
class Exchange {
  readonly #options: ListenerOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #headers: RequestHeaders;
  #handler: Handler | undefined;

  constructor(options: ListenerOptions, request: IncomingMessage, response: ServerResponse) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
    this.#headers = readHeaders(request.rawHeaders);
  }

  answer(match: (path: string) => Match<Route> | undefined): Reply | Promise<Reply> {
    const { method = '', url = '' } = this.#request;
    checkRequestRules(this.#request, this.#headers);
    const target = readTarget(url);
    if (target.path === '*') return answerAsterisk(method);
    const found = match(target.path);
    if (found?.route.needsKey ?? isUnderVersion(target.path)) {
      authenticate(this.#headers, this.#options.keyring());
    }
    if (found === undefined) throw noSuchPath(target.path);
    // Here too, since an operation without parameters does not read the query.
    if (decodeSegment(target.query) === undefined) throw brokenEncoding('query', target.query);
    this.#checkExpectation();
    const { route, parameters } = found;
    if (method === 'OPTIONS')
      return { status: 204, headers: ['Allow', route.allow], body: undefined };
    this.#handler = route.methods.get(method);
    if (this.#handler === undefined) {
      const message = `${target.path} does not answer ${method}, only ${route.allow}`;
      throw new ApiError('method_not_allowed', message, ['Allow', route.allow]);
    }
    const { operation } = this.#handler;
    const { deprecation } = operation;
    if (deprecation !== undefined)
      checkNotRemoved(operation.name, deprecation, this.#options.now());
    return operation.handle(this.#call(parameters, target));
  }

  send(reply: Reply): void {
    const { status } = reply;
    this.#options.onReply(this.#handler?.operation.name ?? '', status);
    if (this.#response.destroyed) return;
    // What a removed operation was deprecated for is no longer of use to anybody.
    const headers = (status !== 410 && this.#handler?.headers) || NO_HEADERS;
    const hasUnreadBody = !this.#request.complete && announcesBody(this.#headers);
    if (hasUnreadBody && (status >= 400 || !this.#isShort())) {
      sendReplyOpen(this.#response, reply, [...headers, ...CLOSE]);
      dropBody(this.#request, () => this.#response.end());
      return;
    }
    sendReply(this.#response, reply, this.#options.isDraining() ? [...headers, ...CLOSE] : headers);
  }

  /**
   * Answers with an Error body; what is no ApiError is our own fault, and its cause is for the log.
   */
  fail(error: unknown): void {
    if (error instanceof ClientGoneError) return;
    if (error instanceof ApiError) return this.send(errorReply(error));
    if (error instanceof StoreUnavailableError) {
      return this.send(errorReply(new ApiError('unavailable', error.message, RETRY_AFTER)));
    }
    const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    this.#options.log('error', 'A request failed', { cause });
    this.send(errorReply(new ApiError('internal_error', 'The service failed to answer')));
  }

  #call(parameters: readonly string[], { query }: Target): Call {
    const { bodyLimitBytes } = this.#options;
    return {
      parameters,
      query,
      readJson: () => readJsonBody(this.#request, this.#response, this.#headers, bodyLimitBytes),
    };
  }

  #checkExpectation(): void {
    const { expect } = this.#headers;
    if (expect === undefined || expect.toLowerCase() === '100-continue') return;
    const message = `Expect must be 100-continue, not ${JSON.stringify(expect)}`;
    throw new ApiError('expectation_failed', message);
  }

  /**
   * A body that nobody asked for is dropped by node:http itself; a short one keeps the connection.
   */
  #isShort(): boolean {
    const { contentLength, expect } = this.#headers;
    const isBounded = contentLength !== undefined && expect === undefined;
    return isBounded && Number(contentLength) <= this.#options.bodyLimitBytes;
  }
}

const CLOSE: readonly string[] = ['Connection', 'close'];
const RETRY_AFTER: readonly string[] = ['Retry-After', '1'];

/** The target '*' stands for the server as a whole (RFC 9110 section 9.3.7). */
function answerAsterisk(method: string): Reply {
  if (method === 'OPTIONS') {
    return { status: 204, headers: ['Allow', 'GET, HEAD, POST, OPTIONS'], body: undefined };
  }
  throw new ApiError('malformed_request', `The request target * is not for ${method}`);
}

function isUnderVersion(path: string): boolean {
  return decodeSegments(path)[0] === VERSION_SEGMENT;
}

function noSuchPath(path: string): ApiError {
  if (decodeSegments(path).includes(undefined)) return brokenEncoding('path', path);
  return new ApiError('unknown_path', `There is nothing at ${path}`);
}
