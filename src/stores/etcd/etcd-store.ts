/**
 * The etcd store: the store of log-store.ts over a log that several processes share, in a cluster
 * that survives the loss of a machine. Each process holds all pets in memory.
 *
 * The log is a CommitLog in the slots of the cluster. A commit is a transaction that takes the next
 * slot (commit-writer.ts). A read first catches up with the log (read-barrier.ts). This file opens
 * the store, connects the other parts of the folder, and decides when the log is lost. The README
 * of the folder has the drawing.
 */

import { messageOf, safeLog, silent } from '../../base/log.ts';
import type { StoredPet } from '../../model/pet.ts';
import { CLOSED, StoreUnavailableError } from '../../model/pet-store.ts';
import type { PetPage, PetQuery, StoreStats } from '../../model/pet-store.ts';
import type { CommitLimits, CommitLog, LogTarget } from '../commit-log.ts';
import type { PendingPet } from '../commit.ts';
import type { Outcome } from '../commit-queue.ts';
import { FailureReport } from '../failure-report.ts';
import type { KeyHash } from '../table/key-table.ts';
import { openLogStore, type LogStore } from '../log-store.ts';
import { AppliedLog } from './applied-log.ts';
import { etcdClock } from './calls.ts';
import { CommitWriter, CREATE_MS, type SharedDeps } from './commit-writer.ts';
import { DEFAULT_PREFIX, type ClusterOptions } from './etcd-options.ts';
import { joinCluster, type StartDeps } from './join-cluster.ts';
import { openLog, readLog } from './open-log.ts';
import { ReadBarrier } from './read-barrier.ts';
import { AROUND_PET_BYTES, FULL_COMMIT_BYTES, LogLostError, MAX_ETCD_PET_BYTES } from './slots.ts';

/** A PetStore over an EtcdLog. Its reads always wait. */
export type EtcdStore = Omit<LogStore<EtcdLog>, 'list' | 'get'> & {
  list(query: PetQuery): Promise<PetPage>;
  get(id: bigint): Promise<StoredPet | undefined>;
};

/** How often a long start logs what it does. */
const START_REPORT_MS = 3_000;

/**
 * Opens the store. Rejects if the cluster does not respond, or has no log under the prefix that
 * this release can read: `initEtcd` makes one.
 */
export async function openEtcdStore(options: ClusterOptions): Promise<EtcdStore> {
  const { prefix = DEFAULT_PREFIX, clock = etcdClock } = options;
  const tell = safeLog(options.log ?? silent);
  let log: AppliedLog | undefined;
  const stopReporting = clock.every(START_REPORT_MS, () => {
    if (log === undefined) tell('info', 'The start waits for the etcd cluster');
    else tell('info', 'The start reads the pets from etcd', { pets: log.pets.length });
  });
  let start: StartDeps | undefined;
  try {
    start = await joinCluster(options);
    log = new AppliedLog(await openLog(start, prefix), clock);
    const deps = { ...start, log, catchUp: await readLog(start, log), tell };
    const store = await openLogStore(log, async (target) => new EtcdLog({ ...deps, target }));
    return store as EtcdStore;
  } catch (error) {
    start?.calls.close();
    throw error;
  } finally {
    stopReporting();
  }
}

export type EtcdLogDeps = SharedDeps & { readonly target: LogTarget };

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
  readonly #damage: FailureReport;
  readonly #timers: readonly (() => void)[];
  #resolveLost: (error: LogLostError) => void = () => undefined;
  #lostBecause: string | undefined;

  constructor(deps: EtcdLogDeps) {
    this.#deps = deps;
    const { clock, tell } = deps;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    const onLost = (error: unknown): string => this.#lose(error);
    this.#barrier = new ReadBarrier({ ...deps, onLost });
    const whyNot = (): string | undefined => this.#whyNot();
    const caughtUp = (since: number): Promise<void> => this.#barrier.wait(since);
    this.#writer = new CommitWriter({ ...deps, onLost, whyNot, caughtUp });
    const report = (began: string, ended: string): FailureReport =>
      new FailureReport(tell, clock, began, ended);
    this.#outage = report('The etcd cluster is out of reach', 'The etcd cluster answers again');
    this.#damage = report('The log in etcd is damaged', 'The log in etcd is whole again');
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
    const { clock, target, catchUp } = this.#deps;
    this.#barrier.expire();
    this.#writer.expire();
    const message = 'Pets cannot be stored: earlier creates are waiting for the etcd cluster';
    target.refuseWaiting(new StoreUnavailableError(message), clock.now() - CREATE_MS);
    this.#outage.record(this.#barrier.problem);
    const { damage } = catchUp;
    this.#damage.record(damage?.cause, { ...damage });
  }

  /** Stops using the log permanently. Returns the message of the error. */
  #lose(error: unknown): string {
    // If memory runs out, for example, half of a commit may have been applied.
    const isKnown = error instanceof LogLostError;
    const cause = isKnown ? error.message : `A commit could not be applied: ${messageOf(error)}`;
    if (this.#lostBecause !== undefined) return cause;
    this.#lostBecause = cause;
    const { layout, nextSlot: slot } = this.#deps.log;
    const details = { cause, prefix: layout.prefix, slot };
    this.#deps.tell('error', 'This process cannot continue with the log in etcd', details);
    this.#barrier.end(cause);
    this.#writer.shortenDeadline();
    this.#resolveLost(new LogLostError(cause));
    return cause;
  }
}
