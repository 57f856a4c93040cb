/**
 * The service as a contender: as it is, with its pets in memory only, on a disk whose every sync
 * takes 2 ms longer, or over a store that rewrites the whole file for each pet.
 */

import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { createApp } = await import('../../dist/app.js');
const { createHttpServer } = await import('../../dist/http/http-server.js');
const { encodeSnapshot } = await import('../../dist/storage/snapshot.js');
const { openFileStore } = await import('../../dist/storage/file-store.js');
const { createMemoryStore } = await import('../../dist/storage/memory-store.js');
const { nodeDisk } = await import('../../dist/storage/node-disk.js');
const { PetTable } = await import('../../dist/storage/pet-table.js');
const { encodePet } = await import('../../dist/model/encoded-pet.js');

const SLOW_SYNC_MS = 2;
const { kind, path } = JSON.parse(process.argv[2]);

const stores = {
  file: () => openFileStore({ path }),
  memory: () => createMemoryStore(),
  slow: () => openFileStore({ path, disk: slowDisk() }),
  rewrite: () => rewriteStore(),
};

const startedAt = performance.now();
const app = createApp({ store: await stores[kind](), apiKeys: ['bench'] });
await app.open();
const loadMs = performance.now() - startedAt;
const server = createHttpServer(app.listener);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port, loadMs })}\n`);
});

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
      writeFileSync(path, Buffer.concat([...encodeSnapshot(pets)]));
      return pet;
    },
  };
}
