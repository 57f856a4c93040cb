/** Random faults of members, of processes, and of the links between them. Each one ends. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { Cluster, EtcdMember } from './cluster.ts';
import type { Link } from './link.ts';
import type { ServiceProcess } from './service-process.ts';

export interface World {
  readonly cluster: Cluster;
  readonly processes: readonly ServiceProcess[];
  /** For each process, its links to the members. */
  readonly links: readonly (readonly Link[])[];
}

type Fault = (world: World, random: Random) => Promise<void>;

/** The longest pause between two faults, and the longest time that a fault takes. */
const PAUSE_MS = 400;
const FAULT_MS = 1_500;

const someTime = (random: Random): Promise<void> => sleep(random.below(FAULT_MS));

async function stop(
  stopped: { signal(signal: NodeJS.Signals): void },
  random: Random,
): Promise<void> {
  stopped.signal('SIGSTOP');
  await someTime(random);
  stopped.signal('SIGCONT');
}

async function kill(member: EtcdMember, random: Random): Promise<void> {
  await member.kill();
  await someTime(random);
  member.restart();
}

async function disturb(links: readonly Link[], random: Random): Promise<void> {
  const state = random.pick(['hanging', 'deaf', 'cut'] as const);
  for (const link of links) link.set(state);
  await someTime(random);
  for (const link of links) link.set('open');
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'a link fails': ({ links }, random) => disturb([random.pick(random.pick(links))], random),
  'a process is cut off': ({ links }, random) => disturb(random.pick(links), random),
  async 'a link is slow'({ links }, random) {
    const link = random.pick(random.pick(links));
    link.delayMs = random.below(200);
    await someTime(random);
    link.delayMs = 0;
  },
  'a process is stopped': ({ processes }, random) => stop(random.pick(processes), random),
  async 'a process is killed'({ processes }, random) {
    random.pick(processes).signal('SIGKILL');
    await someTime(random);
  },
  'a member is stopped': ({ cluster }, random) => stop(random.pick(cluster.members), random),
  'a member is killed': ({ cluster }, random) => kill(random.pick(cluster.members), random),
  'the leader is killed': async ({ cluster }, random) => kill(await cluster.leader(), random),
};

/**
 * Causes one fault after the other until `isOver`; each kind once before any of them comes again.
 * Resolves with the number of faults of each kind.
 */
export async function bringFaults(
  world: World,
  random: Random,
  isOver: () => boolean,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  let names: readonly string[] = [];
  while (!isOver()) {
    if (names.length === 0) names = Object.keys(FAULTS);
    const name = random.pick(names);
    names = names.filter((other) => other !== name);
    counts[name] = (counts[name] ?? 0) + 1;
    await FAULTS[name]?.(world, random);
    await sleep(random.below(PAUSE_MS));
  }
  return counts;
}
