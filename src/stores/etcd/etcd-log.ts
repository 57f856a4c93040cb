/**
 * The etcd log: a CommitLog in the slots of a cluster, which several processes share.
 *
 * A commit is a transaction that takes the next slot (commit-writer.ts). A read first catches up
 * with the log (read-barrier.ts). This file connects the other parts of the folder, and decides
 * when the log is lost. The README of the folder has the drawing.
 */

import { messageOf } from '../../base/log.ts';
import type { StoredPet } from '../../model/pet.ts';
import { CLOSED, StoreUnavailableError, type StoreStats } from '../../model/pet-store.ts';
import type { CommitLimits, CommitLog, LogTarget } from '../commit-log.ts';
import type { PendingPet } from '../commits/commit.ts';
import type { Outcome } from '../commits/commit-queue.ts';
import type { KeyHash } from '../idempotency/key-table.ts';
import { CommitWriter, CREATE_MS, type SharedDeps } from './commit-writer.ts';
import { FailureReport } from './failure-report.ts';
import { LogLostError } from './log-lost-error.ts';
import { ReadBarrier } from './read-barrier.ts';
import { AROUND_PET_BYTES, FULL_COMMIT_BYTES, MAX_ETCD_PET_BYTES } from './slots.ts';

export interface EtcdLogDeps extends SharedDeps {
  readonly target: LogTarget;
}

/** The statistics that only a log in etcd has. */
export type EtcdStats = Required<Pick<StoreStats, 'calls' | 'conflicts' | 'barrierSeconds'>>;

const TICK_MS = 250;
/** How often an idle store catches up, for its counts and its readiness. */
const BEAT_MS = 1_000;

export class EtcdLog implements CommitLog {
  readonly limits: CommitLimits = {
    fullCommitBytes: FULL_COMMIT_BYTES,
    petBytes: MAX_ETCD_PET_BYTES,
    bytesAroundPet: AROUND_PET_BYTES,
  };
  readonly lost: Promise<LogLostError>;
  readonly #deps: EtcdLogDeps;
  readonly #barrier: ReadBarrier;
  readonly #writer: CommitWriter;
  readonly #outage: FailureReport;
  readonly #strayKey: FailureReport;
  readonly #timers: readonly (() => void)[];
  #resolveLost: (error: LogLostError) => void = () => undefined;
  #lostBecause: string | undefined;

  constructor(deps: EtcdLogDeps) {
    this.#deps = deps;
    const { catchUp, clock, tell } = deps;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    const onLost = (error: unknown): string => this.#lose(error);
    this.#barrier = new ReadBarrier(catchUp, clock, onLost);
    this.#writer = new CommitWriter({ ...deps, onLost, whyNot: () => this.#whyNot() });
    const report = (began: string, ended: string): FailureReport =>
      new FailureReport(tell, clock, began, ended);
    this.#outage = report('The etcd cluster is out of reach', 'The etcd cluster answers again');
    this.#strayKey = report(
      'A key is not part of the log',
      'All keys under the prefix are part of the log again',
    );
    this.#timers = [
      clock.every(TICK_MS, () => this.#tick()),
      clock.every(BEAT_MS, () => void this.#barrier.wait().catch(() => undefined)),
    ];
  }

  now(): number {
    return this.#deps.clock.now();
  }

  beforeCommit(): Promise<void> {
    return this.#writer.waitForFairness();
  }

  commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]> {
    return this.#writer.commit(creates);
  }

  caughtUp(): Promise<void> {
    return this.#barrier.wait();
  }

  refusal(): StoreUnavailableError | undefined {
    const cause = this.#whyNot();
    return cause === undefined ? undefined : new StoreUnavailableError(cause);
  }

  problem(): string | undefined {
    return this.#writer.failures.recent;
  }

  /** A key in doubt can only be in a slot that is open: a retry that wins or loses it decides. */
  doubtOf(key: KeyHash): string | undefined {
    return this.#writer.doubtOf(key);
  }

  stats(): EtcdStats {
    return {
      calls: this.#deps.calls.counts,
      conflicts: this.#writer.conflicts,
      barrierSeconds: this.#barrier.seconds,
    };
  }

  drain(): void {
    this.#writer.shortenDeadline();
  }

  async close(): Promise<void> {
    for (const stop of this.#timers) stop();
    this.#barrier.end(CLOSED);
    this.#deps.calls.close();
  }

  /** Returns why nothing can be stored at present. */
  #whyNot(): string | undefined {
    return this.#lostBecause ?? this.#barrier.problem;
  }

  #tick(): void {
    const { clock, target } = this.#deps;
    const { strayKey } = this.#deps.catchUp;
    this.#barrier.expire();
    const message = 'Pets cannot be stored: earlier creates are waiting for the etcd cluster';
    target.refuseWaiting(new StoreUnavailableError(message), clock.now() - CREATE_MS);
    this.#outage.record(this.#barrier.problem);
    this.#strayKey.record(strayKey && 'a start is refused until it is deleted', strayKey);
  }

  /** Stops using the log permanently. Returns the message of the error. */
  #lose(error: unknown): string {
    // If memory runs out, for example, half of a commit may have been applied.
    const lost =
      error instanceof LogLostError
        ? error
        : new LogLostError(`A commit could not be applied: ${messageOf(error)}`);
    if (this.#lostBecause !== undefined) return lost.message;
    this.#lostBecause = lost.message;
    const { layout, nextSlot: slot } = this.#deps.log;
    this.#deps.tell('error', 'This process cannot continue with the log in etcd', {
      cause: lost.message,
      prefix: layout.prefix,
      slot,
    });
    this.#barrier.end(lost.message);
    this.#writer.shortenDeadline();
    this.#resolveLost(lost);
    return lost.message;
  }
}
