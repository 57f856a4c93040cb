/** The clock and the timers of the durable stores, which tests replace. */

import { setTimeout as sleep } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Milliseconds since 1970. */
  timeOfDay(): number;
  sleep(ms: number): Promise<void>;
  /** Calls back at this interval until the returned function is called. Keeps no process alive. */
  every(ms: number, callback: () => void | Promise<void>): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  timeOfDay: Date.now,
  sleep: (ms) => sleep(ms),
  every(ms, callback) {
    const timer = setInterval(callback, ms).unref();
    return () => clearInterval(timer);
  },
};
