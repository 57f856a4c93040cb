/** A program around the app, for tests: servers, and an app over the memory store. */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openApp, type App } from '../../src/app.ts';
import type { AppOptions } from '../../src/app-options.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';

/** The folder of the project, found from `.build/test/embedding`. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url));
export const KEY = 'a-key';
export const HEADERS = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };

/** Serves a listener with a plain server, and resolves with its host and port. */
export async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  return listen(t, createServer(listener));
}

export async function listen(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function openMemoryApp(
  t: TestContext,
  options: Partial<AppOptions> = {},
): Promise<App> {
  const app = await openApp({ store: createMemoryStore(), apiKeys: [KEY], ...options });
  t.after(() => app.close());
  return app;
}
