/** The clock, the timers and the random numbers of the etcd store. Tests replace them. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyClock } from '../idempotency/key-table.ts';

export interface EtcdClock extends KeyClock {
  sleep(ms: number): Promise<void>;
  /** Resolves after everything that is ready to run now. */
  yieldToEventLoop(): Promise<void>;
  /** Calls back at this interval until the returned function is called. Keeps no process alive. */
  every(ms: number, callback: () => void): () => void;
  /** Returns a number from 0 up to 1. */
  random(): number;
}

export const systemClock: EtcdClock = {
  now: () => performance.now(),
  timeOfDay: Date.now,
  sleep: (ms) => sleep(ms),
  yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
  every(ms, callback) {
    const timer = setInterval(callback, ms).unref();
    return () => clearInterval(timer);
  },
  random: Math.random,
};

/**
 * Repeats an attempt until it returns a value. The second attempt follows the first immediately,
 * and each later one after a pause that doubles, up to half a second. Rejects if an attempt throws.
 */
export async function retried<T>(
  clock: EtcdClock,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let pauseMs = 0; ; pauseMs = Math.min(500, Math.max(25, 2 * pauseMs))) {
    const result = await attempt();
    if (result !== undefined) return result;
    await clock.sleep(pauseMs);
  }
}
