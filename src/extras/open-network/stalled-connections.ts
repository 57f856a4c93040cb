/**
 * Closes connections that make no progress.
 *
 * node:http's own timeouts count bytes in both directions: a client that sends an empty line now
 * and then, but no request, would keep its connection open forever. Here progress counts: while a
 * response is due, bytes of it have to go out; otherwise a request has to come. For example, a
 * client that takes one byte of its response a minute stays, and one that takes none is closed
 * after a minute, whatever it sends. One pass per second checks all connections.
 *
 * If nearly all connections are in use, each new one closes another: the one that has been without
 * progress for the longest time, whether it is idle, was never used, or has sent part of a header.
 */

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../../core/http/limits.ts';
import { lingeringClose } from '../../core/http/lingering-close.ts';

/** Checks the connections of a server while it listens. */
export function closeStalledConnections(server: Server, limits: Limits): void {
  const { timeout, keepAliveTimeout, headersTimeout, maxConnections } = limits;
  const connections = new Map<Socket, Connection>();
  const spare = Math.floor(maxConnections * SPARE);
  const makeRoom = (): void => {
    const longest = longestIdle(connections.values());
    if (longest !== undefined) lingeringClose(longest.socket);
  };
  server.on('connection', (socket) => {
    const progress = { isDue: false, sentBytes: 0, at: performance.now() };
    connections.set(socket, { socket, latest: undefined, progress });
    socket.once('close', () => connections.delete(socket));
    if (connections.size > maxConnections - spare) makeRoom();
  });
  server.on('drop', makeRoom);
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, ({ socket }, response) => {
      const connection = connections.get(socket);
      if (connection !== undefined) connection.latest = response;
    });
  }
  // node:http's own timeout would count any byte.
  server.timeout = 0;
  const idleLimit = ({ bytesRead }: Socket): number =>
    bytesRead === 0 ? keepAliveTimeout : keepAliveTimeout + headersTimeout;
  const check = (): void => {
    const at = performance.now();
    for (const connection of connections.values()) {
      const { socket, progress } = connection;
      const isDue = isResponseDue(connection);
      const sentBytes = sentBytesOf(socket);
      if (progress.isDue !== isDue || progress.sentBytes !== sentBytes) {
        connection.progress = { isDue, sentBytes, at };
      } else if (at - progress.at > (isDue ? timeout : idleLimit(socket))) {
        if (isDue || !isGivenAway(socket)) socket.destroy();
      }
      // A socket that is not read reports a reset only if it is written to.
      if (socket.isPaused() && socket.writable) socket.write('');
    }
  };
  server.on('listening', () => {
    const timer = setInterval(check, limits.connectionsCheckingInterval).unref();
    server.once('close', () => clearInterval(timer));
  });
}

interface Connection {
  readonly socket: Socket;
  /** The response to the request that came last. */
  latest: ServerResponse | undefined;
  /** The last progress that was seen. `at` is by performance.now(). */
  progress: { readonly isDue: boolean; readonly sentBytes: number; readonly at: number };
}

/** The part of the connections that is kept free, so that a new one need not be refused. */
const SPARE = 1 / 32;
/** A connection that made progress a shorter time ago is not closed to make room. */
const MIN_IDLE_MS = 1000;

/** Returns the connection that has been idle for the longest time, and is still open. */
function longestIdle(connections: Iterable<Connection>): Connection | undefined {
  let longest: Connection | undefined;
  let at = performance.now() - MIN_IDLE_MS;
  for (const connection of connections) {
    const { socket, progress } = connection;
    const isIdle = !isResponseDue(connection) && progress.sentBytes === sentBytesOf(socket);
    if (!isIdle || progress.at >= at || !socket.writable || isGivenAway(socket)) continue;
    longest = connection;
    at = progress.at;
  }
  return longest;
}

/** Returns true until the latest response, and so all before it, has gone out. */
function isResponseDue({ latest }: Connection): boolean {
  // node:http removes the socket from a response that has gone out.
  return latest !== undefined && !(latest.writableEnded && latest.socket === null);
}

/**
 * Returns the bytes that the kernel has accepted: node:net still queues the rest of a long write.
 * How much that is has no documented name.
 */
function sentBytesOf(socket: Socket): number {
  const { _handle } = socket as typeof socket & { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - (_handle?.writeQueueSize ?? 0);
}

/** Returns true if a listener for `upgrade` got the socket, without node:http's own listeners. */
function isGivenAway(socket: Socket): boolean {
  return socket.listenerCount('timeout') === 0;
}
