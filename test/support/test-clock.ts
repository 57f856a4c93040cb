/** A clock and timers for a file store, moved by the test. */

import type { Clock } from '../../src/base/system.ts';

export class TestClock {
  /** Milliseconds of the monotonic clock. */
  ms = 0;
  /** The time of day at 0 of the monotonic clock, in milliseconds since 1970. */
  offsetMs: number = Date.UTC(2026, 10, 21);
  readonly #tickers: Set<() => void | Promise<void>> = new Set();

  /** The options with which a store is opened. */
  readonly options: Clock = {
    now: () => this.ms,
    timeOfDay: () => this.offsetMs + this.ms,
    sleep: async (ms) => void (this.ms += ms),
    every: (_ms, callback) => {
      this.#tickers.add(callback);
      return () => void this.#tickers.delete(callback);
    },
  };

  /** The clock of a new process: the timers of the process before it are gone. */
  startProcess(): Clock {
    this.#tickers.clear();
    return this.options;
  }

  /** Lets time pass, and waits until the store has done what is due. */
  async pass(ms: number): Promise<void> {
    this.ms += ms;
    for (const tick of [...this.#tickers]) await tick();
  }
}
