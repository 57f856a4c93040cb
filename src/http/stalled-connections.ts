/**
 * Closes connections that make no progress.
 *
 * node:http's own timeouts count bytes in both directions: a client that sends an empty line now
 * and then, but no request, would keep its connection open forever. Here progress counts: while a
 * response is due, bytes of it have to go out; otherwise a request has to come. One pass per second
 * checks all connections.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from './limits.ts';
import type { Connection, PipelineQueue } from './pipelining.ts';

/** The state of a connection at its last progress. `at` is by performance.now(). */
interface Activity {
  readonly isDue: boolean;
  readonly sentBytes: number;
  readonly at: number;
}

/** Checks the connections of a server while it listens. */
export function closeStalledConnections(
  server: Server,
  queue: PipelineQueue,
  { timeout, keepAliveTimeout, headersTimeout, connectionsCheckingInterval }: Limits,
): void {
  const seen = new WeakMap<Connection, Activity>();
  const check = (): void => {
    const at = performance.now();
    for (const connection of queue.connections.values()) {
      const { socket, isDue, isPaused } = connection;
      const sentBytes = sentBytesOf(socket);
      const last = seen.get(connection);
      // If nothing is due, a paused connection waits for the service, not for its client.
      const isWaiting = isPaused && !isDue;
      if (isWaiting || last?.isDue !== isDue || last.sentBytes !== sentBytes) {
        seen.set(connection, { isDue, sentBytes, at });
      } else if (at - last.at > (isDue ? timeout : keepAliveTimeout + headersTimeout)) {
        if (isDue || !isGivenAway(socket)) socket.destroy();
      }
    }
  };
  server.on('listening', () => {
    const timer = setInterval(check, connectionsCheckingInterval).unref();
    server.once('close', () => clearInterval(timer));
  });
}

/**
 * Returns the bytes that the kernel has accepted: node:net still queues the rest of a long write.
 */
function sentBytesOf(socket: Socket): number {
  const { _handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - (_handle?.writeQueueSize ?? 0);
}

/** Returns true if a listener for `upgrade` got the socket, without node:http's own listeners. */
function isGivenAway(socket: Socket): boolean {
  return socket.listenerCount('timeout') === 0;
}
