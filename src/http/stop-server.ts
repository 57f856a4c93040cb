/** Graceful shutdown: stops a server without cutting off responses, up to a deadline. */

import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { connectionsOf } from './http-server.ts';

/**
 * Stops accepting connections. Resolves when the last connection is closed.
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
  const cut = setTimeout(() => closeAll(server), drainMs);
  await allAccepted(server);
  // node:http's own close would also cut off slow readers, and stop the timeouts of headers and
  // requests.
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
  drain();
  await Promise.race([closed, sleep(ARRIVAL_MS)]);
  closeIdle(server);
  const sweep = setInterval(() => closeIdle(server), SWEEP_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
  // Stops the timer that checks the timeouts.
  server.close();
}

/**
 * Limits the wait for an empty accept queue: if clients open a connection for each request, the
 * queue is never empty.
 */
const MAX_ACCEPT_MS = 1000;
/** How long a request may be in transit. */
const ARRIVAL_MS = 250;
const SWEEP_MS = 50;

/**
 * Resolves when the kernel's accept queue is empty, or after a second. Each iteration of the event
 * loop accepts one connection, and the end of listening resets all others.
 */
async function allAccepted(server: Server): Promise<void> {
  const endsAt = performance.now() + MAX_ACCEPT_MS;
  let isAccepting = true;
  const onConnection = (): unknown => (isAccepting = true);
  server.on('connection', onConnection);
  // The current iteration of the event loop may already have polled the queue.
  await nextTurn();
  while (isAccepting && performance.now() < endsAt) {
    isAccepting = false;
    await nextTurn();
  }
  server.off('connection', onConnection);
}

/**
 * Closes the unused connections, which node:http counts as busy, and all idle ones together.
 * node:http counts a connection as idle once its response is written, even if a slow reader has not
 * taken it, the service has ended its side and the client has not, or the next request is unread.
 * While there is a connection in one of these three states, no idle one is closed.
 */
function closeIdle(server: Server): void {
  let isFlushed = true;
  for (const connection of connectionsOf(server)) {
    if (connection.bytesRead === 0) connection.destroy();
    else if (connection.writableLength > 0 || connection.writableEnded) isFlushed = false;
    else if (connection.isPaused()) isFlushed = false;
  }
  if (isFlushed) server.closeIdleConnections();
}

/** Closes all connections, including those of CONNECT, which closeAllConnections omits. */
function closeAll(server: Server): void {
  server.closeAllConnections();
  for (const connection of connectionsOf(server)) connection.destroy();
}
