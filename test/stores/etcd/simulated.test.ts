/** The etcd store on a simulated etcd: the contract of PetStore, its scripts, and fairness. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { AppliedLog } from '../../../src/stores/etcd/applied-log.ts';
import { decodeMeta, Layout } from '../../../src/stores/etcd/slots.ts';
import {
  commitsOfOne,
  openInitialized,
  openSimulated,
  rex,
  simulated,
  standingClock,
} from '../../support/etcd/opened-store.ts';
import { testEtcdScript } from '../../support/etcd/etcd-script.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { createRandom } from '../../support/random.ts';

testPetStoreContract(
  'The etcd store on a simulated etcd',
  (t) => {
    const etcd = new SimulatedEtcd();
    return () => openInitialized(t, simulated(etcd, { clock: standingClock() }));
  },
  { isDurable: true },
);

// Each row of the table in etcd-log.ts.
testEtcdScript('stores/etcd/in-doubt.script');
// A damaged or replaced log: a running store ends its work, and a start is refused.
testEtcdScript('stores/etcd/lost-log.script');
testEtcdScript('stores/etcd/start.script');

test('The log is counted in stretches, one after the other', async (t) => {
  const { etcd } = await openSimulated(t);
  const meta = etcd.entries.get('petstore/meta')!;
  const layout = new Layout('petstore/');
  const id = { ...decodeMeta('', meta), layout, meta };
  const log = new AppliedLog(id, { calls: etcd.calls(), clock: new VirtualClock() });
  for (const [key, value] of commitsOfOne('petstore/', meta)) {
    if (log.lastId === 65_600n) break;
    log.apply([{ key, value }]);
  }
  const first = { from: 'petstore/', to: layout.slot(65_536n), count: 65_536 };
  const last = { from: layout.slot(65_536n), to: layout.slot(65_600n), count: 64 };
  for (const [index, stretch] of [first, last, first].entries()) {
    assert.deepEqual(log.stretch(index), stretch);
  }
  assert.deepEqual(log.stretch(-1), last);
});

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
