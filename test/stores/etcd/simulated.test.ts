/** The etcd store on a simulated etcd: the contract of PetStore, and the fairness of two stores. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { simulatedCalls } from '../../support/etcd/simulated-calls.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { createRandom } from '../../support/random.ts';

const endpoints = ['http://127.0.0.1:2379'];

testPetStoreContract(
  'The etcd store on a simulated etcd',
  () => {
    const etcd = new SimulatedEtcd();
    return () => openInitialized({ endpoints, calls: simulatedCalls(etcd) });
  },
  { isDurable: true },
);

test('A process makes at least a tenth of the commits if another is nearer', async (t) => {
  const etcd = new SimulatedEtcd();
  const clock = new VirtualClock();
  const { below } = createRandom(1);
  const stores = await Promise.all(
    [1, 1.5].map((ms) => {
      const wait = (): Promise<void> => clock.sleep(ms + below(10) / 10);
      const calls = simulatedCalls(etcd, () => wait().then(() => 'answered' as const));
      clock.random = () => below(100) / 100;
      return openInitialized({ endpoints, calls, clock });
    }),
  );
  t.after(() => Promise.all(stores.map((store) => store.close())));
  const clients = Array.from({ length: 4 }, async (_, i) => {
    while (clock.now() < 1_000) await stores[i % 2]?.create({ name: 'Rex', categoryId: 1n });
  });
  await Promise.all(clients);
  const commits = stores.map((store) => store.stats().commitPets.counts.reduce((a, b) => a + b));
  const least = commits.reduce((a, b) => a + b) / 10;
  assert.ok(
    commits.every((count) => count > least),
    `commits: ${commits.join(', ')}`,
  );
});
