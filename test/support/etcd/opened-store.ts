/** Etcd stores for tests: on a log that is made first, on a simulated etcd, with a fast clock. */

import type { TestContext } from 'node:test';
import { etcdClock, type CallCount, type EtcdClock } from '../../../src/stores/etcd/calls.ts';
import type { ClusterOptions } from '../../../src/stores/etcd/etcd-options.ts';
import { openEtcdStore, type EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/open-log.ts';
import { createCommit, encodeCommit } from '../../../src/stores/commit.ts';
import { decodeMeta, digestOf, encodeValue, Layout } from '../../../src/stores/etcd/slots.ts';
import { SimulatedEtcd, type FateOf } from './simulated-etcd.ts';
import { VirtualClock } from './virtual-clock.ts';

export const rex = { name: 'Rex', categoryId: 1n } as const;
/** The error of a call that certainly stored nothing. */
export const REFUSED = { name: 'StoreUnavailableError' } as const;

/** Opens the store; it closes with the test. */
export async function openStore(t: TestContext, options: ClusterOptions): Promise<EtcdStore> {
  const store = await openEtcdStore(options);
  t.after(() => store.close());
  return store;
}

/** As `openStore`, and makes the log as the command `init-etcd` does. */
export async function openInitialized(t: TestContext, options: ClusterOptions): Promise<EtcdStore> {
  await initEtcd(options);
  return openStore(t, options);
}

/** Options for a store on a simulated etcd, with a clock of its own if none is given. */
export function simulated(etcd: SimulatedEtcd, more: Partial<ClusterOptions> = {}): ClusterOptions {
  const endpoints = ['http://127.0.0.1:2379'];
  return { endpoints, calls: etcd.calls(), clock: new VirtualClock(), ...more };
}

/**
 * Opens a store on a simulated etcd, which other stores may use, too. `fateOf` decides how each of
 * its calls ends, and may be replaced.
 */
export async function openSimulated(
  t: TestContext,
  { etcd = new SimulatedEtcd(), clock = new VirtualClock() } = {},
) {
  const life = { etcd, clock, fateOf: (() => 'answered') as FateOf };
  const calls = etcd.calls((...call) => life.fateOf(...call));
  const store = await openInitialized(t, simulated(etcd, { calls, clock }));
  return Object.assign(life, { store });
}

/** Yields the slots and values of commits of one pet each, for a log with this meta. */
export function* commitsOfOne(prefix: string, meta: Buffer): Generator<readonly [string, Buffer]> {
  let previous = digestOf(decodeMeta('', meta).logId);
  for (let after = 0n; ; after += 1n) {
    const pet = { members: '"name":"Rex","categoryId":1', status: undefined };
    const value = encodeValue(previous, encodeCommit(createCommit(after, [pet], 0)));
    previous = digestOf(value);
    yield [new Layout(prefix).slot(after), value];
  }
}

/** Returns how many calls there were with these values. */
export function callsOf(store: EtcdStore, values: Partial<CallCount>): number {
  const names = Object.keys(values) as (keyof CallCount)[];
  return store
    .stats()
    .calls!.filter((call) => names.every((name) => call[name] === values[name]))
    .reduce((sum, { value }) => sum + value, 0);
}

/** How many times as fast time passes on a fast clock. */
export const FACTOR = 3;

/**
 * A clock for stores on real members on which time passes three times as fast: deadlines of seconds
 * pass sooner. The timeouts of single HTTP requests do not use it.
 */
export const fastClock: EtcdClock = {
  ...etcdClock,
  now: () => performance.now() * FACTOR,
  sleep: (ms) => etcdClock.sleep(ms / FACTOR),
  every: (ms, callback) => etcdClock.every(ms / FACTOR, callback),
};

/**
 * As `openStore`, with a clock whose time passes fast as soon as the store is open: on a busy
 * machine a start needs more than two seconds.
 */
export async function openFast(t: TestContext, options: ClusterOptions): Promise<EtcdStore> {
  let openedAt = Infinity;
  const now = (): number => {
    const ms = performance.now();
    return ms + Math.max(0, ms - openedAt) * (FACTOR - 1);
  };
  const store = await openStore(t, { ...options, clock: { ...fastClock, now } });
  openedAt = performance.now();
  return store;
}
