/** A program around the app, for tests: a plain server, and an app over the memory store. */

import { createServer, type RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { openApp, type App } from '../../src/app.ts';
import type { AppOptions } from '../../src/app-options.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, listenFor } from '../support/http/service.ts';

export const HEADERS = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };

/** Serves a listener with a plain server, and resolves with its host and port. */
export async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  return `127.0.0.1:${await listenFor(t, createServer(listener))}`;
}

export async function openMemoryApp(
  t: TestContext,
  options: Partial<AppOptions> = {},
): Promise<App> {
  const app = await openApp({ store: createMemoryStore(), apiKeys: [KEY], ...options });
  t.after(() => app.close());
  return app;
}
