/** The etcd store on a simulated etcd: the contract of PetStore, and its scripts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPetStoreContract } from '../../../src/extras/contract/pet-store-contract.ts';
import { AppliedLog } from '../../../src/extras/etcd/applied-log.ts';
import { decodeMeta, Layout } from '../../../src/extras/etcd/slots.ts';
import {
  commitsOfOne,
  init,
  openSimulated,
  openStore,
  simulated,
  standingClock,
} from '../../support/etcd/opened-store.ts';
import { begin } from '../../support/etcd/etcd-script.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { testScript } from '../../support/script.ts';

testPetStoreContract(
  'The etcd store on a simulated etcd',
  (t) => {
    const options = simulated(new SimulatedEtcd(), { clock: standingClock() });
    return () => init(options).then(() => openStore(t, options));
  },
  { isDurable: true },
);

/**
 * `in-doubt` has each row of the table in proposer.ts, and the next four those in etcd-store.ts. In
 * `lost-log` the log is damaged or replaced: a running store ends its work, a start is refused.
 */
const SCRIPTS = ['in-doubt', 'working', 'failing', 'out-of-reach', 'ended', 'lost-log', 'start'];
for (const name of SCRIPTS) testScript(`stores/etcd/${name}.script`, begin);

test('The log is counted in stretches, one after the other', async (t) => {
  const { etcd } = await openSimulated(t);
  const meta = etcd.entries.get('petstore/meta')!;
  const layout = new Layout('petstore/');
  const deps = { calls: etcd.calls(), clock: new VirtualClock() };
  const log = new AppliedLog(layout, decodeMeta('', meta), deps);
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
