/**
 * A random test in the manner of Jepsen: three stores on three real members, with clients that
 * create, retry through another store and read, while members are killed and stopped, stores are
 * cut off and replaced, and links between them fail. All responses must be those of one log: the
 * model of test/simulation/model.ts judges them.
 *
 * ETCD_SEED and ETCD_SECONDS choose another seed and a longer time. A seed repeats the faults, but
 * not the timing. The test must find the faults that are planted below.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { ReadBarrier } from '../../../src/stores/etcd/read-barrier.ts';
import { KeyTable } from '../../../src/stores/idempotency/key-table.ts';
import { clusterOfFile, withoutEtcd } from '../../support/etcd/cluster.ts';
import { bringFaults, type LinkedProcess } from '../../support/etcd/faults.ts';
import { startLinks } from '../../support/etcd/link.ts';
import { openFast } from '../../support/etcd/opened-store.ts';
import { Processes } from '../../support/etcd/processes.ts';
import { rounds } from '../../support/extent.ts';
import { createRandom } from '../../support/random.ts';
import { withMethod } from '../../support/replaced-method.ts';

const SEED: number = Number(process.env['ETCD_SEED'] ?? Math.floor(Math.random() * 1e9));
const SECONDS: number = Number(process.env['ETCD_SECONDS'] ?? rounds(10, 60));

const CLIENTS = 12;
const READERS = 6;

const cluster = await clusterOfFile(3);
let prefixes = 0;

/** Lets clients send to three processes for `ms`. Resolves with what happened. */
async function live(t: TestContext, ms: number, seed: number, hasFaults: boolean) {
  const [random, lots] = [createRandom(seed), createRandom(seed)];
  const { endpoints } = cluster;
  const prefix = `random-${(prefixes += 1)}/`;
  await initEtcd({ endpoints, prefix });
  let opened = 0;
  const open = async (): Promise<LinkedProcess> => {
    // Each process prefers another member, which may lag behind the others.
    const first = (opened += 1) % endpoints.length;
    const links = await startLinks(t, [...endpoints.slice(first), ...endpoints.slice(0, first)]);
    const store = await openFast(t, { endpoints: links.map(({ endpoint }) => endpoint), prefix });
    const lost = ({ message }: Error): void => void callers.complaints.push(message);
    void store.lost.then(lost);
    return { store, links, cutOff: () => links.forEach((link) => link.set('cut')) };
  };
  const processes = new Processes(3, open, () => sleep(lots.below(200)));
  const { callers } = processes;
  await callers.start();
  const endsAt = performance.now() + ms;
  const isOver = (): boolean => performance.now() >= endsAt || callers.complaints.length > 0;
  const faults = hasFaults ? bringFaults({ cluster, processes }, random, isOver) : {};
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver()) await Promise.all([callers.create(3, 3, 3), callers.createOnce(3, 3, 3)]);
  });
  const readers = Array.from({ length: READERS }, async () => {
    while (!isOver()) await callers.read(lots.pick(processes.stores));
  });
  const counts = await faults;
  await cluster.ready();
  await Promise.all([...clients, ...readers]);
  await callers.retry();
  // This create takes the slot of any create in doubt.
  await callers.create(3);
  const complaints = await processes.finish();
  return { counts, complaints, pets: callers.model.petCount };
}

test(
  `All responses during ${SECONDS} s of faults are those of one log (seed ${SEED})`,
  { skip: withoutEtcd, timeout: (SECONDS + 120) * 1000 },
  async (t) => {
    const { counts, complaints, pets } = await live(t, SECONDS * 1000, SEED, true);
    t.diagnostic(`${pets} pets, ${JSON.stringify(counts)}`);
    assert.deepEqual(complaints, []);
    assert.ok(pets > SECONDS, `${pets} pets`);
  },
);

type Run = () => Promise<void>;

const PLANTED: readonly (readonly [what: string, plant: (run: Run) => Promise<void>])[] = [
  [
    'reads without the barrier',
    (run) => withMethod(ReadBarrier, 'wait', () => () => Promise.resolve(), run),
  ],
  ['finds no keys', (run) => withMethod(KeyTable, 'find', () => () => undefined, run)],
];

for (const [what, plant] of PLANTED) {
  test(`The random test finds a store that ${what}`, { skip: withoutEtcd }, (t) =>
    plant(async () => {
      const { complaints } = await live(t, 10_000, SEED, false);
      assert.notEqual(complaints.length, 0);
    }),
  );
}
