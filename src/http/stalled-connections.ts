/**
 * Closes connections that make no progress.
 *
 * node:http's own timeouts count bytes in both directions: a client that sends an empty line now
 * and then, but no request, would keep its connection open forever. Here progress counts: while a
 * response is due, bytes of it have to go out; otherwise a request has to come. One pass per second
 * checks all connections.
 *
 * If nearly all connections are in use, each new one closes another: the one that has been without
 * progress for the longest time, whether it is idle, was never used, or has sent part of a header.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from './limits.ts';
import { lingeringClose } from './lingering-close.ts';
import type { Connection, PipelineQueue } from './pipelining.ts';

/** Checks the connections of a server while it listens. */
export function closeStalledConnections(
  server: Server,
  { connections }: PipelineQueue,
  limits: Limits,
): void {
  const { timeout, keepAliveTimeout, headersTimeout, maxConnections } = limits;
  const idleLimit = ({ bytesRead }: Socket): number =>
    bytesRead === 0 ? keepAliveTimeout : keepAliveTimeout + headersTimeout;
  const check = (): void => {
    const at = performance.now();
    for (const connection of connections.values()) {
      const { socket, state, isDue, progress } = connection;
      const sentBytes = sentBytesOf(connection);
      if (progress.isDue !== isDue || progress.sentBytes !== sentBytes) {
        connection.progress = { isDue, sentBytes, at };
      } else if (at - progress.at > (isDue ? timeout : idleLimit(socket))) {
        if (isDue || !isGivenAway(connection)) socket.destroy();
      }
      // A socket that is not read reports a reset only if it is written to.
      if (state === 'waiting' && socket.writable) socket.write('');
    }
  };
  server.on('listening', () => {
    const timer = setInterval(check, limits.connectionsCheckingInterval).unref();
    server.once('close', () => clearInterval(timer));
  });

  const makeRoom = (): void => {
    const longest = longestIdle(connections.values());
    if (longest !== undefined) lingeringClose(longest.socket);
  };
  const spare = Math.floor(maxConnections * SPARE);
  server.on('connection', () => {
    if (connections.size > maxConnections - spare) makeRoom();
  });
  server.on('drop', makeRoom);
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
    const { socket, isDue, progress } = connection;
    const isIdle = !isDue && progress.sentBytes === sentBytesOf(connection);
    if (!isIdle || progress.at >= at || !socket.writable || isGivenAway(connection)) continue;
    longest = connection;
    at = progress.at;
  }
  return longest;
}

/**
 * Returns the bytes that the kernel has accepted: node:net still queues the rest of a long write.
 */
function sentBytesOf({ socket }: Connection): number {
  const { _handle } = socket as typeof socket & { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - (_handle?.writeQueueSize ?? 0);
}

/** Returns true if a listener for `upgrade` got the socket, without node:http's own listeners. */
function isGivenAway({ socket }: Connection): boolean {
  return socket.listenerCount('timeout') === 0;
}
