/** A clock and timers for a file store, which a test moves. */

import type { StoreClock } from '../../src/stores/file/store-clock.ts';

export class TestClock {
  /** Milliseconds of the monotonic clock. */
  ms = 0;
  /** How far the time of day is from that, since 1970. */
  offsetMs: number = Date.UTC(2026, 10, 21);
  readonly #tickers: Set<() => void | Promise<void>> = new Set();

  /** What a store is opened with. */
  readonly options: StoreClock = {
    now: () => this.ms,
    timeOfDay: () => this.offsetMs + this.ms,
    sleep: async (ms) => void (this.ms += ms),
    every: (_ms, callback) => {
      this.#tickers.add(callback);
      return () => void this.#tickers.delete(callback);
    },
  };

  /** Lets time pass, until the store has done what is due then. */
  async pass(ms: number): Promise<void> {
    this.ms += ms;
    for (const tick of [...this.#tickers]) await tick();
  }
}
