/**
 * The etcd store on three real members that fail in every way that a test can bring about: what was
 * answered is there, once, under its id, and no read is stale.
 */

import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import type { EtcdOptions } from '../../../src/stores/etcd/etcd-options.ts';
import { startCluster, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { startCuttingProxy } from '../../support/etcd/cutting-proxy.ts';
import { Ledger } from '../../support/etcd/ledger.ts';
import { createRandom } from '../../support/random.ts';

const cluster: Cluster | undefined =
  withoutEtcd === false ? await startCluster({ after }) : undefined;
let prefixes = 0;

/** A test with the cluster, and a function that opens stores on one log of its own. */
function clusterTest(
  name: string,
  run: (
    t: TestContext,
    cluster: Cluster,
    open: (options?: Partial<EtcdOptions>) => Promise<EtcdStore>,
  ) => Promise<void>,
): void {
  test(name, { skip: withoutEtcd, timeout: 120_000 }, async (t) => {
    if (cluster === undefined) return;
    const prefix = `test-${(prefixes += 1)}/`;
    await run(t, cluster, async (options = {}) => {
      const { endpoints } = cluster;
      const store = await openInitialized({ endpoints, prefix, ...options });
      t.after(() => store.close());
      return store;
    });
  });
}

const overAfter = (ms: number): (() => boolean) => {
  const end = performance.now() + ms;
  return () => performance.now() >= end;
};

clusterTest(
  'A pet that one process created is read by another',
  async (_t, { endpoints }, open) => {
    // Each has another member first.
    const [a, b] = [await open(), await open({ endpoints: [...endpoints].reverse() })];
    for (let id = 1n; id <= 20n; id += 1n) {
      const [writer, reader] = id % 2n === 0n ? [a, b] : [b, a];
      assert.equal((await writer.create({ name: `pet ${id}`, categoryId: 1n })).id, id);
      assert.equal((await reader.get(id))?.name, `pet ${id}`);
    }
  },
);

clusterTest(
  'Three processes share the ids, and no read is stale',
  async (_t, { endpoints }, open) => {
    const stores = [
      await open(),
      await open({ endpoints: endpoints.slice(1) }),
      await open({ endpoints: endpoints.slice(2) }),
    ];
    const ledger = new Ledger();
    const isOver = overAfter(3_000);
    await Promise.all(stores.map((store) => ledger.load(store, 20, isOver)));
    assert.equal(ledger.refused + ledger.unknown.size, 0);
    for (const store of stores) await ledger.check(store);
    await ledger.check(await open());
    // None of them is left behind: each commits a tenth of all at least.
    const commits = stores.map((store) => store.stats().commitPets.counts.reduce((a, b) => a + b));
    const all = commits.reduce((a, b) => a + b);
    for (const count of commits) assert.ok(count >= all / 10, `commits: ${commits.join(', ')}`);
  },
);

clusterTest('A key that is sent to two processes at once is stored once', async (_t, _c, open) => {
  const stores = [await open(), await open()] as const;
  for (let round = 0; round < 20; round += 1) {
    const key = round.toString(16).padStart(32, '0');
    const pet = { name: `keyed ${round}`, categoryId: 1n };
    const created = await Promise.all(stores.map((store) => store.createOnce(pet, key)));
    const [first, second] = created.map(({ pet: { id } }) => id);
    assert.equal(first, second);
    assert.equal(created.filter(({ isReplayed }) => isReplayed).length, 1);
  }
  assert.equal((await stores[0].list({ limit: 100 })).pets.length, 20);
});

clusterTest('The leader is killed again and again, and nothing is lost', async (_t, c, open) => {
  const ledger = new Ledger();
  const stores = [await open(), await open({ endpoints: [...c.endpoints].reverse() })];
  let isOver = false;
  const loads = stores.map((store) => ledger.load(store, 16, () => isOver));
  for (let round = 0; round < 3; round += 1) {
    await sleep(1_000);
    const leader = await c.leader();
    await leader.kill();
    await sleep(2_500);
    leader.restart();
    await c.ready();
  }
  isOver = true;
  await Promise.all(loads);
  assert.ok(ledger.answered.size > 100, `${ledger.answered.size} answered`);
  await ledger.check(await open());
});

clusterTest('Connections are cut behind and before transactions', async (t, c, open) => {
  const random = createRandom(1);
  const proxies = await Promise.all(
    c.endpoints.map((endpoint) => startCuttingProxy(endpoint, () => random.below(100))),
  );
  t.after(() => proxies.forEach((proxy) => proxy.close()));
  const store = await open({ endpoints: proxies.map(({ endpoint }) => endpoint) });
  for (const proxy of proxies) Object.assign(proxy, { behind: 30, before: 10 });
  const ledger = new Ledger();
  await ledger.load(store, 8, overAfter(4_000));
  const cuts = proxies.reduce((sum, proxy) => sum + proxy.cuts(), 0);
  assert.ok(cuts > 30, `${cuts} cuts`);
  assert.ok(ledger.answered.size > 100, `${ledger.answered.size} answered`);
  assert.equal(ledger.unknown.size + ledger.refused, 0);
  await ledger.check(await open());
});

clusterTest('A member that hangs is left for another', async (_t, c, open) => {
  const store = await open();
  await store.create({ name: 'before', categoryId: 1n });
  const [first] = c.members;
  first?.signal('SIGSTOP');
  try {
    assert.equal((await store.create({ name: 'meanwhile', categoryId: 1n })).id, 2n);
    assert.equal((await store.get(2n))?.name, 'meanwhile');
    assert.equal(store.problem(), undefined);
  } finally {
    first?.signal('SIGCONT');
  }
});

clusterTest('Without a quorum all is 503, and it heals by itself', async (_t, c, open) => {
  const store = await open();
  await store.create({ name: 'before', categoryId: 1n });
  await Promise.all(c.members.map((member) => member.kill()));
  const startedAt = performance.now();
  await Promise.all([
    assert.rejects(store.create({ name: 'lost', categoryId: 1n }), /StoreUnavailableError|Outcome/),
    assert.rejects(store.list({ limit: 1 }), { name: 'StoreUnavailableError' }),
  ]);
  assert.ok(performance.now() - startedAt < 17_000);
  await sleep(1_000);
  assert.match(store.problem() ?? '', /The etcd cluster gives no answer/);
  assert.equal(store.count().total, 1);
  for (const member of c.members) member.restart();
  await c.ready();
  const { id } = await retried(() => store.create({ name: 'after', categoryId: 1n }));
  assert.equal((await store.get(id))?.name, 'after');
  await retried(async () => assert.equal(store.problem(), undefined));
});

clusterTest('A log that is deleted under a running process ends its work', async (_t, c, open) => {
  const store = await open({ prefix: 'deleted/' });
  await store.create({ name: 'Rex', categoryId: 1n });
  const { gateway } = await import('../../support/etcd/cluster.ts');
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const range = { key: base64('deleted/'), range_end: base64('deleted0') };
  await gateway(c.endpoints[0] ?? '', '/v3/kv/deleterange', JSON.stringify(range));
  await assert.rejects(store.create({ name: 'Tom', categoryId: 1n }), /is not the one/);
  assert.match((await store.lost).message, /it was deleted/);
});

clusterTest('A second cluster among the endpoints is refused', async (t, c, open) => {
  const other = await startCluster(t, { size: 1 });
  const endpoints = [...c.endpoints, ...other.endpoints];
  await assert.rejects(open({ endpoints }), /belong to different clusters/);
});

async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 50) throw error;
      await sleep(200);
    }
  }
}
