/**
 * The read barrier makes reads linearizable: before this process serves a read, it applies every
 * commit that any process made before the read began.
 *
 * For example, the process A gets a list request while another process B acknowledges the pet 7. If
 * A read its memory at once, it might lack a pet that its client has seen at B. So A first asks
 * etcd for all commits that it has not applied, and then reads its memory.
 *
 *     read 1 ──▶ waits ─┐                         ┌─▶ served
 *     read 2 ──▶ waits ─┴▶ [ catching up, once ] ─┴─▶ served
 *     read 3 ────────────────▶ waits ─────────────────▶ [ catching up ] ─▶ served
 *
 * One catch-up serves all reads that waited before its request was sent (1 and 2). Later reads (3)
 * share the next one, since the response of the first may be older than they are.
 *
 * The barrier tries until a catch-up ends. How long a read waits is up to the store.
 */

import { Histogram } from '../../core/base/measurement.ts';
import { retried, type EtcdClock } from './calls.ts';

const SECONDS_BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

interface Waiter {
  readonly since: number;
  readonly end: (isCaughtUp: boolean) => void;
}

export class ReadBarrier {
  /** How long each catch-up took. */
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);
  readonly #clock: EtcdClock;
  readonly #catchUp: () => Promise<boolean>;
  readonly #waiting: Set<Waiter> = new Set();
  #isRunning = false;

  /** `catchUp` applies what was committed before the call. Resolves with false to be repeated. */
  constructor(clock: EtcdClock, catchUp: () => Promise<boolean>) {
    this.#clock = clock;
    this.#catchUp = catchUp;
  }

  /**
   * Resolves with true after a catch-up that begins after the call, or with false after `giveUp`.
   * `since` is when the wait began, by the clock: now by default.
   */
  wait(since: number = this.#clock.now()): Promise<boolean> {
    return new Promise((end) => {
      this.#waiting.add({ since, end });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Ends the waits that began at `latest` or before. */
  giveUp(latest: number): void {
    for (const waiter of this.#waiting) if (waiter.since <= latest) this.#end(waiter, false);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) await retried(this.#clock, () => this.#serve());
    this.#isRunning = false;
  }

  /** Catches up once, for all reads that wait. Resolves with undefined if that must be retried. */
  async #serve(): Promise<true | undefined> {
    // Callers that were just served, and read again immediately, are to share one catch-up.
    await this.#clock.yieldToEventLoop();
    const served = [...this.#waiting];
    const startedAt = this.#clock.now();
    if (!(await this.#catchUp())) return undefined;
    this.seconds.observe((this.#clock.now() - startedAt) / 1000);
    for (const waiter of served) this.#end(waiter, true);
    return true;
  }

  #end(waiter: Waiter, isCaughtUp: boolean): void {
    this.#waiting.delete(waiter);
    waiter.end(isCaughtUp);
  }
}
