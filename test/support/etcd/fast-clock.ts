/**
 * A clock for stores on real members on which time passes five times as fast: deadlines of seconds
 * pass sooner. The timeouts of single HTTP requests do not use it.
 */

import { systemClock, type EtcdClock } from '../../../src/stores/etcd/etcd-clock.ts';

const FACTOR = 5;

export const fastClock: EtcdClock = {
  ...systemClock,
  now: () => performance.now() * FACTOR,
  sleep: (ms) => systemClock.sleep(ms / FACTOR),
  every: (ms, callback) => systemClock.every(ms / FACTOR, callback),
};
