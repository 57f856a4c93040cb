/**
 * CommitLog: what the store (log-store.ts) needs of a log, and its promises.
 *
 * A log makes commits durable, in the order of ids, and puts into the tables what is durable: its
 * own commits, and those of other processes if there are any. Only the log writes to the tables.
 * There are two: the journal and snapshot of a data file (file/file-log.ts), and the slots of an
 * etcd cluster.
 */

import type { StoredPet } from '../model/pet.ts';
import type { PetsLocation, StoreStats, StoreUnavailableError } from '../model/pet-store.ts';
import type { PendingPet } from './commits/commit.ts';
import type { Outcome } from './commits/commit-queue.ts';
import type { KeyTable, KeyHash } from './idempotency/key-table.ts';
import type { PetTable } from './table/pet-table.ts';

/** Another process has stored the key of a create meanwhile, with its pet. */
export class KeyAlreadyStoredError extends Error {
  override readonly name: string = 'KeyAlreadyStoredError';
}

/** What the store gives to its log. */
export interface LogTarget {
  readonly pets: PetTable;
  readonly keys: KeyTable;
  /** Refuses the creates that wait since `since` or longer, by the log's clock; or all of them. */
  refuseWaiting(error: StoreUnavailableError, since?: number): void;
}

export interface CommitLimits {
  /** A commit takes no more bytes, except for the create that reaches it. */
  readonly fullCommitBytes: number;
  /** The longest pet, without its id. */
  readonly petBytes: number;
  /** The approximate size of a pet in a commit, without its members. */
  readonly bytesAroundPet: number;
  /** True if creates are refused after they have waited for some time. */
  readonly refusesLate: boolean;
}

export interface CommitLog {
  readonly limits: CommitLimits;

  /** Milliseconds of a monotonic clock. */
  now(): number;

  /** Waited for before each commit takes its creates. It does not reject. */
  beforeCommit?(): Promise<void>;

  /**
   * Makes the creates durable together and puts them into the tables; returns how each came out:
   * stored, or refused with StoreUnavailableError and nothing of it will appear, or in doubt with
   * OutcomeUnknownError, or its key was found (KeyAlreadyStoredError). It does not reject.
   */
  commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]>;

  /** Resolves when the tables have all that was committed before the call; else they always do. */
  caughtUp?(): Promise<void>;

  /** Returns the error for all new creates, or undefined if the log accepts them. */
  refusal(): StoreUnavailableError | undefined;

  /** Why pets cannot be stored, or could not be stored a moment ago. */
  problem(): string | undefined;

  /** Why it is unknown whether the key is stored, after a create with it was refused. */
  doubtOf(key: KeyHash): string | undefined;

  /** Waits for a try in progress that may end the doubt. Resolves with false if there is none. */
  resolveDoubt(): Promise<boolean>;

  /** As in PetStore. */
  readonly lost: Promise<Error>;
  drain?(): void;
  whereAreThePets?(): PetsLocation;
  stats(): Partial<StoreStats>;

  /** Called when no commit is in progress, and none will come. Rejects if the pets are not safe. */
  close(): Promise<void>;
}
