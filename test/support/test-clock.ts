/** A clock and timers for a store, moved by the test. */

import type { Clock } from '../../src/core/base/system.ts';

interface Timer {
  readonly ms: number;
  dueAt: number;
  readonly callback: () => void | Promise<void>;
}

export class TestClock {
  /** Milliseconds of the monotonic clock. */
  ms = 0;
  /** The time of day at 0 of the monotonic clock, in milliseconds since 1970. */
  offsetMs: number = Date.UTC(2026, 10, 21);
  /** How many timers were set so far. */
  timersSet = 0;
  readonly #timers: Set<Timer> = new Set();

  /** The options with which a store is opened. */
  readonly options: Clock = {
    now: () => this.ms,
    timeOfDay: () => this.offsetMs + this.ms,
    sleep: async (ms) => void (this.ms += ms),
    every: (ms, callback) => {
      const timer = { ms, dueAt: this.ms + ms, callback };
      this.#timers.add(timer);
      this.timersSet += 1;
      return () => void this.#timers.delete(timer);
    },
  };

  /** How many timers run. */
  get timers(): number {
    return this.#timers.size;
  }

  /** The clock of a new process: the timers of the process before it are gone. */
  startProcess(): Clock {
    this.#timers.clear();
    return this.options;
  }

  /** Lets time pass, and waits until the store has done what is due, once. */
  async pass(ms: number): Promise<void> {
    this.ms += ms;
    for (const timer of [...this.#timers]) {
      if (timer.dueAt > this.ms || !this.#timers.has(timer)) continue;
      timer.dueAt = this.ms + timer.ms;
      await timer.callback();
    }
  }
}
