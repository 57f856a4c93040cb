/** Time as the file store takes it from outside, so that a test can have its own. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyClock } from '../idempotency/key-table.ts';

export interface StoreClock extends KeyClock {
  sleep(ms: number): Promise<void>;
  /**
   * Calls back every so many milliseconds, and returns what ends that. It keeps no process alive.
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
