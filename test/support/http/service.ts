/** A service for tests: the real app behind a real node:http server, on its own port. */

import { openApp, type AppOptions } from '../../../src/app.ts';
import type { Limits } from '../../../src/core/http/limits.ts';
import { createMemoryStore } from '../../../src/core/store/memory-store.ts';
import { createHttpServer } from '../../../src/index.ts';
import { compared } from '../description/description.ts';
import { HOUR_MS, listen } from './listen.ts';
import { KEY } from './requests.ts';

export { freePort, listen, listenFor } from './listen.ts';
export { KEY };

export type Service = Awaited<ReturnType<typeof openService>>;

/** No test takes so long, on no machine: a test that needs a limit sets its own. */
const NO_LIMITS: Partial<Limits> = {
  ...{ headersTimeout: HOUR_MS, requestTimeout: HOUR_MS },
  ...{ keepAliveTimeout: HOUR_MS, timeout: HOUR_MS },
};

/**
 * Starts a service that is closed with the test, or with the file of tests. It has an in-memory
 * store, unless the options name another, and no limits of time but those that are given.
 */
export async function openService(
  t: { after(close: () => Promise<void>): void },
  options: Partial<AppOptions> = {},
  limits: Partial<Limits> = {},
) {
  const isPlaced = options.dataFile !== undefined || options.etcd !== undefined;
  const where = isPlaced ? {} : { store: createMemoryStore() };
  const app = await openApp({ ...where, apiKeys: [KEY], ...options });
  const errors: unknown[] = [];
  const { prefix = '' } = options;
  const listener = compared(app.listener, prefix, (error) => void errors.push(error));
  const server = createHttpServer(listener, { ...NO_LIMITS, ...limits });
  const port = await listen(server);
  const origin = `http://127.0.0.1:${port}`;
  const service = {
    ...{ app, server, port, origin },
    /** Fetches a path with the key, unless the headers have another Authorization, or ''. */
    fetch(path: string, init: RequestInit = {}): Promise<Response> {
      const headers = new Headers(init.headers);
      if (!headers.has('Authorization')) headers.set('Authorization', `Bearer ${KEY}`);
      if (headers.get('Authorization') === '') headers.delete('Authorization');
      return fetch(`${origin}${path}`, { ...init, headers });
    },
    /** POSTs a value as JSON, or a text or bytes as they are, to /v1/pets. */
    post(value: unknown, fields: Record<string, string> = {}): Promise<Response> {
      const isRaw = typeof value === 'string' || value instanceof Uint8Array;
      const body = isRaw ? value : JSON.stringify(value);
      const headers = { 'Content-Type': 'application/json', ...fields };
      return service.fetch('/v1/pets', { method: 'POST', body, headers });
    },
    /** Rejects if a response was not as the description says. */
    async close(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await app.close();
      if (errors.length > 0) throw errors[0];
    },
  };
  t.after(() => service.close());
  return service;
}

/** Adds pets of 65 KB. A list of 100 of them is more than the buffers of a connection hold. */
export async function addLongPets({ app }: Service, count: number): Promise<void> {
  const newPet = { name: 'x'.repeat(65_000), categoryId: 1n };
  for (let pet = 0; pet < count; pet += 1) await app.pets.create(newPet);
}
