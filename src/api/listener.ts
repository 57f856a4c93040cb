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
import { removedError } from '../http/deprecation.ts';
import { dropBody } from '../http/drop-body.ts';
import type { Call, Operation } from '../http/operation.ts';
import { errorReply, NO_HEADERS, sendReply, sendReplyOpen, type Reply } from '../http/reply.ts';
import { ClientGoneError, readJsonBody } from '../http/request-body.ts';
import { announcesBody, readHeaders, type RequestHeaders } from '../http/request-headers.ts';
import { checkRequestRules } from '../http/request-rules.ts';
import { createRouter, type Router } from '../http/router.ts';
import { brokenEncoding, decodeSegment, decodeSegments, readTarget } from '../http/target.ts';
import { StoreUnavailableError } from '../model/pet-store.ts';
import { VERSION_SEGMENT } from './paths.ts';
import { groupByPath, type Handler, type Route } from './routes.ts';

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
  /** Told of each answer as it goes out. */
  onAnswer(answer: Answer): void;
}

/** What there is to know of a request and its answer. */
export interface Answer {
  readonly request: IncomingMessage;
  /** The operation's name, '' where the request was for none. */
  readonly operation: string;
  readonly status: number;
  readonly bodyBytes: number;
  /** When the request came in, by performance.now(). */
  readonly startedAt: number;
}

export type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export function createListener(options: ListenerOptions): Listener {
  const router = createRouter(groupByPath(options.operations));
  return (request, response) => {
    const exchange = new Exchange(options, request, response);
    try {
      const reply = exchange.answer(router);
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

/** One request and its answer; also the Call that a handler gets to see. */
class Exchange implements Call, Answer {
  readonly #options: ListenerOptions;
  readonly #response: ServerResponse;
  readonly #headers: RequestHeaders;
  #handler: Handler | undefined;
  readonly request: IncomingMessage;
  readonly startedAt: number = performance.now();
  parameters: readonly string[] = [];
  query = '';
  status = 0;
  bodyBytes = 0;

  constructor(options: ListenerOptions, request: IncomingMessage, response: ServerResponse) {
    this.#options = options;
    this.#response = response;
    this.#headers = readHeaders(request.rawHeaders);
    this.request = request;
  }

  get operation(): string {
    return this.#handler === undefined ? '' : this.#handler.operation.name;
  }

  answer(router: Router<Route>): Reply | Promise<Reply> {
    const { method = '', url = '' } = this.request;
    checkRequestRules(this.request, this.#headers);
    const { path, query } = readTarget(url);
    if (path === '*') return answerAsterisk(method);
    const found = router.match(path);
    if (found === undefined ? isUnderVersion(path) : found.route.needsKey) {
      authenticate(this.#headers, this.#options.keyring());
    }
    if (found === undefined) throw noSuchPath(path);
    // Here too, since an operation without parameters does not read the query.
    if (decodeSegment(query) === undefined) throw brokenEncoding('query', query);
    checkExpectation(this.#headers);
    this.parameters = found.parameters;
    this.query = query;
    return this.#answerMethod(method, path, found.route);
  }

  /** The request's JSON text: the Call's. */
  readJson(): Promise<Buffer> {
    const { bodyLimitBytes } = this.#options;
    return readJsonBody(this.request, this.#response, this.#headers, bodyLimitBytes);
  }

  send(reply: Reply): void {
    this.status = reply.status;
    this.bodyBytes = reply.body === undefined ? 0 : reply.body.length;
    this.#options.onAnswer(this);
    if (this.#response.destroyed) return;
    const headers = this.#extraHeaders();
    const hasUnreadBody = announcesBody(this.#headers) && !this.request.complete;
    if (hasUnreadBody && (reply.status >= 400 || !this.#isShort())) {
      sendReplyOpen(this.#response, reply, [...headers, ...CLOSE]);
      dropBody(this.request, () => this.#response.end());
    } else {
      const isLast = this.#options.isDraining();
      sendReply(this.#response, reply, isLast ? [...headers, ...CLOSE] : headers);
    }
  }

  /**
   * Answers with an Error body; what is no ApiError is our own fault, and its cause for the log.
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

  #answerMethod(method: string, path: string, route: Route): Reply | Promise<Reply> {
    if (method === 'OPTIONS') return noContent(route.allow);
    const handler = route.handlers.get(method);
    if (handler === undefined) {
      const message = `${path} does not answer ${method}, only ${route.allow}`;
      throw new ApiError('method_not_allowed', message, ['Allow', route.allow]);
    }
    this.#handler = handler;
    const { operation, removedAt } = handler;
    if (removedAt !== Infinity && this.#options.now() >= removedAt) throw removedError(operation);
    return operation.handle(this);
  }

  /** What a removed operation was deprecated for is no longer of use to anybody. */
  #extraHeaders(): readonly string[] {
    return this.#handler === undefined || this.status === 410 ? NO_HEADERS : this.#handler.headers;
  }

  /** A body that nobody asked for is dropped by node:http; a short one keeps the connection. */
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
  if (method === 'OPTIONS') return noContent('GET, HEAD, POST, OPTIONS');
  throw new ApiError('malformed_request', `The request target * is not for ${method}`);
}

function noContent(allow: string): Reply {
  return { status: 204, headers: ['Allow', allow], body: undefined };
}

function isUnderVersion(path: string): boolean {
  return decodeSegments(path)[0] === VERSION_SEGMENT;
}

function noSuchPath(path: string): ApiError {
  if (decodeSegments(path).includes(undefined)) return brokenEncoding('path', path);
  return new ApiError('unknown_path', `There is nothing at ${path}`);
}

function checkExpectation({ expect }: RequestHeaders): void {
  if (expect === undefined || expect.toLowerCase() === '100-continue') return;
  const message = `Expect must be 100-continue, not ${JSON.stringify(expect)}`;
  throw new ApiError('expectation_failed', message);
}
