/** Servers of tests: each listens on a free port. */

import type { Server } from 'node:http';
import { createServer, type AddressInfo, type Server as NetServer } from 'node:net';

export const HOUR_MS = 3_600_000;

/** Resolves with a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Listens on a free port until the test, or the file of tests, ends, and closes no idle connection
 * meanwhile. Resolves with the port.
 */
export function listenFor(t: { after(close: () => void): void }, server: Server): Promise<number> {
  server.keepAliveTimeout = HOUR_MS;
  t.after(() => void server.close().closeAllConnections());
  return listen(server);
}

export async function listen(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
