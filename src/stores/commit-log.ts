/**
 * CommitLog: what the store (log-store.ts) needs of a log, and its promises.
 *
 * A log makes commits durable, in the order of ids, and puts into the tables what is durable: its
 * own commits, and those of other processes if there are any. Only the log writes to the tables.
 * There are two logs: the journal with the data file (file/file-log.ts), and the slots of an etcd
 * cluster (etcd/etcd-log.ts).
 */

import type { StoredPet } from '../model/pet.ts';
import type { StoreStats, StoreUnavailableError } from '../model/pet-store.ts';
import type { PendingPet } from './commit.ts';
import type { Outcome } from './commit-queue.ts';
import type { KeyHash } from './table/idempotency-keys.ts';

/**
 * Refuses the waiting creates that arrived at `latest` or before (by the log's clock); without
 * `latest`, all.
 */
export type RefuseWaiting = (error: StoreUnavailableError, latest?: number) => void;

export interface CommitLimits {
  /** A commit takes creates until they have this many bytes, so the last one may exceed them. */
  readonly fullCommitBytes: number;
  /** The longest pet, without its id. */
  readonly petBytes: number;
  /** The approximate size of a pet in a commit, without its members. */
  readonly bytesAroundPet: number;
}

export interface CommitLog {
  readonly limits: CommitLimits;

  /** Called once, before the first commit. The log calls the function when it refuses creates. */
  onRefusal(refuseWaiting: RefuseWaiting): void;

  /** Milliseconds of a monotonic clock. */
  now(): number;

  /** Waited for before each commit takes its creates. It does not reject. */
  beforeCommit?(): Promise<void>;

  /**
   * Makes the creates durable together and puts them into the tables. Resolves with the outcome of
   * each: stored; or refused with StoreUnavailableError, and then nothing of it will appear, but
   * another process may have stored its key; or in doubt, with OutcomeUnknownError. It does not
   * reject.
   */
  commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]>;

  /**
   * Resolves when the tables have all that was committed before the call. The tables of a log
   * without this method always have it.
   */
  catchUp?(): Promise<void>;

  /** Returns the error for all new creates, or undefined if the log accepts them. */
  refusal(): StoreUnavailableError | undefined;

  /**
   * As in PetStore. It may still return the reason of a recent failure when `refusal` returns
   * undefined, and creates are tried again.
   */
  problem(): string | undefined;

  /**
   * Called after a create with the key was refused. Returns why it is unknown whether an earlier
   * create has stored the key, or undefined if it is known.
   */
  doubtOf(key: KeyHash): string | undefined;

  /**
   * Waits for the repair in progress, which may end the doubt, or fail, and resolves with true.
   * Resolves with false if none is in progress. A log without this method repairs nothing.
   */
  waitForRepair?(): Promise<boolean>;

  /** As in PetStore. */
  readonly lost: Promise<Error>;
  drain?(): void;
  stats(): Partial<StoreStats>;

  /** Called when no commit is in progress, and none will come. Rejects if the pets are not safe. */
  close(): Promise<void>;
}
