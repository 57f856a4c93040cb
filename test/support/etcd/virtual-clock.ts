/**
 * A virtual clock: its time jumps to the next moment that something waits for, as soon as nothing
 * else can run. So fifteen seconds take no time, and each run has the same order.
 */

import type { EtcdClock } from '../../../src/extras/etcd/calls.ts';

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

export class VirtualClock implements EtcdClock {
  #now = 0;
  readonly #alarms: Alarm[] = [];
  #isRunning = false;
  random: () => number = () => 0.5;

  // As properties, so that a copy with another time runs on the same alarms.
  readonly now = (): number => this.#now;
  readonly timeOfDay = (): number => 1_800_000_000_000 + Math.floor(this.#now);
  readonly sleep = (ms: number): Promise<void> =>
    new Promise((ring) => {
      this.#alarms.push({ at: this.#now + ms, ring });
      if (!this.#isRunning) void this.#run();
    });
  readonly yieldToEventLoop = (): Promise<void> => Promise.resolve();
  readonly every = (ms: number, callback: () => void): (() => void) => {
    let isOn = true;
    const repeat = async (): Promise<void> => {
      for (;;) {
        await this.sleep(ms);
        if (!isOn) return;
        callback();
      }
    };
    void repeat();
    return () => (isOn = false);
  };

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      // Everything that follows from the last alarm runs first.
      await new Promise((resolve) => setImmediate(resolve));
      // The earliest alarm; of several at the same moment, the first that was set.
      const next = this.#alarms.sort((a, b) => a.at - b.at).shift();
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.at);
      next.ring();
    }
    this.#isRunning = false;
  }
}
