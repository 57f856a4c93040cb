/** The clock, the timers and the random numbers of the etcd store. Tests replace them. */

import { systemClock, type Clock } from '../../base/clock.ts';

export interface EtcdClock extends Clock {
  /** Resolves after everything that is ready to run now. */
  yieldToEventLoop(): Promise<void>;
  /** Returns a number from 0 up to 1. */
  random(): number;
}

export const etcdClock: EtcdClock = {
  ...systemClock,
  yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
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
