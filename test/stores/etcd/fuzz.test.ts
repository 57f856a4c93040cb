/** Random requests against a service on three real members. */

import { test } from 'node:test';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import { fuzz } from '../../support/http/fuzz.ts';

test(
  'On etcd, whatever clients send, answers are whole and the log has what was answered',
  { skip: withoutEtcd },
  async (t) => {
    const { endpoints } = await startCluster(t);
    await initEtcd({ endpoints });
    await fuzz(t, {
      options: { etcd: { endpoints } },
      async storedPets() {
        // Another process reads the whole log.
        const store = await openEtcdStore({ endpoints });
        const stored = new Map<number, string>();
        for (let after = 0n; ;) {
          const { pets } = await store.list({ limit: 1000, after });
          for (const { id, text } of pets) {
            stored.set(Number(id), Buffer.from(text).toString('latin1'));
            after = id;
          }
          if (pets.length === 0) break;
        }
        await store.close();
        return stored;
      },
    });
  },
);
