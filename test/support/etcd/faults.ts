/** Faults at random: of members, of processes, and of the links between them. Each one ends. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { Cluster } from './cluster.ts';
import type { Link } from './link.ts';
import type { StoreProcess } from './store-process.ts';

export interface World {
  readonly cluster: Cluster;
  readonly processes: readonly StoreProcess[];
  /** Of each process, one to each member. */
  readonly links: readonly (readonly Link[])[];
}

type Fault = (world: World, random: Random) => Promise<void>;

/** The pause between two faults, and how long each of them lasts, at most. */
const PAUSE_MS = 400;
const FAULT_MS = 1_500;

const someTime = (random: Random): Promise<void> => sleep(random.below(FAULT_MS));

const FAULTS: Readonly<Record<string, Fault>> = {
  async 'a link fails'({ links }, random) {
    const link = random.pick(random.pick(links));
    link.set(random.pick(['hanging', 'deaf', 'cut']));
    await someTime(random);
    link.set('open');
  },
  async 'a link is slow'({ links }, random) {
    const link = random.pick(random.pick(links));
    link.delayMs = random.below(200);
    await someTime(random);
    link.delayMs = 0;
  },
  async 'a process is parted'({ links }, random) {
    const ofOne = random.pick(links);
    const state = random.pick(['hanging', 'deaf', 'cut'] as const);
    for (const link of ofOne) link.set(state);
    await someTime(random);
    for (const link of ofOne) link.set('open');
  },
  async 'a process is stopped'({ processes }, random) {
    const process = random.pick(processes);
    process.signal('SIGSTOP');
    await someTime(random);
    process.signal('SIGCONT');
  },
  async 'a process is killed'({ processes }, random) {
    random.pick(processes).signal('SIGKILL');
    await someTime(random);
  },
  async 'a member is stopped'({ cluster }, random) {
    const member = random.pick(cluster.members);
    member.signal('SIGSTOP');
    await someTime(random);
    member.signal('SIGCONT');
  },
  async 'a member is killed'({ cluster }, random) {
    const member = random.pick(cluster.members);
    await member.kill();
    await someTime(random);
    member.restart();
  },
  async 'the leader is killed'({ cluster }, random) {
    const leader = await cluster.leader();
    await leader.kill();
    await someTime(random);
    leader.restart();
  },
};

/**
 * Brings one fault after the other about, until it is over; returns how many of each there were.
 */
export async function bringFaults(
  world: World,
  random: Random,
  isOver: () => boolean,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  while (!isOver()) {
    const name = random.pick(Object.keys(FAULTS));
    counts[name] = (counts[name] ?? 0) + 1;
    await FAULTS[name]?.(world, random);
    await sleep(random.below(PAUSE_MS));
  }
  return counts;
}
