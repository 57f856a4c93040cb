/** Stopping a server without cutting anybody off in mid answer. */

import type { Server } from 'node:http';

/**
 * Takes no new connections, and resolves when the last one is closed.
 *
 * Idle connections are closed at once and whenever they fall idle; those that are still busy after
 * `drainMs` are cut.
 */
export async function stopServer(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}

const SWEEP_MS = 50;
