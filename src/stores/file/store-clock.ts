/** The clock and the timers of the file store, which tests replace. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyClock } from '../idempotency/key-table.ts';

export interface StoreClock extends KeyClock {
  sleep(ms: number): Promise<void>;
  /**
   * Calls back every `ms` milliseconds. Returns a function that ends it. Keeps no process alive.
   */
  every(ms: number, callback: () => void | Promise<void>): () => void;
}

export const systemClock: StoreClock = {
  now: () => performance.now(),
  timeOfDay: Date.now,
  sleep: (ms) => sleep(ms),
  every(ms, callback) {
    const timer = setInterval(callback, ms).unref();
    return () => clearInterval(timer);
  },
};
