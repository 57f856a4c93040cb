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
import { pauseMs, type EtcdClock } from './etcd-clock.ts';
import { LostLogError } from './lost-log-error.ts';

/** A read that waits for longer is refused. */
export const READ_MS = 5_000;
/** So long the members may answer for another cluster, or from the past, before the log is lost. */
const FOREIGN_MS = 10_000;

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
  readonly #onLost: (error: LostLogError) => void;
  #waiting: Waiter[] = [];
  /** Those whom the request under way serves. */
  #served: readonly Waiter[] = [];
  #isRunning = false;
  #ended: string | undefined;
  #failure:
    | { readonly since: number; readonly foreignSince: number | undefined; cause: string }
    | undefined;

  constructor(catchUp: CatchUp, clock: EtcdClock, onLost: (error: LostLogError) => void) {
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
    let failures = 0;
    while (this.#waiting.length > 0) {
      this.#served = this.#waiting;
      this.#waiting = [];
      const outcome = await this.#catchUpOnce();
      if (outcome.kind === 'caught up') {
        failures = 0;
        this.#failure = undefined;
        const { length } = this.#served;
        for (const { resolve } of this.#served) resolve();
        this.#served = [];
        // Callers who were just answered, and ask again at once, are to share one barrier.
        if (length > 1) await this.#clock.turn();
      } else {
        failures += 1;
        this.#noteFailure(outcome.cause, outcome.isForeign);
        this.#waiting = [...this.#served, ...this.#waiting];
        this.#served = [];
        await this.#clock.sleep(pauseMs(failures));
      }
    }
    this.#isRunning = false;
  }

  async #catchUpOnce(): Promise<CaughtUp> {
    const startedAt = this.#clock.now();
    try {
      const outcome = await this.#catchUp.run('read');
      if (outcome.kind === 'caught up') {
        this.seconds.observe((this.#clock.now() - startedAt) / 1000);
      }
      return outcome;
    } catch (error) {
      const lost = error instanceof LostLogError ? error : failedHere(error);
      this.#onLost(lost);
      return { kind: 'failed', cause: lost.message, isForeign: false, isRefused: false };
    }
  }

  #noteFailure(cause: string, isForeign: boolean): void {
    const now = this.#clock.now();
    const foreignSince = isForeign ? (this.#failure?.foreignSince ?? now) : undefined;
    this.#failure = { since: this.#failure?.since ?? now, foreignSince, cause };
    if (foreignSince !== undefined && now - foreignSince >= FOREIGN_MS) {
      this.#onLost(new LostLogError(cause));
    }
  }
}

/** Memory that ran out, say: what was applied so far may be half of a commit. */
export function failedHere(error: unknown): LostLogError {
  const cause = error instanceof Error ? error.message : String(error);
  return new LostLogError(`A commit could not be applied: ${cause}`);
}

function unreachable(cause: string): string {
  return `The etcd cluster gives no answer: ${cause}`;
}
