/** Stopping a server without cutting anybody off in mid answer. */

import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { connectionsOf } from './http-server.ts';

/**
 * Takes no new connections, and resolves when the last one is closed.
 *
 * Idle connections are closed at once and whenever they fall idle; those that are still busy after
 * `drainMs` are cut.
 */
export async function stopServer(server: Server, drainMs: number): Promise<void> {
  // http's own close would also cut slow readers, and stop the time-outs of headers and requests.
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
  closeIdle(server);
  const sweep = setInterval(() => closeIdle(server), SWEEP_MS);
  const cut = setTimeout(() => closeAll(server), drainMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
  // Nothing is left of it but the timer that looks at the time-outs.
  server.close();
}

const SWEEP_MS = 50;

/**
 * To node:http a connection that was never used is busy, and one is idle once its answer is
 * written, though most of that may still wait for a slow reader. It closes all idle ones or none,
 * so they wait together.
 */
function closeIdle(server: Server): void {
  let isFlushed = true;
  for (const connection of connectionsOf(server)) {
    if (connection.bytesRead === 0) connection.destroy();
    else if (connection.writableLength > 0) isFlushed = false;
  }
  if (isFlushed) server.closeIdleConnections();
}

/** node:http's own leaves out those that it gave away because of CONNECT, so these follow. */
function closeAll(server: Server): void {
  server.closeAllConnections();
  for (const connection of connectionsOf(server)) connection.destroy();
}
