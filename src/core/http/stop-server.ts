/** Graceful shutdown: stops a server without cutting off responses, up to a deadline. */

import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { aFunction, assertNoErrors, condition } from '../base/option-error.ts';
import { connectionsOf } from './http-server.ts';
import { aLimit, LONGEST_TIMER_MS } from './limits.ts';

/**
 * Stops accepting connections. Resolves when the last connection is closed. Rejects with a
 * TypeError, and stops nothing, if an argument is wrong.
 *
 * If a connection is closed while a request is in transit, the kernel resets it, and the client
 * cannot know whether the request took effect. So a stop has these steps:
 *
 * 1. The server accepts the connections in the kernel's accept queue, and serves as before.
 * 2. The server stops listening, and `drain` is called: from then on the listener closes each
 *    connection with its next response.
 * 3. Idle connections stay open for another moment, for requests in transit.
 * 4. Idle connections are closed together, as soon as no response is still on its way. Connections
 *    that are still busy after `drainMs` are cut off.
 *
 * With 2 before 1, clients that reconnect after each response met about ten resets per stop.
 */
export async function stopServer(
  server: Server,
  drainMs: number,
  drain: () => void = () => undefined,
): Promise<void> {
  assertNoErrors([
    ...aServer(server, 'The server'),
    ...aLimit(drainMs, 'drainMs'),
    ...aFunction(drain, 'drain'),
  ]);
  const cut = setTimeout(() => closeAll(server), Math.min(drainMs, LONGEST_TIMER_MS));
  await allAccepted(server, drainMs * ACCEPTING);
  // node:http's own close would also cut off slow readers, and stop the timeouts of headers and
  // requests. The server of Bun has no other.
  const { close }: NetServer = Object(server) instanceof NetServer ? NetServer.prototype : server;
  const closed = new Promise<void>((resolve) => {
    close.call(server, () => resolve());
  });
  drain();
  await Promise.race([closed, sleep(ARRIVAL_MS)]);
  closeIdle(server);
  const sweep = setInterval(() => closeIdle(server), SWEEP_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
  // Ends node:http's timer, which keeps the server and its pets in memory.
  server.close();
}

const aServer = condition('one of node:http', (value) => 'closeAllConnections' in Object(value));

/**
 * The part of `drainMs` in which connections are accepted: a busy service accepts slowly, and if
 * clients open a connection for each request, the queue is never empty.
 */
const ACCEPTING = 0.8;
/** How long a request may be in transit. */
const ARRIVAL_MS = 250;
const SWEEP_MS = 50;

/**
 * Resolves when the kernel's accept queue is empty, or at the end of the time for it. An iteration
 * of the event loop accepts one connection, and the end of listening resets all others.
 */
async function allAccepted(server: Server, acceptMs: number): Promise<void> {
  const endsAt = performance.now() + acceptMs;
  let hasAccepted = true;
  const onConnection = (): unknown => (hasAccepted = true);
  server.on('connection', onConnection);
  // The current iteration of the event loop may already have polled the queue.
  await nextTurn();
  while (hasAccepted && performance.now() < endsAt) {
    hasAccepted = false;
    await nextTurn();
  }
  server.off('connection', onConnection);
}

/**
 * Closes all idle and unused connections together, as soon as none of the others is still busy.
 *
 * node:http counts a connection as idle once its response is written, even if a slow reader has not
 * taken it, or the service has ended its side and the client has not, or more requests wait as
 * bytes. While there is a connection in one of these states, no idle one is closed. A connection
 * without a request may have one in transit, which a busy service reads late.
 */
function closeIdle(server: Server): void {
  const connections = [...connectionsOf(server)];
  const isBusy = (socket: Socket): boolean =>
    socket.writableLength > 0 || socket.writableEnded || socket.isPaused();
  if (connections.some(isBusy)) return;
  for (const connection of connections) if (connection.bytesRead === 0) connection.destroy();
  server.closeIdleConnections();
}

/** Closes all connections, including those of CONNECT, which closeAllConnections omits. */
function closeAll(server: Server): void {
  server.closeAllConnections();
  for (const connection of connectionsOf(server)) connection.destroy();
}
