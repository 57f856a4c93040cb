/**
 * The node:http server, with its limits set, and with Error bodies for the errors of node:http.
 *
 * For some events node:http would respond by itself, with an empty body; so each of them has a
 * listener here: CONNECT, an Expect, bytes that are not HTTP. When a request is served is decided
 * by a gate (gate.ts). Comments name the habits of node:http that are relied on although its
 * documentation does not promise them; each has a test.
 */

import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { assertNoErrors, condition, memberErrors } from '../base/option-error.ts';
import { announcesBody, MAX_FIELDS } from './fields.ts';
import { REQUEST_TIMEOUT, type Gate, type ParserError, type Turn } from './gate.ts';
import type { Listener } from './handle-request.ts';
import { httpError, malformed, unsupportedVersion, type HttpError } from './http-error.ts';
import { errorResponse } from './http-response.ts';
import { LIMITS, LIMIT_CHECKS, LONGEST_TIMER_MS, type Limits } from './limits.ts';
import { lingeringClose } from './lingering-close.ts';
import { RequestQueue } from './request-queue.ts';

/**
 * Returns a server with limits; `limits` replace single ones. Throws a TypeError if the listener is
 * an app, and for a limit that does not exist or is no number.
 */
export function createPlainServer(
  listener: Listener,
  limits: Partial<Limits> = {},
  gate: Gate = new RequestQueue(),
): Server {
  const allLimits = { ...LIMITS, ...limits };
  assertNoErrors([
    ...aListener(listener, 'The listener'),
    ...memberErrors(allLimits, LIMIT_CHECKS, Object.keys(LIMITS), 'limits.'),
  ]);
  const options = {
    ...allLimits,
    // Without Host, node:http would respond with an empty body: fields.ts checks it.
    requireHostHeader: false,
    // A request without a body needs no stream: 20 % more responses on Node 24 and later.
    optimizeEmptyRequests: true,
  };
  const server = createServer(options);
  server.maxConnections = allLimits.maxConnections;
  server.timeout = Math.min(allLimits.timeout, LONGEST_TIMER_MS);
  // Of the fields beyond it node:http keeps none: with one more than is allowed, it is seen.
  server.maxHeadersCount = MAX_FIELDS + 1;
  // A client that half-closes its connection still gets its responses. There is no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });

  const responses = new Map<Socket, Latest>();
  responsesOfServers.set(server, responses);
  server.on('connection', (socket) => {
    responses.set(socket, 'none');
    socket.once('close', () => responses.delete(socket));
    // node:http calls this after a last response.
    socket.destroySoon = () => lingeringClose(socket);
    gate.open(socket);
  });

  const serve: Listener = (request, response) => {
    const { socket } = request;
    responses.set(socket, response);
    response.once('finish', () => {
      responses.set(socket, 'sent');
      gate.sent(socket);
    });
    // After a response, node:http discards the body by running its stream to the end, unless
    // something has read from the stream. `read(0)` counts as reading. Measured on Node 20, it
    // saves 10 % of a short request. Node 24 and later need no call (optimizeEmptyRequests).
    if (!announcesBody(request) && !request.complete) request.read(0);
    listener(request, response);
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => {
      if (event === 'checkContinue') continueWhenRead(request, response);
      gate.request({ request, response, serve });
    });
  }

  server.on('connect', (_request, socket: Socket) => {
    // node:http has removed its own listeners from this socket. Without a listener, an error of the
    // socket would end the process.
    for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
    // Behind a last response it is discarded, too: node:http has stopped the reading for that.
    if (!socket.writable) return void socket.resume();
    // A long response that is in progress waits for this event.
    socket.on('drain', () => {
      const latest = responses.get(socket);
      if (typeof latest === 'object') latest.emit('drain');
    });
    // It names a host, not a path of this service: no method is allowed.
    const refusal = httpError('method_not_allowed', 'CONNECT is not supported', ['Allow', '']);
    gate.last(socket, undefined, (request) => endWithError(socket, refusal, request));
  });
  server.on('clientError', (error: ParserError, socket) => {
    // A browser opens connections in advance: a 408 for no request would puzzle it. The connection
    // is closed silently when it has been idle for too long.
    if (error.code === REQUEST_TIMEOUT && (socket as Socket).bytesRead === 0) return;
    gate.last(socket, error, (request) =>
      endWithError(socket, parserHttpError(error, allLimits.maxHeaderSize), request),
    );
  });
  return server;
}

const aListener = condition(
  'a function, such as app.listener',
  (value) => typeof value === 'function',
);

/**
 * Sends "100 Continue" when a handler begins to read the body, and has not begun to respond. Every
 * way to read a stream, for example a listener for `data`, calls its `read`.
 */
function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const { read } = request;
  request.read = (size) => {
    request.read = read;
    if (!response.headersSent) response.writeContinue();
    return request.read(size);
  };
}

/** Returns the open connections of a server that createPlainServer made. */
export function connectionsOf(server: Server): ReadonlySet<Socket> {
  return new Set(responsesOf(server).keys());
}

/** Returns its open connections as they change, each with what became of its latest response. */
export function responsesOf(server: Server): Responses {
  return responsesOfServers.get(server) ?? new Map();
}

/**
 * The response in progress; 'none' before the first one, 'sent' after each, so that an idle
 * connection keeps no request in memory.
 */
export type Latest = ServerResponse | 'none' | 'sent';
type Responses = ReadonlyMap<Socket, Latest>;
const responsesOfServers = new WeakMap<Server, Responses>();

/** Converts the error of node:http's `clientError` event. */
function parserHttpError(error: ParserError, maxHeaderSize: number): HttpError {
  const reason = error.reason ?? error.message;
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return httpError('headers_too_large', `The header is longer than ${maxHeaderSize} bytes`);
    case REQUEST_TIMEOUT:
      return httpError('request_timeout', 'The request did not arrive in time');
    case 'HPE_PAUSED_H2_UPGRADE':
      return unsupportedVersion('HTTP/2');
    case 'HPE_INVALID_VERSION':
      // The request names a version that is not one of HTTP's. With any other reason, the text is
      // not a version at all.
      if (reason === 'Invalid HTTP version') return unsupportedVersion('This version of HTTP');
  }
  return malformed(`The request is not well-formed HTTP: ${reason}`);
}

/**
 * Writes the error as the connection's last response, and closes the connection. If it responds to
 * a request, that is given.
 */
function endWithError(socket: Duplex, error: HttpError, request?: Turn['request']): void {
  const { status, headers, body } = errorResponse(error);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ];
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  // A response to HEAD has no content (RFC 9110 section 9.3.2).
  socket.write(`${lines.join('\r\n')}\r\n\r\n${request?.method === 'HEAD' ? '' : body}`);
  lingeringClose(socket);
}
