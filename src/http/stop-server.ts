/** Stopping a server without cutting anybody off in mid answer. */

import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { connectionsOf } from './http-server.ts';

/**
 * Takes no new connections, and resolves when the last one is closed.
 *
 * To close a connection on a request that is on its way resets it, and its client cannot know
 * whether it was carried out. So a stop goes in this order:
 *
 * 1. Connections that wait in the system's queue are accepted, while all goes on as before.
 * 2. The server listens no more, and `drain` is called: from now on the listener should have each
 *    answer close its connection.
 * 3. Idle connections stay open for another moment, for requests that are on their way.
 * 4. They are closed as they fall idle; those that are still busy after `drainMs` are cut.
 *
 * With 2 before 1, clients that come again at once after each answer met some ten resets a stop.
 */
export async function stopServer(
  server: Server,
  drainMs: number,
  drain: () => void = () => undefined,
): Promise<void> {
  const cut = setTimeout(() => closeAll(server), drainMs);
  await allAccepted(server);
  // http's own close would also cut slow readers, and stop the time-outs of headers and requests.
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
  // Nothing is left of it but the timer that looks at the time-outs.
  server.close();
}

/** Where clients make a connection for each request, the queue is never empty. */
const MAX_ACCEPT_MS = 1000;
/** So long a request may be on its way. */
const ARRIVAL_MS = 250;
const SWEEP_MS = 50;

/**
 * Resolves when no connection waits in the system's queue, or after a second: one is taken from it
 * in each turn of the event loop, and to stop listening resets all the others.
 */
async function allAccepted(server: Server): Promise<void> {
  const endsAt = performance.now() + MAX_ACCEPT_MS;
  let isAccepting = true;
  const note = (): unknown => (isAccepting = true);
  server.on('connection', note);
  // The turn that this is called in may be past the place where it looks at the queue.
  await nextTurn();
  while (isAccepting && performance.now() < endsAt) {
    isAccepting = false;
    await nextTurn();
  }
  server.off('connection', note);
}

/**
 * To node:http a connection that was never used is in use, and one is idle once its response is
 * written, though most of that may still wait for a slow reader, or for its client to close, and
 * though its next request may wait to be read. It closes all idle ones or none, so they wait
 * together.
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

/** node:http's own leaves out those that it gave away because of CONNECT, so these follow. */
function closeAll(server: Server): void {
  server.closeAllConnections();
  for (const connection of connectionsOf(server)) connection.destroy();
}
