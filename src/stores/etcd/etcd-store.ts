/**
 * The etcd store: a PetStore over a log that several processes share, in a cluster that goes on
 * when one of its machines is lost.
 *
 * Each process holds all pets in memory, as the file store does. A create is a transaction that
 * takes the next slot of the log; a read first catches up with the log. All creates that come
 * while a commit is under way share the next one, and all reads the next barrier. This file puts
 * together what the others in the folder do; its README has the drawing.
 */

import type { Histogram } from '../../base/histogram.ts';
import { INT64_MAX } from '../../base/int64.ts';
import { safeLog, silent, type Log } from '../../base/log.ts';
import type { NewPet, StoredPet } from '../../model/pet.ts';
import {
  CLOSED,
  NO_ID_LEFT,
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreatedPet,
  type PetCount,
  type PetPage,
  type PetQuery,
  type PetStore,
} from '../../model/pet-store.ts';
import { formatNewPet, InvalidPetError } from '../../model/pet-text.ts';
import type { PendingPet } from '../commits/commit.ts';
import { CommitQueue } from '../commits/commit-queue.ts';
import type { RequestKey } from '../keys/key-table.ts';
import { KeyedCreates, type KnownKey } from '../keys/keyed-creates.ts';
import { AppliedLog } from './applied-log.ts';
import { CallCounts, type EtcdCalls } from './calls.ts';
import { CatchUp } from './catch-up.ts';
import { CommitWriter, CREATE_MS, KeyFoundError } from './commit-writer.ts';
import { CreateFailures } from './create-failures.ts';
import { systemClock, type EtcdClock } from './etcd-clock.ts';
import { DEFAULT_PREFIX, type EtcdOptions } from './etcd-options.ts';
import { checkEtcdOptions, joinCluster } from './join-cluster.ts';
import { LostLogError } from './lost-log-error.ts';
import { openLog, readLog } from './open-log.ts';
import { ReadBarrier } from './read-barrier.ts';
import { slotKey } from './slots.ts';

/** What a store tells of its work, for those who watch it. */
export interface EtcdStats {
  readonly calls: ReturnType<CallCounts['entries']>;
  /** Commits that found their slot taken by another process. */
  readonly lostRounds: number;
  readonly refusedCreates: number;
  /** Creates of which nobody can tell whether they were stored. */
  readonly unknownCreates: number;
  readonly queueLength: number;
  readonly keysHeld: number;
  readonly keysEvicted: number;
  readonly barrierSeconds: Histogram;
  readonly commitPets: Histogram;
  readonly commitSeconds: Histogram;
}

export interface EtcdStore extends PetStore {
  list(query: PetQuery): Promise<PetPage>;
  get(id: bigint): Promise<StoredPet | undefined>;
  createOnce(newPet: NewPet, key: RequestKey): Promise<CreatedPet>;
  stats(): EtcdStats;
  /** The end is near: creates in doubt are answered within three seconds. */
  drain(): void;
  /** Resolves with the reason when the store works no more and a new process has to; else never. */
  readonly lost: Promise<LostLogError>;
}

export interface EtcdStoreOptions extends EtcdOptions {
  readonly log?: Log | undefined;
  /** For tests: what answers in place of the endpoints. */
  readonly calls?: EtcdCalls | undefined;
  readonly clock?: EtcdClock | undefined;
  /** For tests: from 0 up to 1. */
  readonly random?: (() => number) | undefined;
  /** Gives up a start, with the reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A commit's text takes no more than this, but for the pet that reaches it: some nine hundred pets,
 * which the fast way through a commit takes as one run.
 */
const FULL_COMMIT_BYTES: number = 64 << 10;
/** The longest pet, without its id: with what is around it, it fits into a transaction. */
const MAX_ETCD_PET_BYTES: number = (1 << 20) + 1024;
/** About what a pet has around its members in a commit, and what a key takes there. */
const AROUND_PET_BYTES = 28;
const COMMITTED_KEY_BYTES = 80;

const TICK_MS = 250;
/** So often an idle store catches up, for its counts and for those who ask whether it is ready. */
const BEAT_MS = 1_000;
/** How often a start that takes long says what it does. */
const START_REPORT_MS = 3_000;

/**
 * Opens the store. Rejects if the cluster does not answer, or has no log under the prefix that this
 * release can read: `initEtcd` makes one.
 */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<EtcdStore> {
  checkEtcdOptions(options);
  const { prefix = DEFAULT_PREFIX, clock = systemClock, random = Math.random } = options;
  const counts = new CallCounts();
  const tell = safeLog(options.log ?? silent);
  const guard = (): void => options.signal?.throwIfAborted();
  let log: AppliedLog | undefined;
  const stopReporting = clock.every(START_REPORT_MS, () => {
    if (log === undefined) tell('info', 'The start waits for the etcd cluster');
    else tell('info', 'The start reads the pets from etcd', { pets: log.pets.length });
  });
  let calls: EtcdCalls | undefined;
  try {
    calls = options.calls ?? (await joinCluster(options, { counts, clock, tell, guard }));
    const place = { calls, clock, guard };
    log = new AppliedLog(await openLog(place, prefix), clock);
    const catchUp = new CatchUp(calls, log, clock);
    await readLog(place, log, catchUp, 'start');
    return new LogStore({ calls, counts, log, catchUp, clock, random, tell });
  } catch (error) {
    calls?.close();
    throw error;
  } finally {
    stopReporting();
  }
}

interface StorePlace {
  readonly calls: EtcdCalls;
  readonly counts: CallCounts;
  readonly log: AppliedLog;
  readonly catchUp: CatchUp;
  readonly clock: EtcdClock;
  random(): number;
  readonly tell: Log;
}

/** A create that waits for a commit. */
interface QueuedPet extends PendingPet {
  readonly since: number;
}

class LogStore implements EtcdStore {
  readonly lost: Promise<LostLogError>;
  readonly #place: StorePlace;
  readonly #barrier: ReadBarrier;
  readonly #writer: CommitWriter;
  readonly #failures: CreateFailures;
  readonly #queue: CommitQueue<QueuedPet, StoredPet>;
  readonly #keyedCreates: KeyedCreates;
  /** Keys of proposals that nobody can tell of, by the id behind which they were proposed. */
  readonly #doubtfulKeys: Map<RequestKey, { readonly after: bigint; readonly message: string }> =
    new Map();
  readonly #stopTicking: () => void;
  #resolveLost: (error: LostLogError) => void = () => undefined;
  #lastBeatAt: number;
  #lostBecause: string | undefined;
  #refusedCreates = 0;
  #unknownCreates = 0;
  #wasReachable = true;
  #toldStrayKey: string | undefined;
  #closed: Promise<void> | undefined;

  constructor(place: StorePlace) {
    this.#place = place;
    const { calls, log, catchUp, clock, random } = place;
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    const onLost = (error: LostLogError): void => this.#lose(error);
    this.#barrier = new ReadBarrier(catchUp, clock, onLost);
    this.#failures = new CreateFailures(() => clock.now(), place.tell);
    this.#writer = new CommitWriter({
      ...{ calls, log, catchUp, clock, random, onLost, failures: this.#failures },
      noCluster: () => this.#barrier.problem,
      onUnknown: (creates, after, message) => this.#noteUnknown(creates, after, message),
    });
    this.#queue = new CommitQueue((creates) => this.#writer.commit(creates), {
      fullCommitBytes: FULL_COMMIT_BYTES,
      gather: () => this.#writer.waitForTurn(),
    });
    this.#keyedCreates = new KeyedCreates({
      find: (key) => this.#findKey(key),
      create: (newPet, key) => this.#create(newPet, key),
      hold: (newPet) => this.#hold(newPet),
      decide: async () => undefined,
    });
    this.#lastBeatAt = clock.now();
    this.#stopTicking = clock.every(TICK_MS, () => this.#tick());
  }

  async list(query: PetQuery): Promise<PetPage> {
    await this.#caughtUp();
    return this.#place.log.pets.list(query);
  }

  async get(id: bigint): Promise<StoredPet | undefined> {
    await this.#caughtUp();
    return this.#place.log.pets.get(id);
  }

  create(newPet: NewPet): Promise<StoredPet> {
    return this.#create(newPet);
  }

  async createOnce(newPet: NewPet, key: RequestKey): Promise<CreatedPet> {
    for (;;) {
      if (this.#closed !== undefined) throw new StoreUnavailableError(CLOSED);
      try {
        return await this.#keyedCreates.create(newPet, key);
      } catch (error) {
        // Another process stored the key: the next turn answers from what it stored. If the key has
        // expired since then, the next turn creates anew.
        if (error instanceof KeyFoundError) continue;
        if (!(error instanceof StoreUnavailableError)) throw error;
        if (this.#place.log.keys.find(key) !== undefined) continue;
        // This call stored nothing, but an earlier one with the key may have.
        const doubt = this.#doubtOf(key);
        throw doubt === undefined ? error : new OutcomeUnknownError(doubt);
      }
    }
  }

  count(): PetCount {
    return this.#place.log.pets.count();
  }

  problem(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    if (this.#lostBecause !== undefined) return this.#lostBecause;
    if (this.#place.log.lastId === INT64_MAX) return NO_ID_LEFT;
    return this.#barrier.problem ?? this.#failures.recent;
  }

  stats(): EtcdStats {
    const { counts, log } = this.#place;
    return {
      calls: counts.entries(),
      lostRounds: this.#writer.lostRounds,
      refusedCreates: this.#refusedCreates,
      unknownCreates: this.#unknownCreates,
      queueLength: this.#queue.length,
      keysHeld: log.keys.length,
      keysEvicted: log.keys.evicted,
      barrierSeconds: this.#barrier.seconds,
      commitPets: this.#writer.commitPets,
      commitSeconds: this.#writer.commitSeconds,
    };
  }

  drain(): void {
    this.#writer.hurry();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.drain();
    await this.#queue.settled();
    this.#stopTicking();
    this.#barrier.end(CLOSED);
    this.#place.calls.close();
  }

  async #caughtUp(): Promise<void> {
    // A closed store answers from what it has, as the others do.
    if (this.#closed === undefined) await this.#barrier.wait();
  }

  async #create(newPet: NewPet, key?: RequestKey): Promise<StoredPet> {
    const members = formatNewPet(newPet);
    const bytes = Buffer.byteLength(members);
    if (bytes > MAX_ETCD_PET_BYTES) {
      throw new InvalidPetError(`a pet on etcd has at most ${MAX_ETCD_PET_BYTES} bytes`);
    }
    this.#checkTakesPets();
    const since = this.#place.clock.now();
    const inCommit = bytes + AROUND_PET_BYTES + (key === undefined ? 0 : COMMITTED_KEY_BYTES);
    try {
      return await this.#queue.add({ members, status: newPet.status, key, since }, inCommit);
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#refusedCreates += 1;
      throw error;
    }
  }

  #refusal(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    if (this.#lostBecause !== undefined) return this.#lostBecause;
    if (this.#barrier.problem !== undefined) return this.#barrier.problem;
    if (this.#queue.isFull) return 'Too many pets are waiting to be stored';
    const isLast = this.#place.log.lastId + BigInt(this.#queue.unsettled) >= INT64_MAX;
    return isLast ? NO_ID_LEFT : undefined;
  }

  /**
   * What the key stored. A key in doubt is nothing to wait for: it can only be stored in a slot that
   * is still open, and a retry that takes this slot, or loses it, settles the matter.
   */
  #findKey(key: RequestKey): KnownKey | undefined {
    const { pets, keys } = this.#place.log;
    const id = keys.find(key);
    const pet = id === undefined ? undefined : pets.get(id);
    return pet === undefined ? undefined : { pet };
  }

  /** Why nobody can tell whether the key is stored; once its slot is taken, everybody can. */
  #doubtOf(key: RequestKey): string | undefined {
    const doubt = this.#doubtfulKeys.get(key);
    return doubt?.after === this.#place.log.lastId ? doubt.message : undefined;
  }

  /** Counts a pet that waits for the outcome of another one with its key. */
  #hold(newPet: NewPet): () => void {
    const bytes = Buffer.byteLength(formatNewPet(newPet));
    this.#checkTakesPets();
    return this.#queue.hold(bytes);
  }

  #checkTakesPets(): void {
    const refusal = this.#refusal();
    if (refusal === undefined) return;
    this.#refusedCreates += 1;
    throw new StoreUnavailableError(refusal);
  }

  #noteUnknown(creates: readonly PendingPet[], after: bigint, message: string): void {
    this.#unknownCreates += creates.length;
    for (const { key } of creates) {
      if (key !== undefined) this.#doubtfulKeys.set(key, { after, message });
    }
    this.#place.tell('error', 'It is not known whether pets were stored', {
      pets: creates.length,
      slot: slotKey(this.#place.log.layout, after),
    });
  }

  #tick(): void {
    const { clock, log } = this.#place;
    this.#barrier.expire();
    const late = clock.now() - CREATE_MS;
    this.#queue.refuse(
      ({ since }) => since <= late,
      new StoreUnavailableError('Pets cannot be stored: those before wait for the etcd cluster'),
    );
    for (const [key, { after }] of this.#doubtfulKeys) {
      if (log.lastId !== after) this.#doubtfulKeys.delete(key);
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
    if (problem === undefined) this.#place.tell('info', 'The etcd cluster answers again');
    else this.#place.tell('error', 'The etcd cluster is out of reach', { cause: problem });
  }

  /** Tells of a key that is not part of the log once: a start is refused because of it. */
  #tellStrayKey(): void {
    const { strayKey } = this.#place.catchUp;
    if (strayKey === this.#toldStrayKey) return;
    this.#toldStrayKey = strayKey;
    if (strayKey === undefined) {
      this.#place.tell('info', 'No key under the prefix is left that is not part of the log');
    } else {
      const cause = 'a start is refused until it is deleted';
      this.#place.tell('error', 'A key is not part of the log', { key: strayKey, cause });
    }
  }

  /** Works no more, for good. */
  #lose(error: LostLogError): void {
    if (this.#lostBecause !== undefined) return;
    this.#lostBecause = error.message;
    const { prefix } = this.#place.log.layout;
    const slot = this.#place.log.nextSlot;
    this.#place.tell('error', 'The log in etcd is lost to this process', {
      cause: error.message,
      prefix,
      slot,
    });
    this.#barrier.end(error.message);
    this.#writer.end(error.message);
    this.#writer.hurry();
    this.#resolveLost(error);
  }
}
