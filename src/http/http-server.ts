/**
 * The node:http server, with its limits set and its own failures answered by Error bodies.
 *
 * Memory is bounded by connections × (header limit + body limit + one answer), and by the requests
 * that wait for their turn (limits.ts). Where node:http would answer by itself, it does so with an
 * empty body; each such place has its listener here.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.ts';
import { closeGently } from './close-gently.ts';
import { endWithError, errorOfFault } from './connection-fault.ts';
import { LIMITS, type Limits } from './limits.ts';
import { cutStalled } from './progress.ts';
import { Turns } from './turns.ts';

/**
 * An empty request needs no stream: measured, that is a fifth more of answers on Node 24 and later,
 * which know the option; for others there is empty-request.ts. node:http would refuse a missing
 * Host with an empty body, so that is left to request-rules.ts.
 */
const FIXED_OPTIONS = { requireHostHeader: false, optimizeEmptyRequests: true };

/** A server with limits for the open network (limits.ts); `limits` replace single ones. */
export function createHttpServer(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  limits: Partial<Limits> = {},
): Server {
  const options = { ...LIMITS, ...limits, ...FIXED_OPTIONS };
  const turns = new Turns(options.maxWaitingRequests);
  const take = (request: IncomingMessage, response: ServerResponse): void =>
    turns.take(request, response, () => listener(request, response));
  const server = createServer(options, take);
  server.on('checkContinue', take);
  server.on('checkExpectation', take);
  server.maxConnections = options.maxConnections;
  // By default node:http silently drops the fields after the thousandth, a second Host among them.
  server.maxHeadersCount = 0;
  // A client that says that it sends no more still gets its answers; there is no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
  const open = trackConnections(server);
  cutStalled(server, () => open.keys(), turns, options);
  makeRoomWhenFull(server);
  answerFaults(server, turns, options.maxHeaderSize);
  return server;
}

/** The open connections of a server that was made here. */
export function connectionsOf(server: Server): ReadonlySet<Socket> {
  return new Set(connections.get(server)?.keys());
}

/** With the time at which each was opened, by performance.now(). */
const connections = new WeakMap<Server, Map<Socket, number>>();

function trackConnections(server: Server): ReadonlyMap<Socket, number> {
  const open = new Map<Socket, number>();
  connections.set(server, open);
  server.on('connection', (socket) => {
    open.set(socket, performance.now());
    // What node:http calls behind a last answer.
    socket.destroySoon = () => closeGently(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

/** So long a connection may take to its first byte when all are taken. */
const UNUSED_MS = 1000;
/** So long the others have for theirs: from Node 26 on, node:http takes an unused one for idle. */
const MAKE_ROOM_MS = 20;

/** When all connections are taken, and another one was refused, those go that nobody needs. */
function makeRoomWhenFull(server: Server): void {
  let timer: NodeJS.Timeout | undefined;
  server.on('drop', () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      makeRoom(server);
    }, MAKE_ROOM_MS);
  });
}

function makeRoom(server: Server): void {
  server.closeIdleConnections();
  const now = performance.now();
  // Before Node 26, to node:http a connection that was never used is busy.
  for (const [socket, openedAt] of connections.get(server) ?? []) {
    if (socket.bytesRead === 0 && now - openedAt > UNUSED_MS) socket.destroy();
  }
}

function answerFaults(server: Server, turns: Turns, maxHeaderSize: number): void {
  const faulty = new WeakSet<Duplex>();
  const answerFault = (socket: Duplex, error: ApiError): void =>
    turns.answerFault(
      socket,
      () => endWithError(socket, error),
      () => closeGently(socket),
    );
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // node:http is done with this socket, and has taken its own listeners off; without one, a
    // failure of it would end the process.
    for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
    socket.on('drain', () => turns.tellDrain(socket));
    const message = 'CONNECT is not supported';
    answerFault(socket, new ApiError('method_not_allowed', message, ALLOW_NONE));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // The parser tells of a fault again at each chunk after it, and at the end.
    if (faulty.has(socket) && error.code !== 'ECONNRESET') return;
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    // The rest of the request may be there: it is we who do not read. node:http will not tell of
    // it again; from when all answers are out, progress.ts counts the time.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && turns.isHeld(socket)) return;
    faulty.add(socket);
    answerFault(socket, errorOfFault(error, maxHeaderSize));
  });
}

/** CONNECT names a host, not one of our paths: no method is allowed there. */
const ALLOW_NONE: readonly string[] = ['Allow', ''];
