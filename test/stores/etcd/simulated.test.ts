/** The etcd store on a simulated etcd: the contract of PetStore, fairness, and shared catch-ups. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { etcdClock } from '../../../src/stores/etcd/calls.ts';
import { openInitialized, rex, simulated } from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
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
  const etcd = new SimulatedEtcd();
  const clock = new VirtualClock();
  const { below } = createRandom(1);
  const stores = await Promise.all(
    [1, 1.5].map((ms) => {
      const calls = etcd.calls(() => clock.sleep(ms + below(10) / 10).then(() => 'answered'));
      clock.random = () => below(100) / 100;
      return openInitialized(t, simulated(etcd, { calls, clock }));
    }),
  );
  const clients = Array.from({ length: 4 }, async (_, i) => {
    while (clock.now() < 1_000) await stores[i % 2]?.create(rex);
  });
  await Promise.all(clients);
  const commits = stores.map((store) => store.stats().commitPets.counts.reduce((a, b) => a + b));
  const least = commits.reduce((a, b) => a + b) / 10;
  assert.ok(
    commits.every((count) => count > least),
    `commits: ${commits.join(', ')}`,
  );
});

test('A read that begins after the request of a catch-up waits for the next one', async (t) => {
  const etcd = new SimulatedEtcd();
  const clock = new VirtualClock();
  const calls = etcd.calls();
  let responseMs = 0;
  const slow: typeof calls = {
    ...calls,
    async txn(text, kind) {
      const result = await calls.txn(text, kind);
      await clock.sleep(responseMs);
      return result;
    },
  };
  const reader = await openInitialized(t, simulated(etcd, { calls: slow, clock }));
  const writer = await openInitialized(t, simulated(etcd, { clock }));
  responseMs = 100;
  const early = reader.list({ limit: 1 });
  await clock.sleep(10);
  await writer.create(rex);
  assert.equal((await reader.get(1n))?.name, 'Rex');
  assert.equal((await early).pets.length, 0);
});
