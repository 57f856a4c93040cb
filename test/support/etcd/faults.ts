/** Random faults of members, of processes, and of the links between them. Each one ends. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { Cluster, EtcdMember } from './cluster.ts';
import type { Link } from './link.ts';
import type { LogProcess, Processes } from './processes.ts';

/** A process with its own links to the members. */
export interface LinkedProcess extends LogProcess {
  readonly links: readonly Link[];
}

export interface World {
  readonly cluster: Cluster;
  readonly processes: Processes<LinkedProcess>;
}

/** Begins a fault. Resolves with the function that ends it. */
type Fault = (world: World, random: Random) => Promise<() => void>;

/** The longest pause between two faults, and the longest time that a fault takes. */
const PAUSE_MS = 400;
const FAULT_MS = 1_500;

async function kill(member: EtcdMember): Promise<() => void> {
  await member.kill();
  return () => member.restart();
}

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
  'a member is killed': ({ cluster }, random) => kill(random.pick(cluster.members)),
  'the leader is killed': async ({ cluster }) => kill(await cluster.leader()),
};

/**
 * Causes one fault after the other until `isOver`; each kind once before any of them comes again.
 * Resolves with their names.
 */
export async function bringFaults(
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
