/** A back-up is restored under a running process, while one of three members is down. */

import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openEtcdStore, type EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import {
  gateway,
  startCluster,
  withoutEtcd,
  type Cluster,
  type EtcdMember,
} from '../../support/etcd/cluster.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const rex = { name: 'Rex', categoryId: 1n } as const;

interface Life extends Cluster {
  readonly store: EtcdStore;
  /** Puts the members' state of when there was one pet in place of theirs. */
  restore(members: readonly EtcdMember[]): void;
}

/** A store that has applied three pets; the back-up has one, and all members are down. */
async function live(t: TestContext): Promise<Life> {
  const cluster = await startCluster(t);
  const { members, endpoints } = cluster;
  const killAll = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.kill()));
  };
  const first = await openInitialized({ endpoints });
  await first.create(rex);
  await first.close();
  await killAll();
  const folder = tempDir(t);
  for (const [i, { dataFolder }] of members.entries()) {
    cpSync(dataFolder, join(folder, `${i}`), { recursive: true });
  }
  for (const member of members) member.restart();
  await cluster.ready();
  const store = await openEtcdStore({ endpoints });
  t.after(() => store.close());
  await store.create(rex);
  await store.create(rex);
  await killAll();
  return {
    ...cluster,
    store,
    restore(restored) {
      for (const member of restored) {
        rmSync(member.dataFolder, { recursive: true });
        const name = `${members.indexOf(member)}`;
        cpSync(join(folder, name), member.dataFolder, { recursive: true });
      }
    },
  };
}

for (const isBusy of [true, false]) {
  test(
    `A ${isBusy ? 'busy' : 'idle'} process ends its work after an older state of its cluster is restored`,
    { skip: withoutEtcd, timeout: 90_000 },
    async (t) => {
      const { members, store, restore, endpoints } = await live(t);
      const two = members.slice(1);
      restore(two);
      for (const member of two) member.restart();
      let isLost = false;
      const lost = store.lost.finally(() => (isLost = true));
      while (isBusy && !isLost) {
        // A create must not be acknowledged in the old state: it would have the id 4 there.
        await assert.rejects(store.create(rex), /StoreUnavailableError|OutcomeUnknownError/);
      }
      assert.match((await lost).message, /an older state was restored\. Restart the service/);
      // A new process goes on with what is there.
      const next = await openEtcdStore({ endpoints });
      t.after(() => next.close());
      assert.equal((await next.create(rex)).id, 2n);
    },
  );
}

test(
  'A process ends its work after its back-up is restored into a cluster with another token',
  { skip: withoutEtcd, timeout: 90_000 },
  async (t) => {
    const { members, store, endpoints } = await live(t);
    const folder = tempDir(t);
    const two = members.slice(1);
    const keys = { key: 'AA==', range_end: 'AA==' };
    for (const [i, member] of two.entries()) {
      member.restart([
        ...['--data-dir', join(folder, `${i}`)],
        ...['--initial-cluster-token', 'another'],
      ]);
    }
    const isUp = async (): Promise<boolean> => {
      const text = await gateway(two[0]!.endpoint, '/v3/kv/range', JSON.stringify(keys)).catch(
        () => '',
      );
      return text.includes('cluster_id');
    };
    while (!(await isUp()));
    const startedAt = performance.now();
    assert.match((await store.lost).message, /Most endpoints have answered for another etcd/);
    assert.ok(performance.now() - startedAt > 5_000, 'ten seconds after the first answer');
    await assert.rejects(openEtcdStore({ endpoints }), /There is no log under petstore\//);
  },
);

test(
  'A process does not end its work while one of three members is of another cluster',
  { skip: withoutEtcd, timeout: 90_000 },
  async (t) => {
    const cluster = await startCluster(t);
    const lines: string[] = [];
    const store = await openInitialized({
      endpoints: cluster.endpoints,
      log: (_level, event, details) => void lines.push(`${event} ${JSON.stringify(details)}`),
    });
    t.after(() => store.close());
    await store.create(rex);
    const [wrong] = cluster.members;
    assert.ok(wrong);
    await wrong.kill();
    const { spawnargs } = wrong.child;
    const peer = spawnargs[spawnargs.indexOf('--initial-advertise-peer-urls') + 1] ?? '';
    wrong.restart(['--data-dir', join(tempDir(t), 'x'), '--initial-cluster', `m0=${peer}`]);
    const until = performance.now() + 14_000;
    let stored = 1n;
    // All callers are served by the others, also when it is asked.
    while (performance.now() < until) {
      stored = (await store.create(rex)).id;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.equal(store.problem(), undefined);
    assert.equal((await store.get(stored))?.id, stored);
    while (!lines.some((line) => line.startsWith('An etcd endpoint belongs to another cluster'))) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  },
);
