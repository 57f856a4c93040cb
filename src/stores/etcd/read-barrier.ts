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
 * The rule: a read waits for at most five seconds. Then it is refused, and the barrier has failed
 * until a catch-up ends. That needs no failed call: other processes may write faster than this link
 * carries.
 */

import { Histogram } from '../../base/histogram.ts';
import { messageOf, type Logger } from '../../base/logger.ts';
import { StoreUnavailableError } from '../../model/pet-store.ts';
import type { AppliedLog } from './applied-log.ts';
import { retried, type FailedCall, type StartDeps } from './calls.ts';
import { LogLostError } from './slots.ts';

/** A read that waits longer is refused. */
const READ_MS = 5_000;

const OTHER_CLUSTER =
  'Most endpoints have answered for another etcd cluster for ten seconds: a backup was restored, ' +
  'or the cluster was recreated. Restart the service to use that cluster. The last call: ';

const UNUSABLE = 'The etcd cluster cannot be used: ';

const SLOW =
  'catching up takes more than 5 seconds: other processes write faster than this one reads, or a ' +
  'member responds slowly';

const SECONDS_BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/** Why a create is refused that has lost its slot, again and again, to other processes. */
export const LOST_EACH_SLOT = 'other processes took each slot for 5 seconds';

interface Waiter {
  /** When its call began, and when it began to wait here. */
  readonly since: number;
  readonly waitsSince: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export interface BarrierDeps extends StartDeps {
  readonly log: AppliedLog;
  readonly logger: Logger;
}

export class ReadBarrier {
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);
  /** Resolves when this process cannot continue with the log. */
  readonly lost: Promise<LogLostError>;
  readonly #deps: BarrierDeps;
  #resolveLost: (error: LogLostError) => void = () => undefined;
  readonly #waiting: Set<Waiter> = new Set();
  #isRunning = false;
  #ended: string | undefined;
  #failure: { readonly since: number; readonly cause: string } | undefined;

  constructor(deps: BarrierDeps) {
    this.#deps = deps;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
  }

  /** Why reads and creates are refused at present. */
  get refusal(): string | undefined {
    return this.#ended ?? this.problem;
  }

  /** The cause of an outage; undefined unless catching up has failed for five seconds. */
  get problem(): string | undefined {
    const { since = Infinity, cause } = this.#failure ?? {};
    return this.#deps.clock.now() - since < READ_MS ? undefined : cause;
  }

  /**
   * Resolves after a catch-up. Rejects with StoreUnavailableError five seconds after `since`, by
   * the clock; the default is now.
   */
  wait(since: number = this.#deps.clock.now()): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(new StoreUnavailableError(this.#ended));
    const waitsSince = this.#deps.clock.now();
    return new Promise((resolve, reject) => {
      this.#waiting.add({ since, waitsSince, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Refuses what has waited for too long. The caller repeats this regularly. */
  expire(): void {
    const latest = this.#deps.clock.now() - READ_MS;
    // A create may have spent its time on conflicts: then no catch-up has failed.
    const late = [...this.#waiting].find(({ waitsSince }) => waitsSince <= latest);
    if (late !== undefined) {
      const { cause = UNUSABLE + SLOW } = this.#failure ?? {};
      this.#failure = { since: late.waitsSince, cause };
    }
    this.#refuse(this.#failure?.cause ?? LOST_EACH_SLOT, latest);
  }

  /** Refuses all reads from now on. */
  end(reason: string): void {
    this.#ended ??= reason;
    this.#refuse(this.#ended, Infinity);
  }

  /** Stops using the log permanently. Returns the message of the error. */
  lose(error: unknown): string {
    // If memory runs out, for example, half of a commit may have been applied.
    const isKnown = error instanceof LogLostError;
    const cause = isKnown ? error.message : `A commit could not be applied: ${messageOf(error)}`;
    if (this.#ended !== undefined) return cause;
    const { layout, nextSlot: slot } = this.#deps.log;
    const details = { cause, prefix: layout.prefix, slot };
    this.#deps.logger('error', 'This process cannot continue with the log in etcd', details);
    this.end(cause);
    this.#resolveLost(new LogLostError(cause));
    return cause;
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
    while (this.#waiting.size > 0) await retried(this.#deps.clock, () => this.#serve());
    this.#isRunning = false;
  }

  /** Catches up once, for all reads that wait. Resolves with undefined if that must be retried. */
  async #serve(): Promise<true | undefined> {
    const served = [...this.#waiting];
    // All of them may have been refused during a pause.
    if (served.length === 0) return true;
    const startedAt = this.#deps.clock.now();
    const failed = await this.#deps.log.catchUp('read').catch((error: unknown): FailedCall => ({
      kind: 'refused',
      cause: this.lose(error),
    }));
    const now = this.#deps.clock.now();
    if (failed !== undefined) {
      if (failed.isOtherCluster) this.lose(new LogLostError(OTHER_CLUSTER + failed.cause));
      this.#failure = { since: this.#failure?.since ?? now, cause: UNUSABLE + failed.cause };
      return undefined;
    }
    this.seconds.observe((now - startedAt) / 1000);
    this.#failure = undefined;
    for (const waiter of served) {
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
    // Callers that were just served, and read again immediately, are to share one catch-up.
    if (served.length > 1) await this.#deps.clock.yieldToEventLoop();
    return true;
  }
}
