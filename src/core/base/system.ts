/**
 * What the stores ask of the system besides the disk: clock, timers and memory. They get the clock
 * as a dependency, so that tests can set the time. Of the memory, tests replace the functions, so
 * that each allocation can fail.
 */

import { userInfo } from 'node:os';
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

/** Allocates large buffers. If the system has no memory left, each function throws. */
export const systemMemory = {
  // Not initialized, and not from Node's pool: a long-lived slice would keep the whole pool.
  bytes: (length: number): Buffer => Buffer.allocUnsafeSlow(length),
  uint32s: (length: number): Uint32Array => new Uint32Array(length),
};

/** Returns the user of this process, for a message about rights. */
export function userName(): string {
  try {
    return `the user ${userInfo().username}`;
  } catch {
    // A container may run as a user id that has no name.
    return 'the user of this process';
  }
}
