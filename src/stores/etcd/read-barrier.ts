/**
 * The read barrier makes reads linearizable: before this process serves a read, it applies every
 * commit that any process made before the read began.
 *
 * One catch-up serves all reads that waited before its request was sent. Later reads share the next
 * one, since the response of the first may be older than they are.
 */

import { Histogram } from '../../base/histogram.ts';
import { StoreUnavailableError } from '../../model/pet-store.ts';
import type { FailedCall } from './calls.ts';
import type { CatchUp } from './catch-up.ts';
import { retried, type EtcdClock } from './etcd-clock.ts';
import { LogLostError } from './log-lost-error.ts';

/** A read that waits longer is refused. */
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
  readonly #onLost: (error: unknown) => string;
  readonly #waiting: Set<Waiter> = new Set();
  #isRunning = false;
  #ended: string | undefined;
  #failure: { readonly since: number; readonly cause: string } | undefined;

  /** `onLost` is called with what catching up throws, and returns its message. */
  constructor(catchUp: CatchUp, clock: EtcdClock, onLost: (error: unknown) => string) {
    this.#catchUp = catchUp;
    this.#clock = clock;
    this.#onLost = onLost;
  }

  /** Why reads are refused; undefined unless catching up has failed for five seconds. */
  get problem(): string | undefined {
    const failure = this.#failure;
    if (failure === undefined || this.#clock.now() - failure.since < READ_MS) return undefined;
    return unusable(failure.cause);
  }

  /** Resolves after a catch-up. Rejects with StoreUnavailableError after five seconds. */
  wait(): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(new StoreUnavailableError(this.#ended));
    return new Promise((resolve, reject) => {
      this.#waiting.add({ since: this.#clock.now(), resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Refuses the reads that have waited for too long. The caller repeats this regularly. */
  expire(): void {
    const cause = this.#failure?.cause ?? 'no response yet';
    this.#refuse(unusable(cause), this.#clock.now() - READ_MS);
  }

  /** Refuses all reads from now on. */
  end(reason: string): void {
    this.#ended ??= reason;
    this.#refuse(this.#ended, Infinity);
  }

  /** Refuses the reads that have waited since `latest` or longer. */
  #refuse(message: string, latest: number): void {
    for (const waiter of this.#waiting) {
      if (waiter.since > latest) continue;
      this.#waiting.delete(waiter);
      waiter.reject(new StoreUnavailableError(message));
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) await retried(this.#clock, () => this.#serve());
    this.#isRunning = false;
  }

  /** Catches up once, for all reads that wait. Resolves with undefined if that must be retried. */
  async #serve(): Promise<true | undefined> {
    const served = [...this.#waiting];
    // All of them may have been refused during a pause.
    if (served.length === 0) return true;
    const startedAt = this.#clock.now();
    const failed = await this.#catchUp
      .run('read')
      .catch((error: unknown): FailedCall => ({ kind: 'refused', cause: this.#onLost(error) }));
    const now = this.#clock.now();
    if (failed !== undefined) {
      if (failed.isOtherCluster) this.#onLost(otherCluster(failed.cause));
      this.#failure = { since: this.#failure?.since ?? now, cause: failed.cause };
      return undefined;
    }
    this.seconds.observe((now - startedAt) / 1000);
    this.#failure = undefined;
    for (const waiter of served) {
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
    // Callers that were just served, and read again immediately, are to share one catch-up.
    if (served.length > 1) await this.#clock.yieldToEventLoop();
    return true;
  }
}

function otherCluster(cause: string): LogLostError {
  return new LogLostError(
    'Most endpoints have answered for another etcd cluster for ten seconds: a backup was ' +
      `restored, or the cluster was recreated (${cause}). Restart the service to use that cluster`,
  );
}

function unusable(cause: string): string {
  return `The etcd cluster cannot be used: ${cause}`;
}
