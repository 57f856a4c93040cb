/**
 * A random test in the manner of Jepsen: three stores on three real members, with clients that
 * create, retry through another store and read, while members are killed and stopped, stores are
 * cut off and replaced, and links between them fail. All responses must be those of one log: the
 * model of test/simulation/model.ts judges them. simulation.test.ts shows what the model finds.
 *
 * ETCD_SEED and ETCD_SECONDS choose another seed and a longer time. A seed repeats the faults, but
 * not the timing.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { initEtcd } from '../../../src/stores/etcd/open-log.ts';
import { needsEtcd, startCluster } from '../../support/etcd/cluster.ts';
import { startLinks, type Link } from '../../support/etcd/link.ts';
import { FACTOR, openFast } from '../../support/etcd/opened-store.ts';
import { Processes, type LogProcess } from '../../support/etcd/processes.ts';
import { rounds } from '../../support/extent.ts';
import { createRandom } from '../../support/random.ts';

const SEED: number = Number(process.env['ETCD_SEED'] ?? Math.floor(Math.random() * 1e9));
const SECONDS: number = Number(process.env['ETCD_SECONDS'] ?? rounds(10, 60));

const CLIENTS = 12;
const READERS = 6;

/** A process with its own links to the members. */
interface LinkedProcess extends LogProcess {
  readonly links: readonly Link[];
}

/** For how many milliseconds this process was not held up: a busy machine makes calls longer. */
let awakeMs = 0;
setInterval(() => (awakeMs += 20), 20).unref();

/** The longest pause between two faults, and the longest time that a fault takes. */
const PAUSE_MS = 400;
const FAULT_MS = 1_500;

test(
  `All responses during ${SECONDS} s of faults are those of one log (seed ${SEED})`,
  { ...needsEtcd, timeout: (SECONDS + 120) * 1000 },
  async (t) => {
    const lots = createRandom(SEED);
    const cluster = await startCluster(t);
    const { endpoints } = cluster;
    await initEtcd({ endpoints });
    let opened = 0;
    const open = async (): Promise<LinkedProcess> => {
      // Each process prefers another member, which may lag behind the others.
      const first = (opened += 1) % endpoints.length;
      const links = await startLinks(t, [...endpoints.slice(first), ...endpoints.slice(0, first)]);
      const store = await openFast(t, { endpoints: links.map(({ endpoint }) => endpoint) });
      void store.lost.then(({ message }) => callers.complaints.push(message));
      return { store, links, cutOff: () => links.forEach((link) => link.set('cut')) };
    };
    const pass = (): Promise<void> => sleep(lots.below(200));
    const processes = new Processes({
      count: 3,
      open,
      pass,
      now: () => FACTOR * awakeMs,
      slack: 1.5,
    });
    const { callers } = processes;
    await callers.start();
    const endsAt = performance.now() + SECONDS * 1000;
    const isOver = (): boolean => performance.now() >= endsAt || callers.complaints.length > 0;
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!isOver()) await Promise.all([callers.create(3, 3, 3), callers.createOnce(3, 3, 3)]);
    });
    const readers = Array.from({ length: READERS }, async () => {
      while (!isOver()) await callers.read(lots.pick(processes.stores));
    });
    const random = createRandom(SEED);
    /** Each begins a fault, and resolves with the function that ends it. */
    const faults: Readonly<Record<string, () => Promise<() => void>>> = {
      async 'some links of a process fail'() {
        const state = random.pick(['hanging', 'deaf', 'cut'] as const);
        const links = random.pick(processes.all).links.slice(0, 1 + random.below(3));
        for (const link of links) link.set(state);
        return () => links.forEach((link) => link.set('open'));
      },
      async 'a process is slow'() {
        const { links } = random.pick(processes.all);
        for (const link of links) link.delayMs = random.below(200);
        return () => links.forEach((link) => (link.delayMs = 0));
      },
      async 'a process is killed'() {
        await processes.replace(random.pick(processes.all));
        return () => undefined;
      },
      async 'a member is stopped'() {
        const member = random.pick(cluster.members);
        member.signal('SIGSTOP');
        return () => member.signal('SIGCONT');
      },
      // In a third of the cases it is the leader.
      async 'a member is killed'() {
        const member = random.pick(cluster.members);
        await member.kill();
        return () => member.restart();
      },
    };
    // One after the other; each kind once before any of them comes again.
    const brought: string[] = [];
    for (let names: string[] = []; !isOver();) {
      if (names.length === 0) names = Object.keys(faults);
      const [name = ''] = names.splice(random.below(names.length), 1);
      brought.push(name);
      const end = await faults[name]?.();
      await sleep(random.below(FAULT_MS));
      end?.();
      await sleep(random.below(PAUSE_MS));
    }
    await cluster.ready();
    await Promise.all([...clients, ...readers]);
    await callers.retry();
    // This create takes the slot of any create in doubt.
    await callers.create(3);
    assert.deepEqual(await processes.finish(), []);
    const { petCount } = callers.model;
    t.diagnostic(`${petCount} pets; ${brought.join(', ')}`);
    assert.ok(petCount > SECONDS, `${petCount} pets`);
  },
);
