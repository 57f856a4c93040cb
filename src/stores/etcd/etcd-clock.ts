/** Time as the etcd store takes it from outside, so that a test can have its own. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyClock } from '../idempotency/key-table.ts';

export interface EtcdClock extends KeyClock {
  sleep(ms: number): Promise<void>;
  /** Lets everything come first that is ready to go on now. */
  yieldToEventLoop(): Promise<void>;
  /**
   * Calls back every so many milliseconds, and returns what ends that. It keeps no process alive.
   */
  every(ms: number, callback: () => void): () => void;
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
};

/**
 * Repeats an attempt until it returns a value. The second attempt follows the first immediately,
 * and each later one after a pause that doubles, up to half a second. An attempt throws to give up.
 */
export async function retried<T>(
  clock: EtcdClock,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
    await clock.sleep(pauseMs(failures));
  }
}

function pauseMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(500, 25 * 2 ** (failures - 2));
}
