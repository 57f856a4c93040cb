/**
 * The service as a contender: as it is (`file`), with its pets in memory only, without counting for
 * the metrics, on a slow disk; or without one rule of its storage, to see what that rule costs.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createApp, createHttpServer, createMemoryStore, openFileStore } from '../../dist/index.js';
import { diskWithSync, lookOnceDisk } from './disks.mjs';

const SLOW_SYNC_MS = 2;
const { kind, path, apiKeys = 1 } = JSON.parse(process.argv[2]);
/** The others have 32 characters each. */
const others = Array.from({ length: apiKeys - 1 }, (_, i) => String(i).padStart(32, 'k'));

const stores = {
  file: () => openFileStore({ path }),
  uncounted: () => openFileStore({ path }),
  uncached: () => withoutPageCache(),
  memory: () => createMemoryStore(),
  slow: () => openFileStore({ path, disk: diskWithSync(slowSync) }),
  unlooked: () => openFileStore({ path, disk: lookOnceDisk() }),
};

const startedAt = performance.now();
const store = await stores[kind]();
const app = createApp({ store, apiKeys: ['bench', ...others] });
await app.open();
const loadMs = performance.now() - startedAt;
const listener = kind === 'uncounted' ? await uncountedListener() : app.listener;
const server = createHttpServer(listener);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port, loadMs })}\n`);
});

async function slowSync(file) {
  await sleep(SLOW_SYNC_MS);
  await file.sync();
}

async function withoutPageCache() {
  const { PageCache } = await import('../../dist/stores/table/page-cache.js');
  PageCache.prototype.get = () => undefined;
  PageCache.prototype.keep = (_first, _limit, page) => page;
  return openFileStore({ path });
}

async function uncountedListener() {
  const { createListener } = await import('../../dist/http/handle-request.js');
  const { petOperations } = await import('../../dist/api/operations.js');
  const { createKeyring } = await import('../../dist/api-keys/create-keyring.js');
  const use = { name: '', requests: 0, lastUsedAt: 0 };
  const keyring = createKeyring([{ text: 'bench', use }]);
  return createListener({
    operations: petOperations(() => store, () => store),
    prefix: '',
    protectedPath: '/v1',
    hintFor: () => '',
    keyring: () => keyring,
    bodyLimitBytes: 65_536,
    now: Date.now,
    isDraining: () => false,
    log: () => undefined,
    onResponse: () => undefined,
  });
}
