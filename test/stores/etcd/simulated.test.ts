/** The etcd store on a simulated etcd: the contract of PetStore, fairness, and shared catch-ups. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { etcdClock } from '../../../src/stores/etcd/calls.ts';
import {
  openInitialized,
  openSimulated,
  openStore,
  rex,
  simulated,
} from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { createRandom } from '../../support/random.ts';

testPetStoreContract(
  'The etcd store on a simulated etcd',
  (t) => {
    const etcd = new SimulatedEtcd();
    return () => openInitialized(t, simulated(etcd, { clock: etcdClock }));
  },
  { isDurable: true },
);

test('A process makes at least a tenth of the commits if another is nearer', async (t) => {
  const near = await openSimulated(t);
  const { clock } = near;
  const { below } = createRandom(1);
  const far = await openSimulated(t, near);
  clock.random = () => below(100) / 100;
  for (const [life, ms] of [[near, 1] as const, [far, 1.5] as const]) {
    life.fateOf = () => clock.sleep(ms + below(10) / 10).then(() => 'answered');
  }
  const startedAt = clock.now();
  const clients = [near, far, near, far].map(async ({ store }) => {
    while (clock.now() < startedAt + 1_000) await store.create(rex);
  });
  await Promise.all(clients);
  const [a = 0, b = 0] = [near, far].map(({ store }) => {
    return store.stats().commitPets.counts.reduce((sum, count) => sum + count);
  });
  assert.ok(Math.min(a, b) > (a + b) / 10, `commits: ${a}, ${b}`);
});

test('A read that begins after the request of a catch-up waits for the next one', async (t) => {
  const { etcd, clock, store: writer } = await openSimulated(t);
  const calls = etcd.calls();
  // Its responses take 100 ms.
  const txn: typeof calls.txn = async (...call) => {
    const result = await calls.txn(...call);
    await clock.sleep(100);
    return result;
  };
  const reader = await openStore(t, simulated(etcd, { calls: { ...calls, txn }, clock }));
  const early = reader.list({ limit: 1 });
  await clock.sleep(10);
  await writer.create(rex);
  assert.equal((await reader.get(1n))?.name, 'Rex');
  assert.equal((await early).pets.length, 0);
});
