/**
 * The etcd log: a CommitLog in the slots of a cluster, which several processes share.
 *
 * A commit is a transaction that takes the next slot (commit-writer.ts). A read first catches up
 * with the log (read-barrier.ts). This file connects the other parts of the folder, and decides
 * when the log is lost. The README of the folder has the drawing.
 */

import { messageOf, type Log } from '../../base/log.ts';
import type { StoredPet } from '../../model/pet.ts';
import { CLOSED, StoreUnavailableError, type StoreStats } from '../../model/pet-store.ts';
import type { CommitLimits, CommitLog, LogTarget } from '../commit-log.ts';
import type { PendingPet } from '../commits/commit.ts';
import type { Outcome } from '../commits/commit-queue.ts';
import type { KeyHash } from '../idempotency/key-table.ts';
import type { AppliedLog } from './applied-log.ts';
import type { EtcdCalls } from './calls.ts';
import type { CatchUp } from './catch-up.ts';
import { CommitWriter, CREATE_MS } from './commit-writer.ts';
import { CreateFailures } from './create-failures.ts';
import type { EtcdClock } from './etcd-clock.ts';
import { LogLostError } from './log-lost-error.ts';
import { ReadBarrier } from './read-barrier.ts';
import { slotKey } from './slots.ts';

export interface EtcdLogDeps {
  readonly target: LogTarget;
  readonly calls: EtcdCalls;
  readonly log: AppliedLog;
  readonly catchUp: CatchUp;
  readonly clock: EtcdClock;
  /** From 0 up to 1. */
  random(): number;
  readonly tell: Log;
}

/** The statistics that only a log in etcd has. */
export type EtcdStats = Required<Pick<StoreStats, 'calls' | 'conflicts' | 'barrierSeconds'>>;

/**
 * The most bytes in a commit's text, except for the pet that exceeds it: about 900 pets, which the
 * fast path for commits reads together.
 */
const FULL_COMMIT_BYTES: number = 64 << 10;
/** The longest pet, without its id: a commit of one such pet fits into a transaction. */
const MAX_ETCD_PET_BYTES: number = (1 << 20) + 1024;
/** About what a pet takes in a commit in addition to its members. */
const AROUND_PET_BYTES = 28;

const TICK_MS = 250;
/** How often an idle store catches up, for its counts and its readiness. */
const BEAT_MS = 1_000;

export class EtcdLog implements CommitLog {
  readonly limits: CommitLimits = {
    fullCommitBytes: FULL_COMMIT_BYTES,
    petBytes: MAX_ETCD_PET_BYTES,
    bytesAroundPet: AROUND_PET_BYTES,
    refusesLate: true,
  };
  readonly lost: Promise<LogLostError>;
  readonly #deps: EtcdLogDeps;
  readonly #barrier: ReadBarrier;
  readonly #writer: CommitWriter;
  readonly #failures: CreateFailures;
  /** Keys of proposals in doubt, by the id after which they were proposed. */
  readonly #keysInDoubt: Map<KeyHash, { readonly after: bigint; readonly message: string }> =
    new Map();
  readonly #timers: readonly (() => void)[];
  #resolveLost: (error: LogLostError) => void = () => undefined;
  #lostBecause: string | undefined;
  #wasReachable = true;
  #reportedStrayKey: string | undefined;

  constructor(deps: EtcdLogDeps) {
    this.#deps = deps;
    const { catchUp, clock, tell } = deps;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    const onLost = (error: unknown): string => this.#lose(error);
    this.#barrier = new ReadBarrier(catchUp, clock, onLost);
    this.#failures = new CreateFailures(() => clock.now(), tell);
    this.#writer = new CommitWriter({
      ...deps,
      onLost,
      failures: this.#failures,
      noCluster: () => this.#barrier.problem,
      onUnknown: (creates, after, message) => this.#recordUnknown(creates, after, message),
    });
    this.#timers = [
      clock.every(TICK_MS, () => this.#tick()),
      clock.every(BEAT_MS, () => this.#beat()),
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
    const cause = this.#lostBecause ?? this.#barrier.problem;
    return cause === undefined ? undefined : new StoreUnavailableError(cause);
  }

  problem(): string | undefined {
    return this.#failures.recent;
  }

  /** As soon as the slot of a proposal is taken, its outcome is known. */
  doubtOf(key: KeyHash): string | undefined {
    const doubt = this.#keysInDoubt.get(key);
    return doubt?.after === this.#deps.log.lastId ? doubt.message : undefined;
  }

  /**
   * Never waits: a key in doubt can only be stored in a slot that is still open, and a retry that
   * wins or loses this slot ends the doubt.
   */
  async resolveDoubt(): Promise<boolean> {
    return false;
  }

  stats(): EtcdStats {
    return {
      calls: this.#deps.calls.counts?.entries() ?? [],
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

  #recordUnknown(creates: readonly PendingPet[], after: bigint, message: string): void {
    for (const { key } of creates) {
      if (key !== undefined) this.#keysInDoubt.set(key, { after, message });
    }
    this.#deps.tell('error', 'It is not known whether pets were stored', {
      pets: creates.length,
      slot: slotKey(this.#deps.log.layout, after),
    });
  }

  #tick(): void {
    const { clock, log, target } = this.#deps;
    this.#barrier.expire();
    const message = 'Pets cannot be stored: earlier creates are waiting for the etcd cluster';
    target.refuseWaiting(new StoreUnavailableError(message), clock.now() - CREATE_MS);
    for (const [key, { after }] of this.#keysInDoubt) {
      if (log.lastId !== after) this.#keysInDoubt.delete(key);
    }
    this.#reportReachable();
    this.#reportStrayKey();
  }

  #beat(): void {
    if (this.#barrier.isIdle) this.#barrier.wait().catch(() => undefined);
  }

  /** Logs once that the cluster is out of reach, and once that it responds again. */
  #reportReachable(): void {
    const { problem } = this.#barrier;
    if (this.#wasReachable === (problem === undefined)) return;
    this.#wasReachable = problem === undefined;
    if (problem === undefined) this.#deps.tell('info', 'The etcd cluster answers again');
    else this.#deps.tell('error', 'The etcd cluster is out of reach', { cause: problem });
  }

  /** Logs once if the prefix has a key that is not part of the log: it would refuse a start. */
  #reportStrayKey(): void {
    const { strayKey } = this.#deps.catchUp;
    if (strayKey === this.#reportedStrayKey) return;
    this.#reportedStrayKey = strayKey;
    if (strayKey === undefined) {
      this.#deps.tell('info', 'No key under the prefix is left that is not part of the log');
    } else {
      const cause = 'a start is refused until it is deleted';
      this.#deps.tell('error', 'A key is not part of the log', { key: strayKey, cause });
    }
  }

  /** Stops using the log permanently. Returns the message of the error. */
  #lose(error: unknown): string {
    const lost = error instanceof LogLostError ? error : applyFailed(error);
    if (this.#lostBecause !== undefined) return lost.message;
    this.#lostBecause = lost.message;
    const { layout, nextSlot: slot } = this.#deps.log;
    this.#deps.tell('error', 'This process cannot continue with the log in etcd', {
      cause: lost.message,
      prefix: layout.prefix,
      slot,
    });
    this.#barrier.end(lost.message);
    this.#writer.stop(lost.message);
    this.#writer.shortenDeadline();
    this.#resolveLost(lost);
    return lost.message;
  }
}

/** Any other error: if memory runs out, for example, half of a commit may have been applied. */
function applyFailed(error: unknown): LogLostError {
  return new LogLostError(`A commit could not be applied: ${messageOf(error)}`);
}
