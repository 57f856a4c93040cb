/**
 * The node:http server, with its limits set and its own failures answered by Error bodies.
 *
 * Memory is bounded by connections × (header limit + body limit), and by the requests that a
 * client sends ahead of its turn: node:http reads 64 KiB at a time, and makes some 3 KB of each
 * request in it. Where node:http would answer by itself, it does so with an empty body; each such
 * place has its listener here.
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
import { ApiError } from './api-error.ts';
import { answerUnderWay } from './pipelining.ts';

/** Times in milliseconds, maxHeaderSize in bytes; the names are those of node:http. */
export interface Limits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly connectionsCheckingInterval: number;
  readonly keepAliveTimeout: number;
  readonly maxHeaderSize: number;
  readonly maxConnections: number;
}

const LIMITS: Limits = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  // How often node:http looks at the two above: its own 30 s would make them coarse.
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 << 10,
  // Room for a thousand, and for those who look after the service.
  maxConnections: 1024,
};

/**
 * An empty request needs no stream: measured, that is a fifth more of answers on Node 24 and later,
 * which know the option; for others there is empty-request.ts. node:http would refuse a missing
 * Host with an empty body, so that is left to request-rules.ts.
 */
const FIXED_OPTIONS = { requireHostHeader: false, optimizeEmptyRequests: true };

/**
 * A server with limits for the open network: header fields within 10 s and 16 KiB, a request within
 * 20 s, 65 s of keep-alive, 1,024 connections. `limits` replace single ones.
 */
export function createHttpServer(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  limits: Partial<Limits> = {},
): Server {
  const options = { ...LIMITS, ...limits, ...FIXED_OPTIONS };
  const server = createServer(options, listener);
  server.maxConnections = options.maxConnections;
  // By default node:http silently drops the fields after the thousandth, a second Host among them.
  server.maxHeadersCount = 0;
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  // A client that says that it sends no more still gets its answers; there is no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
  trackConnections(server);
  const faulty = new WeakSet<Duplex>();
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // node:http is done with this socket, and a failure of it would end the process.
    socket.on('error', () => socket.destroy());
    const message = 'CONNECT is not supported';
    endAfterAnswers(socket, new ApiError('method_not_allowed', message, ALLOW_NONE));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // The parser tells of a fault again at each chunk after it, and at the end.
    if (faulty.has(socket) && error.code !== 'ECONNRESET') return;
    faulty.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else endAfterAnswers(socket, clientFault(error, options.maxHeaderSize));
  });
  return server;
}

/** The open connections of a server that was made here. */
export function connectionsOf(server: Server): ReadonlySet<Socket> {
  return connections.get(server) ?? new Set();
}

const connections = new WeakMap<Server, Set<Socket>>();

function trackConnections(server: Server): void {
  const open = new Set<Socket>();
  connections.set(server, open);
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
}

/** CONNECT names a host, not one of our paths: no method is allowed there. */
const ALLOW_NONE: readonly string[] = ['Allow', ''];

function clientFault(error: NodeJS.ErrnoException, maxHeaderSize: number): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(
        'headers_too_large',
        `The header is longer than the limit of ${maxHeaderSize} bytes`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time');
    case 'HPE_PAUSED_H2_UPGRADE':
      return new ApiError(
        'unsupported_http_version',
        'HTTP/2 is not supported, only HTTP/1.0 and HTTP/1.1',
      );
    default: {
      const reason = 'reason' in error ? String(error.reason) : error.message;
      return new ApiError('malformed_request', `The request is not well-formed HTTP: ${reason}`);
    }
  }
}

/**
 * Says what was wrong, in its turn: an answer that is due to an earlier request comes first, and
 * one that has begun must not be written into, but what there is of it goes out: it may be an early
 * answer to a request whose body is at fault, too.
 */
function endAfterAnswers(socket: Duplex, error: ApiError): void {
  const answer = answerUnderWay(socket);
  if (answer === undefined) endWithError(socket, error);
  else if (answer.req.complete) answer.once('finish', () => endAfterAnswers(socket, error));
  else if (answer.headersSent) socket.end(() => socket.destroy());
  else endWithError(socket, error);
}

function endWithError(socket: Duplex, error: ApiError): void {
  const body = JSON.stringify(error.body);
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  for (let i = 0; i + 1 < error.headers.length; i += 2) {
    lines.push(`${error.headers[i]}: ${error.headers[i + 1]}`);
  }
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
