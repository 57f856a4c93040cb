/**
 * A random test in the manner of Jepsen: three stores on three real members, with clients that
 * create, retry through another store and read, while members are killed and stopped, stores are
 * cut off and replaced, and links between them fail. All responses must be those of one log: the
 * model of test/simulation/model.ts judges them. simulation.test.ts shows what the model finds.
 *
 * ETCD_SECONDS chooses a longer time. The seed that a failure names repeats the faults, but not the
 * timing.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { etcdClock } from '../../../src/extras/etcd/calls.ts';
import type { ClusterOptions } from '../../../src/extras/etcd/etcd-options.ts';
import type { EtcdStore } from '../../../src/extras/etcd/etcd-store.ts';
import { needsEtcd, startCluster, type Cluster } from '../../support/etcd/cluster.ts';
import { startLinks, type Link } from '../../support/etcd/link.ts';
import { init, openStore } from '../../support/etcd/opened-store.ts';
import { Processes, type LogProcess } from '../../support/etcd/processes.ts';
import { CASE, caseOf, rounds } from '../../support/extent.ts';
import { createRandom, type Random } from '../../support/random.ts';

const SEED: number = Number(CASE ?? Math.floor(Math.random() * 1e9));
const SECONDS: number = Number(process.env['ETCD_SECONDS'] ?? rounds(6, 60));

const CLIENTS = 12;
const READERS = 6;

/** A process with its own links to the members. */
interface LinkedProcess extends LogProcess {
  readonly links: readonly Link[];
}

interface World {
  readonly cluster: Cluster;
  readonly processes: Processes<LinkedProcess>;
}

/** Begins a fault. Resolves with the function that ends it. */
type Fault = (world: World, random: Random) => Promise<() => void>;

/** How many times as fast time passes for a store, so that its deadlines of seconds pass sooner. */
const FACTOR = 3;

/**
 * Opens a store whose time passes fast as soon as it is open: a start takes as long as it needs.
 * The timers are real, also those of a request.
 */
async function openFast(t: TestContext, options: ClusterOptions): Promise<EtcdStore> {
  let openedAt = Infinity;
  const clock = {
    ...etcdClock,
    now: () => FACTOR * Math.max(0, performance.now() - openedAt),
    sleep: (ms: number) => etcdClock.sleep(ms / FACTOR),
  };
  const store = await openStore(t, { ...options, clock });
  openedAt = performance.now();
  return store;
}

/** The longest pause between two faults, and the longest time that a fault takes. */
const PAUSE_MS = 400;
const FAULT_MS = 1_500;

function disturb(links: readonly Link[], random: Random): () => void {
  const state = random.pick(['hanging', 'deaf', 'cut'] as const);
  for (const link of links) link.set(state);
  return () => links.forEach((link) => link.set('open'));
}

const linksOf = ({ processes }: World, random: Random): readonly Link[] =>
  random.pick(processes.all).links;

const FAULTS: Readonly<Record<string, Fault>> = {
  'a link fails': async (world, random) => disturb([random.pick(linksOf(world, random))], random),
  'a process is cut off': async (world, random) => disturb(linksOf(world, random), random),
  async 'a process is slow'(world, random) {
    const links = linksOf(world, random);
    for (const link of links) link.delayMs = random.below(200);
    return () => links.forEach((link) => (link.delayMs = 0));
  },
  async 'a process is killed'({ processes }, random) {
    await processes.replace(random.pick(processes.all));
    return () => undefined;
  },
  async 'a member is stopped'({ cluster }, random) {
    const member = random.pick(cluster.members);
    member.signal('SIGSTOP');
    return () => member.signal('SIGCONT');
  },
  // In a third of the cases it is the leader.
  async 'a member is killed'({ cluster }, random) {
    const member = random.pick(cluster.members);
    await member.kill();
    return () => member.restart();
  },
};

/**
 * Causes one fault after the other until `isOver`; each kind once before any of them comes again.
 * Resolves with their names.
 */
async function bringFaults(
  world: World,
  random: Random,
  isOver: () => boolean,
): Promise<readonly string[]> {
  const brought: string[] = [];
  let names: readonly string[] = [];
  while (!isOver()) {
    if (names.length === 0) names = Object.keys(FAULTS);
    const name = random.pick(names);
    names = names.filter((other) => other !== name);
    brought.push(name);
    const end = await FAULTS[name]?.(world, random);
    await sleep(random.below(FAULT_MS));
    end?.();
    await sleep(random.below(PAUSE_MS));
  }
  return brought;
}

test('All responses during faults are those of one log', needsEtcd, async (t) => {
  t.diagnostic(caseOf(SEED));
  const lots = createRandom(SEED);
  const cluster = await startCluster(t);
  const { endpoints } = cluster;
  await init({ endpoints });
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
  const processes = new Processes({ count: 3, open, pass });
  const { callers } = processes;
  await callers.start();
  const endsAt = performance.now() + SECONDS * 1000;
  // A busy machine takes longer for as many pets.
  const isOver = (): boolean => {
    const isEnough = performance.now() >= endsAt && callers.model.petCount > SECONDS;
    return isEnough || callers.complaints.length > 0;
  };
  const faults = bringFaults({ cluster, processes }, createRandom(SEED), isOver);
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver()) await Promise.all([callers.create(3, 3, 3), callers.createOnce(3, 3, 3)]);
  });
  const readers = Array.from({ length: READERS }, async () => {
    for (; !isOver(); await nextTurn()) await callers.read(lots.pick(processes.stores));
  });
  const brought = await faults;
  await cluster.ready();
  await Promise.all([...clients, ...readers]);
  await callers.retry();
  // This create takes the slot of any create in doubt.
  await callers.create(3);
  assert.deepEqual(await processes.finish(), []);
  t.diagnostic(`${callers.model.petCount} pets; ${brought.join(', ')}`);
});
