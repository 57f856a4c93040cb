/**
 * The node:http server, with its limits set, and with Error bodies for the errors of node:http.
 *
 * Memory is bounded by connections × (64 KiB of unread requests + header limit + twice the body
 * limit + one response). For some events node:http would respond by itself, with an empty body; so
 * each of them has a listener here.
 */

import { createServer, STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, malformed, unsupportedVersion } from './api-error.ts';
import { COMMON_HEADERS } from './api-response.ts';
import type { Listener } from './handle-request.ts';
import { LIMITS, type Limits } from './limits.ts';
import { lingeringClose } from './lingering-close.ts';
import { PipelineQueue } from './pipelining.ts';
import { closeStalledConnections } from './stalled-connections.ts';

/** A server with limits for the open network; `limits` replace single ones. */
export function createHttpServer(listener: Listener, limits: Partial<Limits> = {}): Server {
  const options = {
    ...LIMITS,
    ...limits,
    // Without Host, node:http would respond with an empty body: request-header.ts checks it.
    requireHostHeader: false,
    // A request without a body needs no stream: 20 % more responses on Node 24 and later.
    optimizeEmptyRequests: true,
  };
  const queue = new PipelineQueue(listener);
  const serve: Listener = (request, response) => queue.serve(request, response);
  const server = createServer(options, serve);
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.maxConnections = options.maxConnections;
  // By default node:http silently drops the fields after the thousandth, a second Host among them.
  server.maxHeadersCount = 0;
  // A client that half-closes its connection still gets its responses. There is no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
  queues.set(server, queue);
  server.on('connection', (socket) => {
    queue.add(socket);
    // node:http calls this after a last response.
    socket.destroySoon = () => lingeringClose(socket);
  });
  closeStalledConnections(server, queue, options);
  handleClientErrors(server, queue, options);
  return server;
}

/** Returns the open connections of a server that createHttpServer made. */
export function connectionsOf(server: Server): ReadonlySet<Socket> {
  return new Set(queues.get(server)?.connections.keys() as Iterable<Socket>);
}

const queues = new WeakMap<Server, PipelineQueue>();

/** Responds to requests that the parser rejects, and to CONNECT. */
function handleClientErrors(
  server: Server,
  queue: PipelineQueue,
  { maxHeaderSize, headersTimeout }: Limits,
): void {
  const refuse = (socket: Duplex, error: ApiError): void =>
    queue.endWith(socket, (isHead) => endWithError(socket, error, isHead));
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // node:http has removed its own listeners from this socket. Without a listener, an error of the
    // socket would end the process.
    for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
    // Behind a last response it is discarded, too: node:http has stopped the reading for that.
    if (!socket.writable) return void socket.resume();
    // A long response that is in progress waits for this event.
    socket.on('drain', () => queue.connections.get(socket)?.current?.emit('drain'));
    const message = 'CONNECT is not supported';
    // It names a host, not a path of this service: no method is allowed.
    refuse(socket, new ApiError('method_not_allowed', message, ['Allow', '']));
  });
  server.on('clientError', (error: ParserError, socket: Duplex) => {
    const { code, rawPacket, bytesParsed } = error;
    if (code === 'HPE_PAUSED') return queue.keepUnparsed(socket, rawPacket!.subarray(bytesParsed));
    const { state, readSince = 0 } = queue.connections.get(socket) ?? {};
    // The parser reports the error again at each later chunk, and at the end. Behind a last
    // response it may find one, too: that connection is closing, and to destroy it could reset it.
    if (state === 'ended' || !socket.writable) return;
    // A client is not late if the service has not read its connection, or only a moment ago began
    // to: its request may have arrived. node:http reports this timeout once; from then on
    // stalled-connections.ts does the checks.
    const isRead = state !== 'waiting' && performance.now() - readSince > headersTimeout / 2;
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && !isRead) return;
    // A browser opens connections in advance, and a 408 without a request would puzzle it.
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && isUnused(socket)) return;
    refuse(socket, toApiError(error, maxHeaderSize));
  });
}

function isUnused(socket: Duplex): boolean {
  return (socket as Partial<Socket>).bytesRead === 0;
}

/** What node:http adds to the errors of its parser. */
interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string;
  /** The bytes of the read, and how many of them were parsed. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Converts the error of node:http's `clientError` event to an ApiError. */
function toApiError(error: ParserError, maxHeaderSize: number): ApiError {
  const reason = error.reason ?? error.message;
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headers_too_large', `The header is longer than ${maxHeaderSize} bytes`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time');
    case 'HPE_PAUSED_H2_UPGRADE':
      return unsupportedVersion('HTTP/2');
    case 'HPE_INVALID_VERSION':
      // The request names a version that is not one of HTTP's. With any other reason, the text is
      // not a version at all.
      if (reason === 'Invalid HTTP version') return unsupportedVersion('This version of HTTP');
  }
  return malformed(`The request is not well-formed HTTP: ${reason}`);
}

/** Writes the error as the connection's last response, and closes the connection. */
function endWithError(socket: Duplex, error: ApiError, isHead: boolean): void {
  const body = JSON.stringify(error.body);
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  const fields = [...COMMON_HEADERS, ...error.headers];
  for (let i = 0; i + 1 < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`);
  // A response to HEAD has no content (RFC 9110 section 9.3.2).
  socket.write(`${lines.join('\r\n')}\r\n\r\n${isHead ? '' : body}`);
  lingeringClose(socket);
}
