/**
 * A clock for stores on real members on which time passes five times as fast: deadlines of seconds
 * pass sooner. The timeouts of single HTTP requests do not use it.
 */

import { systemClock, type EtcdClock } from '../../../src/stores/etcd/etcd-clock.ts';

const FACTOR = 5;

/** For what must fail. On a busy machine a start needs more than two seconds: see `openFast`. */
export const fastClock: EtcdClock = {
  ...systemClock,
  now: () => performance.now() * FACTOR,
  sleep: (ms) => systemClock.sleep(ms / FACTOR),
  every: (ms, callback) => systemClock.every(ms / FACTOR, callback),
};

/** Opens a store with a clock whose time passes fast as soon as the store is open. */
export async function openFast<Store>(open: (clock: EtcdClock) => Promise<Store>): Promise<Store> {
  let openedAt = Infinity;
  const now = (): number => {
    const ms = performance.now();
    return ms + Math.max(0, ms - openedAt) * (FACTOR - 1);
  };
  const store = await open({ ...fastClock, now });
  openedAt = performance.now();
  return store;
}
