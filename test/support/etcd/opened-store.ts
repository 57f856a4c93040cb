/** Etcd stores for tests: on a log that is made first, on a simulated etcd, with a fast clock. */

import { systemClock, type EtcdClock } from '../../../src/stores/etcd/etcd-clock.ts';
import {
  openEtcdStore,
  type EtcdStore,
  type EtcdStoreOptions,
} from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import type { SimulatedEtcd } from './simulated-etcd.ts';
import { VirtualClock } from './virtual-clock.ts';

interface Context {
  after(hook: () => Promise<void>): void;
}

/** Opens the store; it closes with the test. */
export async function openStore(t: Context, options: EtcdStoreOptions): Promise<EtcdStore> {
  const store = await openEtcdStore(options);
  t.after(() => store.close());
  return store;
}

/** As `openStore`, and makes the log as the command `init-etcd` does. */
export async function openInitialized(t: Context, options: EtcdStoreOptions): Promise<EtcdStore> {
  await initEtcd(options);
  return openStore(t, options);
}

/** Options for a store on a simulated etcd, with a clock of its own if none is given. */
export function simulated(
  etcd: SimulatedEtcd,
  more: Partial<EtcdStoreOptions> = {},
): EtcdStoreOptions {
  const endpoints = ['http://127.0.0.1:2379'];
  return { endpoints, calls: etcd.calls(), clock: new VirtualClock(), ...more };
}

const FACTOR = 5;

/**
 * A clock for stores on real members on which time passes five times as fast: deadlines of seconds
 * pass sooner. The timeouts of single HTTP requests do not use it.
 */
export const fastClock: EtcdClock = {
  ...systemClock,
  now: () => performance.now() * FACTOR,
  sleep: (ms) => systemClock.sleep(ms / FACTOR),
  every: (ms, callback) => systemClock.every(ms / FACTOR, callback),
};

/**
 * As `openStore`, with a clock whose time passes fast as soon as the store is open: on a busy
 * machine a start needs more than two seconds.
 */
export async function openFast(t: Context, options: EtcdStoreOptions): Promise<EtcdStore> {
  let openedAt = Infinity;
  const now = (): number => {
    const ms = performance.now();
    return ms + Math.max(0, ms - openedAt) * (FACTOR - 1);
  };
  const store = await openStore(t, { ...options, clock: { ...fastClock, now } });
  openedAt = performance.now();
  return store;
}
