/**
 * Ends connections on which nothing goes forward.
 *
 * node:http's own time-outs look at bytes, either way: an empty line now and then, which is no
 * request, keeps a connection for ever, and so does a request that expired while others waited
 * before it. Here it counts what the service has to do: while an answer is due, bytes of it have to
 * go out; else a request has to come. Every second all connections are looked at, in one pass.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from './limits.ts';
import type { Turns } from './turns.ts';

/** What a connection looked like when it was last seen to go forward, by performance.now(). */
interface Progress {
  readonly isDue: boolean;
  readonly sentBytes: number;
  readonly at: number;
}

/** Looks after the connections of a server for as long as it listens. */
export function cutStalled(
  server: Server,
  connectionsOf: () => Iterable<Socket>,
  turns: Turns,
  { timeout, keepAliveTimeout, headersTimeout, connectionsCheckingInterval }: Limits,
): void {
  const seen = new WeakMap<Socket, Progress>();
  const look = (): void => {
    const at = performance.now();
    for (const socket of connectionsOf()) {
      const isDue = turns.isDue(socket);
      const sentBytes = sentBytesOf(socket);
      const last = seen.get(socket);
      if (last === undefined || last.isDue !== isDue || last.sentBytes !== sentBytes) {
        seen.set(socket, { isDue, sentBytes, at });
      } else if (at - last.at > (isDue ? timeout : keepAliveTimeout + headersTimeout)) {
        if (isDue || !isGivenAway(socket)) socket.destroy();
      }
    }
  };
  server.on('listening', () => {
    const timer = setInterval(look, connectionsCheckingInterval).unref();
    server.once('close', () => clearInterval(timer));
  });
}

/** What the system has taken: the rest of a long write is in node:net's private queue. */
function sentBytesOf(socket: Socket): number {
  const { _handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - (_handle?.writeQueueSize ?? 0);
}

/** A program that adds a listener for `upgrade` gets the socket without node:http's own listeners. */
function isGivenAway(socket: Socket): boolean {
  return socket.listenerCount('timeout') === 0;
}
