/**
 * A clock of a test's own: time passes only when nobody has anything to do before the next moment
 * that somebody waits for. So fifteen seconds take none, and every run has the same order.
 */

import type { EtcdClock } from '../../../src/stores/etcd/etcd-clock.ts';

interface Alarm {
  readonly at: number;
  readonly callback: () => void;
}

export class VirtualClock implements EtcdClock {
  #now = 0;
  #alarms: Alarm[] = [];
  #isRunning = false;
  random: () => number = () => 0.5;

  now(): number {
    return this.#now;
  }

  timeOfDay(): number {
    return 1_800_000_000_000 + Math.floor(this.#now);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#wake(ms, resolve));
  }

  yieldToEventLoop(): Promise<void> {
    return Promise.resolve();
  }

  every(ms: number, callback: () => void): () => void {
    let isOn = true;
    const next = (): void =>
      this.#wake(ms, () => {
        if (!isOn) return;
        callback();
        next();
      });
    next();
    return () => (isOn = false);
  }

  #wake(ms: number, callback: () => void): void {
    this.#alarms.push({ at: this.#now + ms, callback });
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      // All that follows from the last alarm comes first.
      await new Promise((resolve) => setImmediate(resolve));
      // The earliest, and of those at the same moment the first that was set.
      const next = this.#alarms.reduce<Alarm | undefined>(
        (first, alarm) => (first === undefined || alarm.at < first.at ? alarm : first),
        undefined,
      );
      if (next === undefined) break;
      this.#alarms = this.#alarms.filter((alarm) => alarm !== next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#isRunning = false;
  }
}
