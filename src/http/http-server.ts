/**
 * The node:http server, with its limits set, and with Error bodies for the errors of node:http.
 *
 * Memory is bounded by connections × (header limit + body limit + one response), and by the
 * requests that wait (limits.ts). For some events node:http would respond by itself, with an empty
 * body; so each of them has a listener here.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.ts';
import { NO_HEADERS } from './api-response.ts';
import { endWithError, findOrigin, toApiError } from './client-error.ts';
import { LIMITS, type Limits } from './limits.ts';
import { lingeringClose } from './lingering-close.ts';
import type { Listener } from './listener.ts';
import { PipelineQueue } from './pipelining.ts';
import { closeStalledConnections } from './stalled-connections.ts';

/**
 * A request without a body needs no stream: measured, that gives 20 % more responses on Node 24 and
 * later, which have the option. If Host is missing, node:http would respond with an empty body, so
 * request-rules.ts checks it instead.
 */
const FIXED_OPTIONS = { requireHostHeader: false, optimizeEmptyRequests: true };

/** A server with limits for the open network (limits.ts); `limits` replace single ones. */
export function createHttpServer(listener: Listener, limits: Partial<Limits> = {}): Server {
  const options = { ...LIMITS, ...limits, ...FIXED_OPTIONS };
  const queue = new PipelineQueue(listener, options.maxWaitingRequests);
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
  closeUnusedWhenFull(server, queue);
  handleClientErrors(server, queue, listener, options);
  return server;
}

/** Returns the open connections of a server that createHttpServer made. */
export function connectionsOf(server: Server): ReadonlySet<Socket> {
  return new Set(queues.get(server)?.connections.keys() as Iterable<Socket>);
}

const queues = new WeakMap<Server, PipelineQueue>();

/** If all connections are in use, one whose first header takes longer than this is closed. */
const UNUSED_MS = 1000;
/**
 * The time between a refused connection and the closing of the idle and unused ones. New
 * connections have this time for their first byte, since Node 26 counts unused ones as idle.
 */
const MAKE_ROOM_MS = 20;

/** If a connection is refused because all are in use, closes the idle and unused ones. */
function closeUnusedWhenFull(server: Server, queue: PipelineQueue): void {
  let timer: NodeJS.Timeout | undefined;
  const closeUnused = (): void => {
    timer = undefined;
    server.closeIdleConnections();
    const now = performance.now();
    // To node:http, a connection that never completed a header is in use (from Node 26 on, only if
    // it has sent something).
    for (const { socket, current, isPaused, readSince } of queue.connections.values()) {
      if (current === undefined && !isPaused && now - readSince > UNUSED_MS) socket.destroy();
    }
  };
  server.on('drop', () => (timer ??= setTimeout(closeUnused, MAKE_ROOM_MS)));
}

function handleClientErrors(
  server: Server,
  queue: PipelineQueue,
  listener: Listener,
  { maxHeaderSize, headersTimeout }: Limits,
): void {
  const faulty = new WeakSet<Duplex>();
  // A client is not late if the service has not read its connection, or only a moment ago began to:
  // its request may have arrived. node:http reports this timeout once; from then on
  // stalled-connections.ts does the checks.
  const mayBeUnread = (socket: Duplex): boolean => {
    const connection = queue.connections.get(socket);
    if (connection === undefined) return false;
    const readFor = performance.now() - connection.readSince;
    return connection.isPaused || readFor < headersTimeout / 2;
  };
  const refuse = (socket: Duplex, error: ApiError, headerOrigin: string | undefined): void => {
    // `request` is given if the parser accepted its header, and rejected its body.
    const writeError = (request: IncomingMessage | undefined): void => {
      const origin = request === undefined ? headerOrigin : request.headers.origin;
      endWithError(socket, error, listener.clientErrorHeaders?.(origin) ?? NO_HEADERS);
    };
    queue.endWith(socket, writeError, () => lingeringClose(socket));
  };
  server.on('connect', ({ headers }: IncomingMessage, socket: Duplex) => {
    // node:http has removed its own listeners from this socket. Without a listener, an error of the
    // socket would end the process.
    for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
    // A long response that is in progress waits for this event.
    socket.on('drain', () => queue.connections.get(socket)?.current?.emit('drain'));
    const message = 'CONNECT is not supported';
    refuse(socket, new ApiError('method_not_allowed', message, ALLOW_NONE), headers.origin);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // The parser reports the error again at each later chunk, and at the end.
    if (faulty.has(socket) && error.code !== 'ECONNRESET') return;
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && mayBeUnread(socket)) return;
    faulty.add(socket);
    const origin = listener.clientErrorHeaders === undefined ? undefined : findOrigin(error);
    refuse(socket, toApiError(error, maxHeaderSize), origin);
  });
  // node:http's timeout of an idle connection. A listener replaces its action.
  server.on('timeout', (socket) => {
    if (!queue.connections.get(socket)?.isPaused) socket.destroy();
  });
}

/** CONNECT names a host, not a path of this service: no method is allowed. */
const ALLOW_NONE: readonly string[] = ['Allow', ''];
