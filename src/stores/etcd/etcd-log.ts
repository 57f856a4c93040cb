/**
 * The etcd log: a CommitLog in the slots of a cluster, which several processes share.
 *
 * A commit is a transaction that takes the next slot (commit-writer.ts); a read first catches up
 * with the log (read-barrier.ts). This file puts together what the others in the folder do, and
 * says when the log is lost; the README of the folder has the drawing.
 */

import type { Log } from '../../base/log.ts';
import type { StoredPet } from '../../model/pet.ts';
import { CLOSED, StoreUnavailableError, type StoreStats } from '../../model/pet-store.ts';
import type { CommitLimits, CommitLog, LogTarget } from '../commit-log.ts';
import type { PendingPet } from '../commits/commit.ts';
import type { Outcome } from '../commits/commit-queue.ts';
import type { KeyHash } from '../idempotency/key-table.ts';
import type { AppliedLog } from './applied-log.ts';
import type { CallCounts, EtcdCalls } from './calls.ts';
import type { CatchUp } from './catch-up.ts';
import { CommitWriter, CREATE_MS } from './commit-writer.ts';
import { CreateFailures } from './create-failures.ts';
import type { EtcdClock } from './etcd-clock.ts';
import type { LogLostError } from './log-lost-error.ts';
import { ReadBarrier } from './read-barrier.ts';
import { slotKey } from './slots.ts';

export interface EtcdLogDeps {
  readonly target: LogTarget;
  readonly calls: EtcdCalls;
  readonly counts: CallCounts;
  readonly log: AppliedLog;
  readonly catchUp: CatchUp;
  readonly clock: EtcdClock;
  /** From 0 up to 1. */
  random(): number;
  readonly tell: Log;
}

/** What is special about the statistics of a log in etcd. */
export type EtcdStats = Required<Pick<StoreStats, 'calls' | 'conflicts' | 'barrierSeconds'>>;

/**
 * A commit's text takes no more than this, but for the pet that reaches it: some nine hundred pets,
 * which the fast way through a commit takes as one run.
 */
const FULL_COMMIT_BYTES: number = 64 << 10;
/** The longest pet, without its id: with what is around it, it fits into a transaction. */
const MAX_ETCD_PET_BYTES: number = (1 << 20) + 1024;
/** About what a pet takes in a commit in addition to its members. */
const AROUND_PET_BYTES = 28;

const TICK_MS = 250;
/** So often an idle store catches up, for its counts and for those who ask whether it is ready. */
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
  readonly #stopTicking: () => void;
  #resolveLost: (error: LogLostError) => void = () => undefined;
  #lastBeatAt: number;
  #lostBecause: string | undefined;
  #wasReachable = true;
  #toldStrayKey: string | undefined;

  constructor(deps: EtcdLogDeps) {
    this.#deps = deps;
    const { calls, log, catchUp, clock, random } = deps;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    const onLost = (error: LogLostError): void => this.#lose(error);
    this.#barrier = new ReadBarrier(catchUp, clock, onLost);
    this.#failures = new CreateFailures(() => clock.now(), deps.tell);
    this.#writer = new CommitWriter({
      ...{ calls, log, catchUp, clock, random, onLost, failures: this.#failures },
      noCluster: () => this.#barrier.problem,
      onUnknown: (creates, after, message) => this.#noteUnknown(creates, after, message),
    });
    this.#lastBeatAt = clock.now();
    this.#stopTicking = clock.every(TICK_MS, () => this.#tick());
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

  /** Once the slot of a proposal is taken, everybody can tell. */
  doubtOf(key: KeyHash): string | undefined {
    const doubt = this.#keysInDoubt.get(key);
    return doubt?.after === this.#deps.log.lastId ? doubt.message : undefined;
  }

  /**
   * A key in doubt is nothing to wait for: it can only be stored in a slot that is still open, and
   * a retry that takes this slot, or loses it, decides.
   */
  async resolveDoubt(): Promise<boolean> {
    return false;
  }

  stats(): EtcdStats {
    return {
      calls: this.#deps.counts.entries(),
      conflicts: this.#writer.conflicts,
      barrierSeconds: this.#barrier.seconds,
    };
  }

  drain(): void {
    this.#writer.shortenDeadline();
  }

  async close(): Promise<void> {
    this.#stopTicking();
    this.#barrier.end(CLOSED);
    this.#deps.calls.close();
  }

  #noteUnknown(creates: readonly PendingPet[], after: bigint, message: string): void {
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
    target.refuseWaiting(
      new StoreUnavailableError('Pets cannot be stored: those before wait for the etcd cluster'),
      clock.now() - CREATE_MS,
    );
    for (const [key, { after }] of this.#keysInDoubt) {
      if (log.lastId !== after) this.#keysInDoubt.delete(key);
    }
    const isDue = this.#barrier.isIdle && clock.now() - this.#lastBeatAt >= BEAT_MS;
    if (isDue) {
      this.#lastBeatAt = clock.now();
      this.#barrier.wait().catch(() => undefined);
    }
    this.#tellReachable();
    this.#tellStrayKey();
  }

  /** Tells once when the cluster is out of reach, and once when it is back. */
  #tellReachable(): void {
    const { problem } = this.#barrier;
    if (this.#wasReachable === (problem === undefined)) return;
    this.#wasReachable = problem === undefined;
    if (problem === undefined) this.#deps.tell('info', 'The etcd cluster answers again');
    else this.#deps.tell('error', 'The etcd cluster is out of reach', { cause: problem });
  }

  /** Tells of a key that is not part of the log once: a start is refused because of it. */
  #tellStrayKey(): void {
    const { strayKey } = this.#deps.catchUp;
    if (strayKey === this.#toldStrayKey) return;
    this.#toldStrayKey = strayKey;
    if (strayKey === undefined) {
      this.#deps.tell('info', 'No key under the prefix is left that is not part of the log');
    } else {
      const cause = 'a start is refused until it is deleted';
      this.#deps.tell('error', 'A key is not part of the log', { key: strayKey, cause });
    }
  }

  /** Works no more, for good. */
  #lose(error: LogLostError): void {
    if (this.#lostBecause !== undefined) return;
    this.#lostBecause = error.message;
    const { prefix } = this.#deps.log.layout;
    const slot = this.#deps.log.nextSlot;
    this.#deps.tell('error', 'The log in etcd is lost to this process', {
      cause: error.message,
      prefix,
      slot,
    });
    this.#barrier.end(error.message);
    this.#writer.end(error.message);
    this.#writer.shortenDeadline();
    this.#resolveLost(error);
  }
}
