/**
 * The node:http server, with its limits set and its own failures answered by Error bodies.
 *
 * Memory is bounded by connections × (header limit + body limit). Where node:http would answer by
 * itself, it does so with an empty body; each such place has its listener here.
 */

import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.ts';

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  // How often node:http looks at the two above: its own 30 s would make them coarse.
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 << 10,
} as const;

/**
 * An empty request needs no stream: measured, that is a fifth more of answers on Node 24 and later,
 * which know the option; others pass over it.
 */
const OPTIONS: ServerOptions = Object.assign(
  { requireHostHeader: false, optimizeEmptyRequests: true },
  LIMITS,
);

const MAX_CONNECTIONS = 1000;

export function createHttpServer(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  // node:http refuses a missing Host with an empty body, so that is left to request-rules.ts.
  const server = createServer(OPTIONS, listener);
  server.maxConnections = MAX_CONNECTIONS;
  // By default node:http silently drops the fields after the thousandth, a second Host among them.
  server.maxHeadersCount = 0;
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    endWithError(
      socket,
      new ApiError('method_not_allowed', 'CONNECT is not supported', ALLOW_NONE),
    );
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else endAfterAnswers(socket, clientFault(error));
  });
  return server;
}

/** CONNECT names a host, not one of our paths: no method is allowed there. */
const ALLOW_NONE: readonly string[] = ['Allow', ''];

function clientFault(error: NodeJS.ErrnoException): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(
        'headers_too_large',
        `The header is longer than the limit of ${LIMITS.maxHeaderSize} bytes`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time');
    default: {
      const reason = 'reason' in error ? String(error.reason) : error.message;
      return new ApiError('malformed_request', `The request is not well-formed HTTP: ${reason}`);
    }
  }
}

/**
 * Says what was wrong, in its turn: an answer that is due to an earlier request comes first, and
 * one that has begun must not be written into, but what there is of it goes out: it may be an early
 * answer to a request whose body is at fault, too. node:http keeps the answer under way on the
 * socket, and has no public name for it.
 */
function endAfterAnswers(socket: Duplex, error: ApiError): void {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null };
  if (answer === undefined || answer === null) endWithError(socket, error);
  else if (answer.req.complete) answer.once('finish', () => endAfterAnswers(socket, error));
  else if (answer.headersSent) socket.end(() => socket.destroy());
  else endWithError(socket, error);
}

function endWithError(socket: Duplex, error: ApiError): void {
  const body = JSON.stringify(error.body);
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  for (let i = 0; i + 1 < error.headers.length; i += 2) {
    lines.push(`${error.headers[i]}: ${error.headers[i + 1]}`);
  }
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
