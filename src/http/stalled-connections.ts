/**
 * Closes connections on which nothing goes forward.
 *
 * node:http's own timeouts look at bytes, either way: an empty line now and then, which is not a
 * request, keeps a connection open forever. Here it counts what the service has to do: while a
 * response is due, bytes of it have to go out; else a request has to come. All connections are
 * checked every second, in one pass.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from './limits.ts';
import type { Connection, PipelineQueue } from './pipelining.ts';

/** What a connection looked like when it was last seen to go forward, by performance.now(). */
interface Activity {
  readonly isDue: boolean;
  readonly sentBytes: number;
  readonly at: number;
}

/** Watches the connections of a server for as long as it listens. */
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
      // While nothing is due, a paused connection waits for the service, not for its client.
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

/** What the kernel has accepted: the rest of a long write is in node:net's private queue. */
function sentBytesOf(socket: Socket): number {
  const { _handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - (_handle?.writeQueueSize ?? 0);
}

/**
 * A program that adds a listener for `upgrade` gets the socket without node:http's own listeners.
 */
function isGivenAway(socket: Socket): boolean {
  return socket.listenerCount('timeout') === 0;
}
