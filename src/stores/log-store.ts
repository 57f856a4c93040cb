/**
 * The store: a PetStore that is a table of pets which follows a log. The file store and the etcd
 * store are this one, over two logs (commit-log.ts).
 *
 *     list, get ──▶ caught up? ──▶ tables
 *     create ──▶ idempotency ──▶ check ──▶ queue ──▶ log.commit(batch) ──▶ outcomes
 *
 * A key stores one pet, however often it is sent, also concurrently: a create that arrives while
 * another one with its key is in progress waits for that outcome. If the first one is refused, one
 * of the waiting creates is tried instead, so that it does not fail for another create's reason. If
 * that one is refused too, the others are refused with it: otherwise 1,000 waiting creates would
 * fail one after the other. The outcome of a create that cannot wait, because the store refuses
 * creates, is unknown: the one in progress may still be stored.
 *
 * A create that is refused or in doubt is counted once, by the error that its caller gets. The
 * store keeps no list of the keys in doubt: it asks the log after a create with a key was refused.
 */

import { Histogram } from '../base/histogram.ts';
import { INT64_MAX } from '../base/int64.ts';
import type { NewPet, StoredPet } from '../model/pet.ts';
import {
  CLOSED,
  NO_ID_LEFT,
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreatedPet,
  type MaybePromise,
  type PetCount,
  type PetPage,
  type PetQuery,
  type PetStore,
  type StoreStats,
} from '../model/pet-store.ts';
import { formatMembers, InvalidPetError, readNewPet } from '../model/pet-text.ts';
import type { CommitLog } from './commit-log.ts';
import { KEY_BYTES, type PendingPet } from './commit.ts';
import { CommitQueue, type Outcome } from './commit-queue.ts';
import { replayedPet, type IdempotencyKeys, type KeyHash } from './table/idempotency-keys.ts';
import type { PetTable } from './table/pet-table.ts';

const PETS_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384];
const SECONDS_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15,
];
const EARLIER = 'An earlier create with the key is in progress';
/** A create is refused after it has waited for this many refused creates with the same key. */
const MAX_REFUSALS = 2;

/** A create that waits for a commit. */
interface QueuedPet extends PendingPet {
  /** When it arrived, by the log's clock. */
  readonly since: number;
}

interface Tables {
  readonly pets: PetTable;
  readonly keys: IdempotencyKeys;
}

export class LogStore<L extends CommitLog> implements PetStore {
  readonly #pets: PetTable;
  readonly #keys: IdempotencyKeys;
  readonly log: L;
  readonly #queue: CommitQueue<QueuedPet, StoredPet>;
  /** By key, the create in progress. */
  readonly #keysInProgress: Map<KeyHash, Promise<StoredPet>> = new Map();
  readonly #commitPets: Histogram = new Histogram(PETS_BOUNDS);
  readonly #commitSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  #refusedCreates = 0;
  #unknownCreates = 0;
  #closed: Promise<void> | undefined;

  /** The tables are those of the log, which is open. */
  constructor({ pets, keys }: Tables, log: L) {
    this.#pets = pets;
    this.#keys = keys;
    this.log = log;
    const { fullCommitBytes } = log.limits;
    this.#queue = new CommitQueue((take) => this.#commit(take), fullCommitBytes);
    log.onRefusal((error, latest = Infinity) => {
      this.#queue.refuse(({ since }) => since <= latest, error);
    });
  }

  list(query: PetQuery): MaybePromise<PetPage> {
    return this.#read(() => this.#pets.list(query));
  }

  get(id: bigint): MaybePromise<StoredPet | undefined> {
    return this.#read(() => this.#pets.get(id));
  }

  count(): PetCount {
    return this.#pets.count();
  }

  create(newPet: NewPet): Promise<StoredPet> {
    return this.#countFailure(this.#create(newPet));
  }

  createOnce(newPet: NewPet, key: KeyHash): Promise<CreatedPet> {
    return this.#countFailure(this.#createOnce(newPet, key));
  }

  problem(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    const hasNoIdLeft = this.#pets.lastId === INT64_MAX;
    return this.log.refusal()?.message ?? (hasNoIdLeft ? NO_ID_LEFT : this.log.problem());
  }

  get lost(): Promise<Error> {
    return this.log.lost;
  }

  stats(): StoreStats {
    return {
      commitPets: this.#commitPets,
      commitSeconds: this.#commitSeconds,
      refusedCreates: this.#refusedCreates,
      unknownCreates: this.#unknownCreates,
      queueLength: this.#queue.length,
      keysHeld: this.#keys.length,
      keysEvicted: this.#keys.evicted,
      ...this.log.stats(),
    };
  }

  drain(): void {
    this.log.drain?.();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.drain();
    await this.#queue.whenIdle();
    await this.log.close();
  }

  /** Reads from the tables as soon as they have caught up. A closed store reads what it has. */
  #read<T>(read: () => T): MaybePromise<T> {
    const catchingUp = this.#closed === undefined ? this.log.catchUp?.() : undefined;
    return catchingUp === undefined ? read() : catchingUp.then(read);
  }

  async #create(newPet: NewPet, key?: KeyHash): Promise<StoredPet> {
    const values = readNewPet(newPet);
    const members = formatMembers(values);
    const bytes = this.#checkTakes(members);
    const create = { members, status: values.status, key, since: this.log.now() };
    return this.#queue.add(create, bytes + (key === undefined ? 0 : KEY_BYTES));
  }

  async #createOnce(newPet: NewPet, key: KeyHash): Promise<CreatedPet> {
    const values = readNewPet(newPet);
    for (let hasWaited = false; ;) {
      const earlier = this.#keysInProgress.get(key);
      try {
        return await this.#createWithKey(values, key);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        // The next iteration finds what another process stored.
        if (this.#find(key) !== undefined) continue;
        // This call stored nothing, but an earlier one with the key may have.
        const isInProgress = earlier !== undefined && this.#keysInProgress.get(key) === earlier;
        const doubt = this.log.doubtOf(key) ?? (isInProgress ? EARLIER : undefined);
        if (doubt === undefined) throw error;
        if (hasWaited || !(await this.log.waitForRepair?.())) throw new OutcomeUnknownError(doubt);
        hasWaited = true;
      }
    }
  }

  /** Finds the pet that the key has stored, or stores one, after the create in progress. */
  async #createWithKey(values: NewPet, key: KeyHash): Promise<CreatedPet> {
    for (let refusals = 0; ;) {
      // First of all, since a key may be found before the create in progress has its response. If
      // that could be refused here, createOnce would find it, and try again, without end.
      const stored = this.#find(key);
      if (stored !== undefined) return { pet: replayedPet(stored, values), isReplayed: true };
      const inProgress = this.#keysInProgress.get(key);
      if (inProgress === undefined) break;
      const release = this.#queue.hold(this.#checkTakes(formatMembers(values)));
      const failure = await inProgress.then(() => undefined).catch((error: Error) => error);
      release();
      if (failure instanceof StoreUnavailableError) refusals += 1;
      if (refusals === MAX_REFUSALS || failure instanceof OutcomeUnknownError) throw failure;
    }
    // No await from here to the create: else another one with the key could begin in between.
    const creating = this.#create(values, key);
    this.#keysInProgress.set(key, creating);
    try {
      return { pet: await creating, isReplayed: false };
    } finally {
      // This is the first to wait for it, so the others find no create in progress.
      this.#keysInProgress.delete(key);
    }
  }

  #find(key: KeyHash): StoredPet | undefined {
    const id = this.#keys.find(key);
    return id === undefined ? undefined : this.#pets.get(id);
  }

  /**
   * Returns how many bytes the pet takes in a commit. Throws InvalidPetError if they are too many,
   * and StoreUnavailableError if the store refuses creates.
   */
  #checkTakes(members: string): number {
    const { petBytes, bytesAroundPet } = this.log.limits;
    const bytes = Buffer.byteLength(members);
    if (bytes > petBytes) {
      throw new InvalidPetError(`a pet in this store has at most ${petBytes} bytes`);
    }
    if (this.#closed !== undefined) throw new StoreUnavailableError(CLOSED);
    const refusal = this.log.refusal();
    if (refusal !== undefined) throw refusal;
    if (this.#queue.isFull) {
      throw new StoreUnavailableError('Too many pets are waiting to be stored');
    }
    const hasNoIdLeft = this.#pets.lastId + BigInt(this.#queue.pendingCount) >= INT64_MAX;
    if (hasNoIdLeft) throw new StoreUnavailableError(NO_ID_LEFT);
    return bytes + bytesAroundPet;
  }

  async #commit(take: () => readonly QueuedPet[]): Promise<readonly Outcome<StoredPet>[]> {
    await this.log.beforeCommit?.();
    const creates = take();
    // All of them may have been refused meanwhile.
    if (creates.length === 0) return [];
    const startedAt = this.log.now();
    const outcomes = await this.log.commit(creates);
    this.#commitSeconds.observe((this.log.now() - startedAt) / 1000);
    this.#commitPets.observe(creates.length);
    return outcomes;
  }

  async #countFailure<T>(creating: Promise<T>): Promise<T> {
    try {
      return await creating;
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#refusedCreates += 1;
      if (error instanceof OutcomeUnknownError) this.#unknownCreates += 1;
      throw error;
    }
  }
}
