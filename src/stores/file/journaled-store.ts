/**
 * The store at work: it puts together the queue of creates, the journal, the pets in memory and the
 * checkpoint, and decides what becomes of a create when one of them fails.
 *
 * Until a line is written, whatever fails refuses its creates. From the sync on there is no way
 * back, since the line may be on the disk: its pets are stored, or nobody can tell.
 */

import zlib from 'node:zlib';
import { Histogram } from '../../base/histogram.ts';
import { INT64_MAX } from '../../base/int64.ts';
import { messageOf, type Log } from '../../base/log.ts';
import type { Memory } from '../../base/memory.ts';
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
import { formatNewPet, readNewPet } from '../../model/pet-text.ts';
import { storedPetOf } from '../../model/stored-pet.ts';
import {
  createCommit,
  encodeCommit,
  type Commit,
  type CommittedKey,
  type PendingPet,
} from '../commits/commit.ts';
import { CommitQueue, type Outcome } from '../commits/commit-queue.ts';
import {
  KEY_LIFETIME_MS,
  type KeyEntry,
  type KeyTable,
  type RequestKey,
} from '../keys/key-table.ts';
import { KeyedCreates, type KnownKey } from '../keys/keyed-creates.ts';
import type { PetTable, TablePet } from '../table/pet-table.ts';
import {
  ForeignSnapshotError,
  journalMaking,
  recognizeSnapshot,
  savePets,
  writeSnapshot,
  type KnownSnapshot,
} from './checkpoint.ts';
import type { Disk, DiskEntry, DiskLock } from './disk.ts';
import { Journal } from './journal.ts';
import type { EncodedLine } from './journal-line.ts';
import type { Recovered } from './recovery.ts';
import { removeFile } from './replace-file.ts';
import { isSameFile } from './same-file.ts';
import { LockLostError } from './store-lock.ts';
import type { StorePaths } from './store-paths.ts';
import { Trouble, withoutPath } from './trouble.ts';

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
  /** Idempotency keys that are held, and those that went before their time to make room. */
  readonly keysHeld: number;
  readonly keysEvicted: number;
  readonly journalBytes: number;
  readonly snapshotBytes: number;
}

export interface FileStore extends PetStore {
  stats(): StoreStats;
}

/** The least time between two tries to bring a dead journal's pets into new files. */
const REPLACE_PAUSE_MS = 1000;

const PETS_BOUNDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16_384];
const SECONDS_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
];

/** What the store works with. */
export interface StorePlace {
  readonly disk: Disk;
  readonly paths: StorePaths;
  readonly memory: Memory;
  readonly randomBits?: (() => number) | undefined;
  readonly lock: DiskLock;
  readonly log: Log;
  now(): number;
  timeOfDay(): number;
  /** Throws LockLostError. */
  guard(): void;
}

export class JournaledStore implements FileStore {
  readonly #place: StorePlace;
  readonly #pets: PetTable;
  readonly #keys: KeyTable;
  readonly #keyedCreates: KeyedCreates;
  readonly #queue: CommitQueue<PendingPet, StoredPet>;
  #journal: Journal;
  #snapshot: KnownSnapshot | undefined;
  /** True when the snapshot has all pets, and those in doubt, durably. */
  #isSnapshotCurrent: boolean;
  /** Why no line can be added to the journal, until all is brought into new files. */
  #deadJournal: { readonly cause: string; readonly leftover: DiskEntry | undefined } | undefined;
  /** What the dead journal may show after the next start: no snapshot may leave it out. */
  #inDoubt: Commit | undefined;
  /** Keys of which nobody can tell whether their pets are stored, and why. */
  readonly #doubtfulKeys: Map<RequestKey, string> = new Map();
  #lastReplaceAt = -Infinity;
  /** While new files are tried in the place of a dead journal. */
  #reviving: Promise<void> | undefined;
  /** Why nothing is written any more, for good. */
  #stopped: string | undefined;
  readonly #trouble: Trouble;
  readonly #commitPets: Histogram = new Histogram(PETS_BOUNDS);
  readonly #commitSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  readonly #syncSeconds: Histogram = new Histogram(SECONDS_BOUNDS);
  #refusedCreates = 0;
  #unknownCreates = 0;
  #closed: Promise<void> | undefined;

  constructor(place: StorePlace, recovered: Recovered) {
    this.#place = place;
    this.#trouble = new Trouble(place.log, place.now, place.paths.snapshot);
    this.#pets = recovered.pets;
    this.#keys = recovered.keys;
    this.#keyedCreates = new KeyedCreates({
      find: (key) => this.#findKey(key),
      create: (newPet, key) => this.#create(newPet, key),
      hold: (newPet) => this.#hold(newPet),
      decide: () => this.#decide(),
    });
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

  get(id: bigint): StoredPet | undefined {
    return this.#pets.get(id);
  }

  count(): PetCount {
    return this.#pets.count();
  }

  problem(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    if (this.#stopped !== undefined) return this.#stopped;
    if (this.#pets.lastId === INT64_MAX) return NO_ID_LEFT;
    return this.#trouble.recent;
  }

  stats(): StoreStats {
    return {
      commitPets: this.#commitPets,
      commitSeconds: this.#commitSeconds,
      syncSeconds: this.#syncSeconds,
      refusedCreates: this.#refusedCreates,
      unknownCreates: this.#unknownCreates,
      queueLength: this.#queue.length,
      keysHeld: this.#keys.length,
      keysEvicted: this.#keys.evicted,
      journalBytes: this.#journal.lengthBytes,
      snapshotBytes: this.#snapshot?.entry.sizeBytes ?? 0,
    };
  }

  create(newPet: NewPet): Promise<StoredPet> {
    return this.#create(newPet);
  }

  async createOnce(newPet: NewPet, key: RequestKey): Promise<CreatedPet> {
    if (this.#closed !== undefined) throw new StoreUnavailableError(CLOSED);
    return this.#keyedCreates.create(readNewPet(newPet), key);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async writeFirstSnapshot(): Promise<void> {
    const { snapshot, syncError } = await writeSnapshot(this.#place, undefined, {
      pets: this.#pets,
      keys: this.#keys,
    });
    if (syncError !== undefined) throw syncError;
    this.#snapshot = snapshot;
    this.#journal = this.#openJournal();
    this.#place.log('info', 'Made an empty data file', { file: this.#place.paths.snapshot });
  }

  async #create(newPet: NewPet, key?: RequestKey): Promise<StoredPet> {
    const values = readNewPet(newPet);
    const members = formatNewPet(values);
    this.#checkTakesPets();
    const bytes = Buffer.byteLength(members) + (key === undefined ? 0 : COMMITTED_KEY_BYTES);
    return this.#queue.add({ members, status: values.status, key }, bytes);
  }

  /** Counts a pet that waits for the outcome of another one with its key. */
  #hold(newPet: NewPet): () => void {
    const members = formatNewPet(newPet);
    this.#checkTakesPets();
    return this.#queue.hold(Buffer.byteLength(members));
  }

  /** A checkpoint decides what became of creates in doubt: tries one, at most once a second. */
  async #decide(): Promise<void> {
    if (this.#deadJournal !== undefined) await this.#prepareJournal().catch(() => undefined);
  }

  #checkTakesPets(): void {
    const refusal = this.#refusal();
    if (refusal === undefined) return;
    this.#refusedCreates += 1;
    throw new StoreUnavailableError(refusal);
  }

  #findKey(key: RequestKey): KnownKey | undefined {
    const doubt = this.#doubtfulKeys.get(key);
    if (doubt !== undefined) return { unknown: doubt };
    const id = this.#keys.find(key);
    const pet = id === undefined ? undefined : this.#pets.get(id);
    return pet === undefined ? undefined : { pet };
  }

  #refusal(): string | undefined {
    if (this.#closed !== undefined) return CLOSED;
    if (this.#stopped !== undefined) return this.#stopped;
    if (this.#queue.isFull) return 'Too many pets are waiting to be stored';
    const isLast = this.#pets.lastId + BigInt(this.#queue.unsettled) >= INT64_MAX;
    return isLast ? NO_ID_LEFT : undefined;
  }

  /** Makes the pets durable together. It never rejects. */
  async #commit(newPets: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]> {
    let commit: Commit;
    let line: EncodedLine;
    try {
      await this.#prepareJournal();
      const expiresAt = this.#place.timeOfDay() + KEY_LIFETIME_MS;
      commit = createCommit(this.#pets.lastId, newPets, expiresAt);
      line = this.#journal.encode(encodeCommit(commit));
      this.#pets.reserve(commit.pets);
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
    return this.#settle(commit, written.kind === 'durable' ? undefined : written.cause);
  }

  /**
   * Settles pets whose line was written: from here on there is no way back, since the line may be
   * on the disk. `doubt` is why it may not. It never rejects.
   */
  async #settle(commit: Commit, doubt: unknown): Promise<readonly Outcome<StoredPet>[]> {
    const { pets, keys } = commit;
    switch (doubt === undefined ? this.#standingAfterSync() : 'gone') {
      case 'ours':
        this.#publish(commit);
        break;
      case 'another':
        await this.#saveAndStop(ANOTHER_JOURNAL);
        break;
      case 'gone':
        this.#inDoubt = commit;
        this.#giveUpJournal(doubt === undefined ? JOURNAL_GONE : messageOf(doubt));
        await this.#replaceJournal().catch((error: unknown) => this.#trouble.note(error));
    }
    const last = pets.at(-1);
    if (last === undefined || last.id <= this.#pets.lastId) {
      return pets.map(({ id, text }) => ({ result: storedPetOf(id, text) }));
    }
    this.#unknownCreates += pets.length;
    const cause = this.#stopped ?? this.#trouble.message ?? messageOf(doubt);
    const message = `It is not known whether the pet was stored: ${lowerFirst(cause)}`;
    for (const { key } of keys) this.#doubtfulKeys.set(key, message);
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
  #publish({ pets, keys }: Commit): void {
    try {
      for (const pet of pets) this.#pets.append(pet);
      for (const entry of withPetCrcs(keys, pets)) this.#keys.add(entry);
    } catch (error) {
      // Memory is behind the disk now: nothing that is made of it may be written.
      return this.#stop(`Memory failed after a pet was stored: ${messageOf(error)}`);
    }
    this.#isSnapshotCurrent = false;
    this.#trouble.end();
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
    // A commit and a retry of what is in doubt may both come here: one of them works for both.
    this.#reviving ??= this.#reviveJournal(cause).finally(() => (this.#reviving = undefined));
    await this.#reviving;
  }

  async #reviveJournal(cause: string): Promise<void> {
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
      if (!this.#isSnapshotCurrent || this.#inDoubt !== undefined) await this.#checkpoint();
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
    const inDoubt = this.#inDoubt;
    const more =
      inDoubt === undefined
        ? {}
        : { morePets: inDoubt.pets, moreKeys: withPetCrcs(inDoubt.keys, inDoubt.pets) };
    const content = { pets: this.#pets, keys: this.#keys, ...more };
    const { snapshot, syncError } = await writeSnapshot(this.#place, this.#snapshot, content);
    this.#snapshot = snapshot;
    if (syncError !== undefined) {
      // Old snapshot or new one: only the old journal goes with either.
      if (this.#deadJournal === undefined) this.#giveUpJournal(messageOf(syncError));
      throw syncError;
    }
    if (inDoubt !== undefined) this.#publish(inDoubt);
    this.#inDoubt = undefined;
    // Where memory failed, the keys are in the files only: the next start tells.
    if (this.#stopped === undefined) this.#doubtfulKeys.clear();
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
      this.#snapshot = await recognizeSnapshot(this.#place, this.#snapshot);
      await removeFile(disk, paths.journal);
    }
    const old = this.#journal;
    this.#journal = this.#openJournal();
    this.#deadJournal = undefined;
    await old.close().catch(() => undefined);
  }

  /** True where the next start finds the journal that has the pets which the snapshot has not. */
  #isJournalThere(): boolean {
    const ours = this.#deadJournal?.leftover ?? this.#journal.entry;
    try {
      const there = this.#place.disk.look(this.#place.paths.journal);
      return there !== undefined && ours !== undefined && isSameFile(there, ours);
    } catch {
      return false;
    }
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
   * answered is in memory: it goes into a file of its own. False where that failed, too.
   */
  async #saveAndStop(reason: string): Promise<boolean> {
    if (this.#stopped !== undefined) return true;
    this.#stop(reason);
    try {
      const file = await savePets(this.#place, this.#pets);
      this.#place.log('error', 'All pets that were answered are in a file of their own', {
        file,
        pets: this.#pets.length,
      });
      return true;
    } catch (error) {
      this.#place.log('error', 'All pets that were answered could not be saved', {
        cause: messageOf(error),
      });
      return false;
    }
  }

  #refuse(count: number, error: unknown): readonly Outcome<StoredPet>[] {
    this.#refusedCreates += count;
    const message = this.#stopped ?? this.#trouble.note(error);
    return Array.from({ length: count }, () => ({ error: new StoreUnavailableError(message) }));
  }

  async #close(): Promise<void> {
    const { lock, log } = this.#place;
    try {
      await this.#queue.settled();
      await this.#reviving?.catch(() => undefined);
      // One that was made for a line that failed is empty, and goes too.
      const isDue = this.#journal.entry !== undefined || this.#deadJournal !== undefined;
      if (isDue && this.#stopped === undefined) await this.#replaceJournal();
    } catch (error) {
      const details = { cause: messageOf(error), journalBytes: this.#journal.lengthBytes };
      if (this.#isSnapshotCurrent || this.#isJournalThere()) {
        log('warn', 'A checkpoint failed; the journal goes on', details);
      } else if (!(await this.#saveAndStop(`${JOURNAL_GONE}, and a checkpoint failed`))) {
        const count = this.#pets.length;
        throw new Error(
          `The journal was removed, and ${messageOf(error)}: of ${count} pets, those that were ` +
            `added since ${this.#place.paths.snapshot} was written are lost`,
        );
      }
    } finally {
      // Here, and where a journal is replaced: nobody else closes a file of an open store.
      await this.#journal.close().catch(() => undefined);
      await lock.release();
    }
  }
}

/** About what a key takes in a commit's text. */
const COMMITTED_KEY_BYTES = 80;

/** The entries of these keys, which are those of some of the pets. */
function withPetCrcs(
  keys: readonly CommittedKey[],
  pets: readonly TablePet[],
): readonly KeyEntry[] {
  // The ids of a commit follow each other.
  const firstId = pets[0]?.id ?? 0n;
  const textOf = (id: bigint): string => pets[Number(id - firstId)]?.text ?? '';
  return keys.map(({ key, id, expiresAt }) => {
    return { key, id, expiresAt, petCrc: zlib.crc32(textOf(id)) };
  });
}

const JOURNAL_GONE = 'the journal was removed';
const ANOTHER_JOURNAL = 'Another file is in the place of the journal';

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
