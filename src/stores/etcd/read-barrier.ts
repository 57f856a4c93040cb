/**
 * The read barrier: before a read is answered, this process has all that was committed anywhere
 * before the read began.
 *
 * One catching up serves everybody who waited before its request was handed to the socket. Those
 * who come later share the next one, since the answer may be from before they came.
 */

import { Histogram } from '../../base/histogram.ts';
import { StoreUnavailableError } from '../../model/pet-store.ts';
import type { CatchUp, CaughtUp } from './catch-up.ts';
import { retried, type EtcdClock } from './etcd-clock.ts';
import { LogLostError } from './log-lost-error.ts';

/** A read that waits for longer is refused. */
export const READ_MS = 5_000;

const SECONDS_BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

interface Waiter {
  readonly since: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class ReadBarrier {
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);
  readonly #catchUp: CatchUp;
  readonly #clock: EtcdClock;
  readonly #onLost: (error: LogLostError) => void;
  #waiting: Waiter[] = [];
  /** Those whom the request under way serves. */
  #served: readonly Waiter[] = [];
  #isRunning = false;
  #ended: string | undefined;
  #failure: { readonly since: number; readonly cause: string } | undefined;

  constructor(catchUp: CatchUp, clock: EtcdClock, onLost: (error: LogLostError) => void) {
    this.#catchUp = catchUp;
    this.#clock = clock;
    this.#onLost = onLost;
  }

  /** True while nobody waits. */
  get isIdle(): boolean {
    return !this.#isRunning;
  }

  /** Why catching up has failed for so long that reads are refused; undefined while it works. */
  get problem(): string | undefined {
    const failure = this.#failure;
    if (failure === undefined || this.#clock.now() - failure.since < READ_MS) return undefined;
    return unreachable(failure.cause);
  }

  /** Rejects with StoreUnavailableError after five seconds. */
  wait(): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(new StoreUnavailableError(this.#ended));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ since: this.#clock.now(), resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Refuses those who have waited for too long; to be called now and then. */
  expire(): void {
    const limit = this.#clock.now() - READ_MS;
    const late = [...this.#served, ...this.#waiting].filter(({ since }) => since <= limit);
    if (late.length === 0) return;
    const error = new StoreUnavailableError(unreachable(this.#failure?.cause ?? 'no answer yet'));
    for (const { reject } of late) reject(error);
    const isInTime = ({ since }: Waiter): boolean => since > limit;
    this.#waiting = this.#waiting.filter(isInTime);
    this.#served = this.#served.filter(isInTime);
  }

  /** Refuses everybody from now on. */
  end(reason: string): void {
    this.#ended ??= reason;
    const error = new StoreUnavailableError(this.#ended);
    for (const { reject } of [...this.#served, ...this.#waiting]) reject(error);
    this.#waiting = [];
    this.#served = [];
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) await retried(this.#clock, () => this.#serve());
    this.#isRunning = false;
  }

  /** Catches up once for all that wait; undefined if that is to be tried again. */
  async #serve(): Promise<true | undefined> {
    // All of them may have been refused meanwhile.
    if (this.#waiting.length === 0) return true;
    this.#served = this.#waiting;
    this.#waiting = [];
    const outcome = await this.#catchUpOnce();
    const served = this.#served;
    this.#served = [];
    if (outcome.kind !== 'caught up') {
      this.#failure = { since: this.#failure?.since ?? this.#clock.now(), cause: outcome.cause };
      this.#waiting = [...served, ...this.#waiting];
      return undefined;
    }
    this.#failure = undefined;
    for (const { resolve } of served) resolve();
    // Callers who were just answered, and ask again at once, are to share one barrier.
    if (served.length > 1) await this.#clock.yieldToEventLoop();
    return true;
  }

  async #catchUpOnce(): Promise<CaughtUp> {
    const startedAt = this.#clock.now();
    try {
      const outcome = await this.#catchUp.run('read');
      if (outcome.kind === 'caught up') {
        this.seconds.observe((this.#clock.now() - startedAt) / 1000);
      } else if ('isOtherCluster' in outcome) {
        this.#onLost(otherCluster(outcome.cause));
      }
      return outcome;
    } catch (error) {
      const lost = error instanceof LogLostError ? error : applyFailed(error);
      this.#onLost(lost);
      return { kind: 'refused', cause: lost.message };
    }
  }
}

function otherCluster(cause: string): LogLostError {
  return new LogLostError(
    'Most endpoints have answered for another etcd cluster for ten seconds: a back-up was restored, ' +
      `or the cluster was made anew (${cause}). Start the service again to work with that cluster`,
  );
}

/** Memory that ran out, say: what was applied so far may be half of a commit. */
export function applyFailed(error: unknown): LogLostError {
  const cause = error instanceof Error ? error.message : String(error);
  return new LogLostError(`A commit could not be applied: ${cause}`);
}

function unreachable(cause: string): string {
  return `The etcd cluster gives no answer: ${cause}`;
}
