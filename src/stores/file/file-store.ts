/**
 * The file store: a PetStore that loses nothing, in three files.
 *
 *     pets.json          the snapshot, replaced as a whole at a checkpoint
 *     pets.json.journal  the creates since, one line for each commit
 *     pets.json.lock     held while the store is open, never removed
 *
 * A create is answered when its line in the journal is synced, and seen by reads from then on. All
 * creates that arrive while a sync is under way share the next one (commits/commit-queue.ts). What
 * can be known of a create is told as it is: it is stored; or nothing of it is there, nor will be;
 * or, after a sync that failed, nobody can tell.
 */

import { dirname, resolve } from 'node:path';
import { OPEN_BRACKET } from '../../base/ascii.ts';
import { Histogram } from '../../base/histogram.ts';
import { INT64_MAX } from '../../base/int64.ts';
import { skipSpace } from '../../base/json.ts';
import { messageOf, safeLog, silent, type Log } from '../../base/log.ts';
import { systemMemory, type Memory } from '../../base/memory.ts';
import type { EncodedNewPet, EncodedPet } from '../../model/encoded-pet.ts';
import {
  CLOSED,
  NO_ID_LEFT,
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetCount,
  type PetPage,
  type PetQuery,
  type PetStore,
} from '../../model/pet-store.ts';
import { createCommit, encodeCommit, type CommittedPet } from '../commits/commit.ts';
import { CommitQueue, type Outcome } from '../commits/commit-queue.ts';
import type { PetTable } from '../table/pet-table.ts';
import {
  checkSnapshot,
  ForeignSnapshotError,
  journalMaking,
  savePets,
  writeSnapshot,
  type KnownSnapshot,
} from './checkpoint.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk, DiskEntry, DiskLock } from './disk.ts';
import { Journal } from './journal.ts';
import type { EncodedLine } from './journal-line.ts';
import { withLine } from './line-of.ts';
import { nodeDisk } from './node-disk.ts';
import { fileAt, recover, withFile, type Recovered } from './recovery.ts';
import { removeFile } from './replace-file.ts';
import { isSameFile, standingOf } from './same-file.ts';
import { storePaths, type StorePaths } from './store-paths.ts';

export interface FileStoreOptions {
  /** The data file. Its folder is made; a symbolic link is followed first. */
  readonly path: string;
  readonly log?: Log | undefined;
  /** For tests: where the files are. */
  readonly disk?: Disk | undefined;
  /** For tests: where memory comes from. */
  readonly memory?: Memory | undefined;
  /** For tests: from when on a journal is worth a checkpoint at a start, in bytes. */
  readonly longJournalBytes?: number | undefined;
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
  /** Creates of which nobody can tell whether they were stored. */
  readonly unknownCreates: number;
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
  const { disk = nodeDisk, memory = systemMemory, longJournalBytes = LONG_JOURNAL_BYTES } = options;
  const log = safeLog(options.log ?? silent);
  await disk.makeDirectory(dirname(options.path)).catch((error: unknown) => {
    throw new Error(`The folder of ${options.path} cannot be made: ${messageOf(error)}`);
  });
  const paths = storePaths(await disk.resolve(options.path));
  await expectArray(disk, paths.snapshot);
  const lock = await takeLock(disk, paths);
  const place = { disk, paths, memory, guard: lockGuard(disk, paths, lock) };
  let recovered: Recovered | undefined;
  try {
    recovered = await recover({ ...place, log, longJournalBytes });
    const now = options.now ?? (() => performance.now());
    const store = new JournaledStore({ ...place, lock, log, now }, recovered);
    // The first snapshot of an empty store shows at once whether the place can be written to.
    if (recovered.snapshot === undefined) await store.writeFirstSnapshot();
    return store;
  } catch (error) {
    await recovered?.journal?.file.close().catch(() => undefined);
    await lock.release();
    throw await withLine(disk, error);
  }
}

/** A journal longer than this is worth a checkpoint when the store opens. */
const LONG_JOURNAL_BYTES: number = 64 << 20;

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

/** What the store works with. */
interface StorePlace {
  readonly disk: Disk;
  readonly paths: StorePaths;
  readonly memory: Memory;
  readonly lock: DiskLock;
  readonly log: Log;
  now(): number;
  /** Throws LockLostError. */
  guard(): void;
}

class JournaledStore implements FileStore {
  readonly #place: StorePlace;
  readonly #pets: PetTable;
  readonly #queue: CommitQueue<EncodedNewPet, EncodedPet>;
  #journal: Journal;
  #snapshot: KnownSnapshot | undefined;
  /** True when the snapshot has all pets, and those in doubt, durably. */
  #isSnapshotCurrent: boolean;
  /** Why no line can be added to the journal, until all is brought into new files. */
  #deadJournal: { readonly cause: string; readonly leftover: DiskEntry | undefined } | undefined;
  /** Pets that the dead journal may show after the next start: no snapshot may leave them out. */
  #inDoubt: readonly CommittedPet[] = [];
  #lastReplaceAt = -Infinity;
  /** Why nothing is written any more, for good. */
  #stopped: string | undefined;
  readonly #commitPets: Histogram = new Histogram(PETS_BOUNDS);
  readonly #commitSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  readonly #syncSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  #refusedCreates = 0;
  #unknownCreates = 0;
  #failure: { readonly message: string; readonly at: number } | undefined;
  #failureToldAt = -Infinity;
  #closed: Promise<void> | undefined;

  constructor(place: StorePlace, recovered: Recovered) {
    this.#place = place;
    this.#pets = recovered.pets;
    this.#snapshot = recovered.snapshot;
    this.#isSnapshotCurrent = recovered.isSnapshotCurrent;
    this.#queue = new CommitQueue((newPets) => this.#commit(newPets));
    this.#journal = this.#openJournal(recovered.journal);
    if (recovered.leftover !== undefined) {
      const cause = 'an old journal cannot be removed';
      this.#deadJournal = { cause, leftover: recovered.leftover };
    }
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
    if (this.#stopped !== undefined) return this.#stopped;
    if (this.#pets.lastId === INT64_MAX) return NO_ID_LEFT;
    if (this.#failure === undefined) return undefined;
    return this.#place.now() - this.#failure.at < PROBLEM_MS ? this.#failure.message : undefined;
  }

  stats(): StoreStats {
    return {
      commitPets: this.#commitPets,
      commitSeconds: this.#commitSeconds,
      syncSeconds: this.#syncSeconds,
      refusedCreates: this.#refusedCreates,
      unknownCreates: this.#unknownCreates,
      queueLength: this.#queue.length,
      journalBytes: this.#journal.lengthBytes,
      snapshotBytes: this.#snapshot?.entry.sizeBytes ?? 0,
    };
  }

  create(pet: EncodedNewPet): Promise<EncodedPet> {
    const refusal = this.#refusal();
    if (refusal === undefined) return this.#queue.add(pet, pet.tail.length);
    this.#refusedCreates += 1;
    return Promise.reject(new StoreUnavailableError(refusal));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async writeFirstSnapshot(): Promise<void> {
    await syncFolders(this.#place.disk, dirname(this.#place.paths.snapshot));
    const { snapshot, syncError } = await writeSnapshot(this.#place, undefined, this.#pets);
    if (syncError !== undefined) throw syncError;
    this.#snapshot = snapshot;
    this.#journal = this.#openJournal();
    this.#place.log('info', 'Made an empty data file', { file: this.#place.paths.snapshot });
  }

  #refusal(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    if (this.#stopped !== undefined) return this.#stopped;
    if (this.#queue.isFull) return 'Too many pets are waiting to be stored';
    const isLast = this.#pets.lastId + BigInt(this.#queue.unsettled) >= INT64_MAX;
    return isLast ? NO_ID_LEFT : undefined;
  }

  /** Makes the pets durable together. It never rejects. */
  async #commit(newPets: readonly EncodedNewPet[]): Promise<readonly Outcome<EncodedPet>[]> {
    let pets: readonly CommittedPet[];
    let line: EncodedLine;
    try {
      await this.#prepareJournal();
      const commit = createCommit(this.#pets.lastId, newPets);
      pets = commit.pets;
      line = this.#journal.encode(encodeCommit(commit));
      this.#pets.reserve(pets);
    } catch (error) {
      // Nothing was written yet.
      return this.#refuse(newPets.length, error);
    }
    const { disk, paths } = this.#place;
    const startedAt = performance.now();
    const written = await this.#journal.write(
      line,
      () => journalMaking(disk, paths),
      () => this.#standing() === 'ours',
    );
    this.#commitSeconds.observe((performance.now() - startedAt) / 1000);
    this.#commitPets.observe(newPets.length);
    if (written.kind === 'taken back') return this.#refuse(newPets.length, written.cause);
    return this.#settle(pets, written.kind === 'durable' ? undefined : written.cause);
  }

  /**
   * Settles pets whose line was written: from here on there is no way back, since the line may be
   * on the disk. `doubt` is why it may not. It never rejects.
   */
  async #settle(
    pets: readonly CommittedPet[],
    doubt: unknown,
  ): Promise<readonly Outcome<EncodedPet>[]> {
    switch (doubt === undefined ? this.#standingAfterSync() : 'gone') {
      case 'ours':
        this.#publish(pets);
        break;
      case 'another':
        await this.#saveAndStop(ANOTHER_JOURNAL);
        break;
      case 'gone':
        this.#inDoubt = pets;
        this.#giveUpJournal(doubt === undefined ? JOURNAL_GONE : messageOf(doubt));
        await this.#replaceJournal().catch((error: unknown) => this.#fail(error));
    }
    const last = pets.at(-1);
    if (last === undefined || last.id <= this.#pets.lastId) {
      return pets.map(({ pet }) => ({ result: pet }));
    }
    this.#unknownCreates += pets.length;
    const cause = this.#stopped ?? this.#failure?.message ?? messageOf(doubt);
    const message = `It is not known whether the pet was stored: ${lowerFirst(cause)}`;
    return pets.map(() => ({ error: new OutcomeUnknownError(message) }));
  }

  /** Where it cannot be told, the line may be nowhere that a start would look. */
  #standingAfterSync(): 'ours' | 'gone' | 'another' | 'stopped' {
    try {
      return this.#standing();
    } catch {
      return 'gone';
    }
  }

  /** Puts durable pets into memory, for which there is room: reads see them from now on. */
  #publish(pets: readonly CommittedPet[]): void {
    try {
      for (const { id, pet, status } of pets) this.#pets.append(id, pet, status);
    } catch (error) {
      // Memory is behind the disk now: nothing that is made of it may be written.
      return this.#stop(`Memory failed after a pet was stored: ${messageOf(error)}`);
    }
    this.#isSnapshotCurrent = false;
    if (this.#failure !== undefined) this.#place.log('info', 'Pets are stored again');
    this.#failure = undefined;
  }

  /** Throws while no line can be added. */
  async #prepareJournal(): Promise<void> {
    if (this.#stopped !== undefined) throw new Error(this.#stopped);
    const standing = this.#standing();
    if (standing === 'another') await this.#saveAndStop(ANOTHER_JOURNAL);
    if (this.#stopped !== undefined) throw new Error(this.#stopped);
    if (standing === 'gone') this.#giveUpJournal(JOURNAL_GONE);
    if (this.#deadJournal === undefined) return;
    const { cause } = this.#deadJournal;
    if (this.#place.now() - this.#lastReplaceAt < REPLACE_PAUSE_MS) {
      throw new Error(`${withoutPath(cause)}; new files are tried once a second`);
    }
    await this.#replaceJournal();
    this.#place.log('info', 'Began a new journal', { cause, pets: this.#pets.length });
  }

  /**
   * How lock and journal stand. Where the lock is lost, the store stops: another process may be
   * writing.
   */
  #standing(): 'ours' | 'gone' | 'another' | 'stopped' {
    try {
      this.#place.guard();
    } catch (error) {
      if (!(error instanceof LockLostError)) throw error;
      this.#stop(error.message);
      return 'stopped';
    }
    return this.#deadJournal === undefined ? this.#journal.standing() : 'ours';
  }

  /** Adds no line to the journal any more: what it holds has to be brought into new files. */
  #giveUpJournal(cause: string): void {
    this.#deadJournal = { cause, leftover: this.#journal.entry };
  }

  /** Brings all pets, those in doubt too, into a new snapshot, and begins a new journal. */
  async #replaceJournal(): Promise<void> {
    this.#lastReplaceAt = this.#place.now();
    try {
      if (!this.#isSnapshotCurrent || this.#inDoubt.length > 0) await this.#checkpoint();
      if (this.#stopped === undefined) await this.#removeJournal();
    } catch (error) {
      if (error instanceof LockLostError) this.#stop(error.message);
      if (error instanceof ForeignSnapshotError) await this.#saveAndStop(error.message);
      throw error;
    }
  }

  /**
   * Brings all pets, those in doubt too, into the snapshot. When it rejects, the old files are
   * whole; when that is not certain, the journal is dead.
   */
  async #checkpoint(): Promise<void> {
    const written = await writeSnapshot(this.#place, this.#snapshot, this.#pets, this.#inDoubt);
    const { snapshot, syncError } = written;
    this.#snapshot = snapshot;
    if (syncError !== undefined) {
      // Old snapshot or new one: only the old journal goes with either.
      if (this.#deadJournal === undefined) this.#giveUpJournal(messageOf(syncError));
      throw syncError;
    }
    this.#publish(this.#inDoubt);
    this.#inDoubt = [];
    this.#isSnapshotCurrent = true;
  }

  /** Removes a journal of which the snapshot has all, and makes ready for a new one. */
  async #removeJournal(): Promise<void> {
    const { disk, paths, guard } = this.#place;
    const leftover = this.#deadJournal?.leftover ?? this.#journal.entry;
    const cause = this.#deadJournal?.cause ?? 'the journal could not be removed';
    // Until it is gone, no other one can begin.
    this.#deadJournal = { cause, leftover };
    guard();
    const there = disk.look(paths.journal);
    if (there !== undefined) {
      if (leftover === undefined || !isSameFile(there, leftover)) {
        await this.#saveAndStop(ANOTHER_JOURNAL);
        throw new Error(this.#stopped);
      }
      // From here on it is the only file that has the pets.
      checkSnapshot(disk, paths, this.#snapshot);
      await removeFile(disk, paths.journal);
    }
    const old = this.#journal;
    this.#journal = this.#openJournal();
    this.#deadJournal = undefined;
    await old.close().catch(() => undefined);
  }

  #openJournal(found?: Recovered['journal']): Journal {
    const { disk, paths, memory } = this.#place;
    const id = this.#snapshot?.id ?? { crc: 0, lastId: 0n };
    const syncSeconds = this.#syncSeconds;
    return new Journal({ disk, path: paths.journal, memory, syncSeconds }, id, found);
  }

  /** Writes nothing any more: every create is refused from now on. */
  #stop(reason: string): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    const dataFile = this.#place.paths.snapshot;
    this.#place.log('error', 'No pets are stored any more: restart the service', {
      cause: reason,
      dataFile,
    });
  }

  /**
   * Somebody else put files in the place of ours. They are not ours to overwrite, and what was
   * answered is in memory: it goes into a file of its own.
   */
  async #saveAndStop(reason: string): Promise<void> {
    if (this.#stopped !== undefined) return;
    this.#stop(reason);
    try {
      const file = await savePets(this.#place, this.#pets);
      this.#place.log('error', 'All pets that were answered are in a file of their own', {
        file,
        pets: this.#pets.length,
      });
    } catch (error) {
      this.#place.log('error', 'All pets that were answered could not be saved', {
        cause: messageOf(error),
      });
    }
  }

  #refuse(count: number, error: unknown): readonly Outcome<EncodedPet>[] {
    this.#refusedCreates += count;
    const message = this.#stopped ?? this.#fail(error);
    return Array.from({ length: count }, () => ({ error: new StoreUnavailableError(message) }));
  }

  /** Notes that pets cannot be stored, and tells the log, at most once a second. */
  #fail(error: unknown): string {
    const cause = messageOf(error);
    const at = this.#place.now();
    if (at - this.#failureToldAt >= LOG_PAUSE_MS) {
      this.#failureToldAt = at;
      const dataFile = this.#place.paths.snapshot;
      this.#place.log('error', 'Pets cannot be stored', { cause, dataFile });
    }
    const message = `Pets cannot be stored: ${withoutPath(cause)}`;
    this.#failure = { message, at };
    return message;
  }

  async #close(): Promise<void> {
    const { lock, log } = this.#place;
    try {
      await this.#queue.settled();
      const isDue = this.#journal.lengthBytes > 0 || this.#deadJournal !== undefined;
      if (isDue && this.#stopped === undefined) await this.#replaceJournal();
    } catch (error) {
      const details = { cause: messageOf(error), journalBytes: this.#journal.lengthBytes };
      log('warn', 'A checkpoint failed; the journal goes on', details);
    } finally {
      // Here, and where a journal is replaced: nobody else closes a file of an open store.
      await this.#journal.close().catch(() => undefined);
      await lock.release();
    }
  }
}

const JOURNAL_GONE = 'the journal was removed';
const ANOTHER_JOURNAL = 'Another file is in the place of the journal';

/** Another process may hold the lock, and be writing. */
class LockLostError extends Error {
  override readonly name: string = 'LockLostError';
}

function lockGuard(disk: Disk, paths: StorePaths, lock: DiskLock): () => void {
  const entry = lock.look();
  return () => {
    const standing = standingOf(disk, paths.lock, entry);
    if (standing === 'ours') return;
    const what = standing === 'gone' ? 'was removed' : 'was replaced';
    throw new LockLostError(
      `The lock file ${what}, or its folder moved: another process may be writing`,
    );
  };
}

const LOCK_TRIES = 3;

/** Takes the lock of the file that is at the name, and stays there. */
async function takeLock(disk: Disk, paths: StorePaths): Promise<DiskLock> {
  const owner = disk.look(paths.snapshot)?.owner ?? disk.look(dirname(paths.lock))?.owner;
  for (let tries = 1; ; tries += 1) {
    const lock = await disk.lock(paths.lock, { owner });
    if (lock === undefined) {
      const holder = await holderOf(disk, paths.lock);
      throw new Error(`${paths.snapshot} is in use already: ${paths.lock} is held${holder}`);
    }
    try {
      if (standingOf(disk, paths.lock, lock.look()) === 'ours') return lock;
    } catch (error) {
      await lock.release();
      throw error;
    }
    await lock.release();
    if (tries === LOCK_TRIES) {
      throw new Error(
        `${paths.lock} was removed while it was being locked, or is on a file system that does ` +
          'not say which file it is: no store can be kept there',
      );
    }
  }
}

/** What is no data file at all is refused before a lock file is made beside it. */
async function expectArray(disk: Disk, path: string): Promise<void> {
  if (fileAt(disk, path) === undefined) return;
  const bytes = Buffer.alloc(4096);
  const length = await withFile(disk, path, (file) => file.read(bytes, 0, bytes.length, 0));
  const start = skipSpace(bytes.subarray(0, length), 0);
  if (start === length || bytes[start] === OPEN_BRACKET) return;
  throw new DamagedFileError({
    path,
    offset: start,
    complaint: 'It is no array of pets',
    advice: 'Name another file: a new one is made where there is none',
  });
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

/**
 * Makes the names of the folder and of those above it durable: they may have been made just now, or
 * by a process that was killed before it came to this. A folder that may not be read is not ours.
 */
async function syncFolders(disk: Disk, path: string): Promise<void> {
  for (let folder = resolve(path); folder !== dirname(folder); folder = dirname(folder)) {
    await disk.syncDirectory(dirname(folder)).catch((error: unknown) => {
      if (!['EACCES', 'EPERM'].includes(String((error as { code?: unknown }).code))) throw error;
    });
  }
}

/** What a client is told ends before the path that the system's message may have in it. */
function withoutPath(cause: string): string {
  return cause.replace(/, .*$/s, '');
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
