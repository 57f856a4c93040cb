/**
 * The service as a contender: as it is, with its pets in memory only, on a disk whose every sync
 * takes 2 ms longer, over a store that rewrites the whole file for each pet, or without metrics.
 */

import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { systemMemory } = await import('../../dist/base/memory.js');
const { createListener } = await import('../../dist/api/listener.js');
const { petOperations } = await import('../../dist/api/operations.js');
const { createApp } = await import('../../dist/app.js');
const { createKeyring } = await import('../../dist/http/bearer.js');
const { createHttpServer } = await import('../../dist/http/http-server.js');
const { SnapshotText } = await import('../../dist/stores/file/snapshot.js');
const { openFileStore } = await import('../../dist/stores/file/file-store.js');
const { createMemoryStore } = await import('../../dist/stores/memory-store.js');
const { nodeDisk } = await import('../../dist/stores/file/node-disk.js');
const { PetTable } = await import('../../dist/stores/table/pet-table.js');
const { encodePet } = await import('../../dist/model/encoded-pet.js');

const SLOW_SYNC_MS = 2;
const { kind, path } = JSON.parse(process.argv[2]);

const stores = {
  file: () => openFileStore({ path }),
  uncounted: () => openFileStore({ path }),
  memory: () => createMemoryStore(),
  slow: () => openFileStore({ path, disk: slowDisk() }),
  rewrite: () => rewriteStore(),
};

const startedAt = performance.now();
const store = await stores[kind]();
const app = createApp({ store, apiKeys: ['bench'] });
await app.open();
const loadMs = performance.now() - startedAt;
const server = createHttpServer(kind === 'uncounted' ? uncountedListener() : app.listener);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port, loadMs })}\n`);
});

function uncountedListener() {
  const keyring = createKeyring(['bench']);
  return createListener({
    operations: petOperations({ store: () => store, storeForCreate: () => store }),
    prefix: '',
    keyring: () => keyring,
    bodyLimitBytes: 65_536,
    now: Date.now,
    isDraining: () => false,
    log: () => undefined,
    onAnswer: () => undefined,
  });
}

function slowDisk() {
  return {
    ...nodeDisk,
    async open(...args) {
      const file = await nodeDisk.open(...args);
      const sync = async () => {
        await sleep(SLOW_SYNC_MS);
        await file.sync();
      };
      return { ...file, sync };
    },
  };
}

/** What most small services do: no journal, the file written anew for each pet, and not synced. */
function rewriteStore() {
  const pets = new PetTable();
  return {
    ...createMemoryStore(),
    list: (query) => pets.list(query),
    async create({ tail, status }) {
      const pet = encodePet(pets.lastId + 1n, tail);
      pets.append(pets.lastId + 1n, pet, status);
      writeFileSync(path, Buffer.concat([...new SnapshotText(systemMemory, pets).chunks()]));
      return pet;
    },
  };
}
