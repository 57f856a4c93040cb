/**
 * The file store: a PetStore that loses nothing, in three files.
 *
 *     pets.json          the snapshot, replaced as a whole at a checkpoint
 *     pets.json.journal  the creates since, one line for each commit
 *     pets.json.lock     held while the store is open, never removed
 *
 * A create is answered when its line in the journal is synced, and seen by reads from then on. All
 * creates that arrive while a sync is under way share the next one: a sync costs the same for one
 * pet as for a thousand (group commit). Pets are never changed or deleted, so the journal holds no
 * garbage and a checkpoint is due only when the store opens or closes, or when a sync of the
 * journal failed.
 */

import { dirname } from 'node:path';
import { Histogram } from '../base/histogram.ts';
import { INT64_MAX } from '../base/int64.ts';
import { messageOf, safeLog, silent, type Log } from '../base/log.ts';
import type { EncodedNewPet, EncodedPet } from '../model/encoded-pet.ts';
import {
  CLOSED,
  NO_ID_LEFT,
  StoreUnavailableError,
  type PetCount,
  type PetPage,
  type PetQuery,
  type PetStore,
} from '../model/pet-store.ts';
import { replaceFile } from './atomic-replace.ts';
import { encodeCommit } from './commit.ts';
import type { Disk, DiskLock } from './disk.ts';
import { Journal, JOURNAL_RESERVE_BYTES, type JournalFile } from './journal.ts';
import { nodeDisk } from './node-disk.ts';
import type { PetTable } from './pet-table.ts';
import { recover, type Recovered } from './recovery.ts';
import { encodeSnapshot } from './snapshot.ts';
import { storePaths, type StorePaths } from './store-paths.ts';

export interface FileStoreOptions {
  /** The data file. Its folder is made; a symbolic link is followed first. */
  readonly path: string;
  readonly log?: Log | undefined;
  /** For tests: where the files are. */
  readonly disk?: Disk | undefined;
  /** For tests: how much room a journal takes beyond its commits. */
  readonly journalReserveBytes?: number | undefined;
  /** For tests: a clock in milliseconds that never goes back. */
  readonly now?: (() => number) | undefined;
}

/** What a store tells of its work, for those who watch it. */
export interface StoreStats {
  readonly commitPets: Histogram;
  /** Write and sync together. */
  readonly commitSeconds: Histogram;
  /** The journal's syncs alone, those that did not fail. */
  readonly syncSeconds: Histogram;
  readonly refusedCreates: number;
  /** Creates that wait for a commit. */
  readonly queueLength: number;
  readonly journalBytes: number;
  readonly snapshotBytes: number;
}

export interface FileStore extends PetStore {
  stats(): StoreStats;
}

/** Opens the store. Rejects, having changed nothing, when the files are damaged or in use. */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const { path, disk = nodeDisk } = options;
  const log = safeLog(options.log ?? silent);
  await disk.makeDirectory(dirname(path)).catch((error: unknown) => {
    throw new Error(`The folder of ${path} cannot be made: ${messageOf(error)}`);
  });
  const paths = storePaths(await disk.resolve(path));
  const lock = await disk.lock(paths.lock);
  if (lock === undefined) {
    const holder = await holderOf(disk, paths.lock);
    throw new Error(`${paths.snapshot} is in use already: ${paths.lock} is held${holder}`);
  }
  let recovered: Recovered | undefined;
  try {
    recovered = await recover(disk, paths, log);
    const store = new JournaledStore({ ...options, disk, log }, paths, lock, recovered);
    await store.checkpointAtStart(recovered.snapshotBytes !== undefined);
    return store;
  } catch (error) {
    await recovered?.journal?.file.close().catch(() => undefined);
    await lock.release();
    throw error;
  }
}

/** What the holder of the lock wrote of itself: ' by process 4711', or nothing. */
async function holderOf(disk: Disk, path: string): Promise<string> {
  try {
    const file = await disk.open(path, 'read');
    const bytes = Buffer.alloc(64);
    const length = await file.read(bytes, 0, bytes.length, 0).finally(() => file.close());
    const match = /^process [0-9]+(?=\n)/.exec(bytes.toString('latin1', 0, length));
    return match === null ? '' : ` by ${match[0]}`;
  } catch {
    // Another user's file, say.
    return '';
  }
}

/** Creates that may wait for the commit under way: past either bound, a create is refused. */
const MAX_QUEUED_PETS = 16_384;
const MAX_QUEUED_BYTES: number = 64 << 20;

/** A journal longer than this is worth a checkpoint when the store opens. */
const LONG_JOURNAL_BYTES: number = 1 << 20;

/** The least time between two tries to bring a dead journal's pets into new files. */
const REPLACE_PAUSE_MS = 1000;

/**
 * For so long a failed create counts as a problem; only a new create can tell whether it is over.
 */
const PROBLEM_MS = 5000;

/** The least time between two lines of the log on the same trouble. */
const LOG_PAUSE_MS = 1000;

const PETS_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384];
const SECONDS_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
];

interface QueuedCreate {
  readonly pet: EncodedNewPet;
  readonly resolve: (pet: EncodedPet) => void;
  readonly reject: (error: Error) => void;
}

class JournaledStore implements FileStore {
  readonly #disk: Disk;
  readonly #paths: StorePaths;
  readonly #lock: DiskLock;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #pets: PetTable;
  readonly #reserveBytes: number;
  #journal: Journal;
  #queue: QueuedCreate[] = [];
  #queuedBytes = 0;
  /** Creates that are in the queue or in the commit under way. */
  #unsettled = 0;
  /** Settles when the queue is empty; undefined while nothing is under way. */
  #commits: Promise<void> | undefined;
  #snapshotBytes: number;
  readonly #commitPets: Histogram = new Histogram(PETS_BOUNDS);
  readonly #commitSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  readonly #syncSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  #refusedCreates = 0;
  #lastReplaceAt = -Infinity;
  #failure: { readonly message: string; readonly at: number } | undefined;
  #failureToldAt = -Infinity;
  #closed: Promise<void> | undefined;

  constructor(
    options: FileStoreOptions & { readonly disk: Disk; readonly log: Log },
    paths: StorePaths,
    lock: DiskLock,
    { pets, journal, snapshotBytes }: Recovered,
  ) {
    this.#disk = options.disk;
    this.#paths = paths;
    this.#lock = lock;
    this.#pets = pets;
    this.#reserveBytes = options.journalReserveBytes ?? JOURNAL_RESERVE_BYTES;
    this.#journal = this.#openJournal(journal);
    this.#log = options.log;
    this.#now = options.now ?? (() => performance.now());
    this.#snapshotBytes = snapshotBytes ?? 0;
  }

  list(query: PetQuery): PetPage {
    return this.#pets.list(query);
  }

  get(id: bigint): EncodedPet | undefined {
    return this.#pets.get(id);
  }

  count(): PetCount {
    return this.#pets.count();
  }

  problem(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    if (this.#pets.lastId === INT64_MAX) return NO_ID_LEFT;
    if (this.#failure === undefined) return undefined;
    return this.#now() - this.#failure.at < PROBLEM_MS ? this.#failure.message : undefined;
  }

  stats(): StoreStats {
    return {
      commitPets: this.#commitPets,
      commitSeconds: this.#commitSeconds,
      syncSeconds: this.#syncSeconds,
      refusedCreates: this.#refusedCreates,
      queueLength: this.#queue.length,
      journalBytes: this.#journal.lengthBytes,
      snapshotBytes: this.#snapshotBytes,
    };
  }

  create(pet: EncodedNewPet): Promise<EncodedPet> {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#refusedCreates += 1;
      return Promise.reject(new StoreUnavailableError(refusal));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ pet, resolve, reject });
      this.#queuedBytes += pet.tail.length;
      this.#unsettled += 1;
      this.#commits ??= this.#commitQueue();
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** The first snapshot of an empty store shows at once whether the place can be written to. */
  async checkpointAtStart(hasSnapshot: boolean): Promise<void> {
    const isNew = !hasSnapshot && this.#journal.lengthBytes === 0;
    if (isNew) {
      await this.#checkpoint();
      this.#log('info', 'Made an empty data file', { file: this.#paths.snapshot });
    } else if (!hasSnapshot || this.#journal.lengthBytes > LONG_JOURNAL_BYTES) {
      await this.#tryCheckpoint();
    }
  }

  #refusal(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    const isFull = this.#queue.length >= MAX_QUEUED_PETS || this.#queuedBytes >= MAX_QUEUED_BYTES;
    if (isFull) return 'Too many pets are waiting to be stored';
    return this.#pets.lastId + BigInt(this.#unsettled) >= INT64_MAX ? NO_ID_LEFT : undefined;
  }

  async #commitQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      this.#queuedBytes = 0;
      await this.#commit(batch);
    }
    this.#commits = undefined;
  }

  /** Settles every create of the batch, and never rejects. */
  async #commit(batch: readonly QueuedCreate[]): Promise<void> {
    try {
      if (this.#journal.isDead) await this.#replaceJournal();
      const { line, pets } = encodeCommit(
        this.#pets.lastId,
        batch.map(({ pet }) => pet),
      );
      const startedAt = performance.now();
      await this.#journal.append(line);
      this.#commitSeconds.observe((performance.now() - startedAt) / 1000);
      this.#commitPets.observe(batch.length);
      for (const { id, pet, status } of pets) this.#pets.append(id, pet, status);
      this.#unsettled -= batch.length;
      if (this.#failure !== undefined) this.#log('info', 'Pets are stored again');
      this.#failure = undefined;
      batch.forEach(({ resolve }, index) => resolve(pets[index]!.pet));
    } catch (error) {
      this.#unsettled -= batch.length;
      this.#refusedCreates += batch.length;
      const message = this.#fail(error);
      for (const { reject } of batch) reject(new StoreUnavailableError(message));
    }
  }

  /** Notes that pets cannot be stored, and tells the log, at most once a second. */
  #fail(error: unknown): string {
    const cause = messageOf(error);
    const at = this.#now();
    if (at - this.#failureToldAt >= LOG_PAUSE_MS) {
      this.#failureToldAt = at;
      this.#log('error', 'Pets cannot be stored', { cause, dataFile: this.#paths.snapshot });
    }
    // What a client is told ends before the path that the system's message may have in it.
    const message = `Pets cannot be stored: ${cause.split(',')[0]}`;
    this.#failure = { message, at };
    return message;
  }

  async #replaceJournal(): Promise<void> {
    const now = this.#now();
    if (now - this.#lastReplaceAt < REPLACE_PAUSE_MS) {
      throw new Error('a sync of the journal failed; new files are tried once a second');
    }
    this.#lastReplaceAt = now;
    await this.#checkpoint();
    this.#log('info', 'Replaced a journal whose sync had failed', { pets: this.#pets.length });
  }

  /** Brings all pets into the snapshot. When it rejects, the old files still hold them all. */
  async #checkpoint(): Promise<void> {
    const { snapshot, tmp, journal } = this.#paths;
    const chunks = encodeSnapshot(this.#pets);
    this.#snapshotBytes = await replaceFile(this.#disk, snapshot, tmp, chunks);
    await this.#disk.remove(journal);
    const removed = this.#journal;
    this.#journal = this.#openJournal();
    // Its file has no name any more, and all that was in it is in the snapshot.
    await removed.close().catch(() => undefined);
  }

  #openJournal(found?: JournalFile): Journal {
    return new Journal(this.#disk, this.#paths, this.#reserveBytes, this.#syncSeconds, found);
  }

  async #tryCheckpoint(): Promise<void> {
    try {
      await this.#checkpoint();
    } catch (error) {
      const details = { cause: messageOf(error), journalBytes: this.#journal.lengthBytes };
      this.#log('warn', 'A checkpoint failed; the journal goes on', details);
    }
  }

  async #close(): Promise<void> {
    try {
      await this.#commits;
      if (this.#journal.lengthBytes > 0 || this.#journal.isDead) await this.#tryCheckpoint();
      await this.#journal.close();
    } finally {
      await this.#lock.release();
    }
  }
}
