/**
 * The file log: a CommitLog in a journal and a data file. Its state decides what it writes, how
 * creates end, and how it closes.
 *
 *   state     event                                                     next state
 *   working   a sync or a roll-back fails, or after a sync the journal  repairing, the commit is
 *             is missing, changed, or cannot be checked                 in doubt
 *   working   the journal is missing or changed before a write, at a    repairing
 *             check once a second, or at the close
 *   working   memory fails, a write is rolled back, or there is no      working, the commit is
 *             journal and none can be made                              refused
 *   repairing a new journal, with the commit in doubt, is durable       working, none in doubt
 *   repairing a try fails; the data file has all pets, none in doubt     working, without a journal
 *   repairing a try fails otherwise                                     repairing, the doubt stays
 *   working, repairing
 *             the lock is lost, the data file is missing, another     readOnly, the doubt stays
 *             file is at a path, or memory fails after a sync
 *   any       close, after the try in progress                          closed, the doubt stays
 *             unless a journal with it is durable
 *
 * A create gets 201 while working; 503 in every other state; 500 `outcome_unknown` if its commit is
 * in doubt after the first try. While working without a journal, after any error of a new one,
 * each commit first tries to make one, and is refused like any write for which there is no room.
 *
 * Invariants:
 *  1. A pet in memory is durable.
 *  2. A journal gets lines, and loses one that failed, only while working. A data file is made only
 *     by a start or a close, never while a commit is in doubt. A saved file is made only while
 *     readOnly or closed, with or without the lock: no other process uses its name.
 *  3. At most one commit is in doubt. It follows the last id in memory. Each new journal has it. It
 *     stays in doubt until it is in memory or the process ends.
 *  4. While repairing or readOnly no create waits in the queue, and each new one is refused.
 *  5. A sync that failed is never repeated on the same file.
 */

import { messageOf } from '../../base/logger.ts';
import type { StoredPet } from '../../model/pet.ts';
import {
  CLOSED,
  isDurable,
  OutcomeUnknownError,
  StoreUnavailableError,
  type Durability,
  type StoreStats,
} from '../../model/pet-store.ts';
import { MAX_NEW_PET_BYTES, TextPet } from '../../model/pet-text.ts';
import type { CommitLimits, CommitLog, RefuseWaiting } from '../commit-log.ts';
import { createCommit, encodeCommit, FILE_COMMIT_BYTES } from '../commit.ts';
import type { Commit, PendingPet } from '../commit.ts';
import type { Outcome } from '../commit-queue.ts';
import { clientMessage, FailureReport } from '../failure-report.ts';
import { KEY_LIFETIME_MS, type KeyHash } from '../table/idempotency-keys.ts';
import { PetTable } from '../table/pet-table.ts';
import { readStoredData } from './stored-data.ts';
import type { Journal, Written } from './journal.ts';
import { ReadOnlyError } from './lock.ts';
import { crcOfPets } from './data-file.ts';
import type { StoreDeps } from './store-deps.ts';
import { JournalLostError, type StoreFiles } from './store-files.ts';

export type FileLogState =
  | { readonly name: 'working' | 'closed' }
  /** When the next try is, by the monotonic clock. */
  | { readonly name: 'repairing'; readonly cause: unknown; readonly nextTryAt: number }
  | { readonly name: 'readOnly'; readonly cause: ReadOnlyError };

/** How often the log checks its files, and makes a try if one is due. */
const TICK_MS = 1000;
/** The pause after a try, by how long it took: a large journal on a bad disk takes seconds. */
const PAUSE_RATIO = 9;
const REPEAT_LOG_MS = 60_000;
/** How long a close retries while the pets are not safe, and while that is unknown. */
const SECURE_MS = 60_000;
const SECURE_UNKNOWN_MS = 2000;

export class FileLog implements CommitLog {
  readonly limits: CommitLimits = {
    fullCommitBytes: FILE_COMMIT_BYTES,
    petBytes: MAX_NEW_PET_BYTES,
    bytesAroundPet: 0,
  };
  readonly lost: Promise<Error>;
  readonly #deps: StoreDeps;
  readonly #files: StoreFiles;
  readonly #failures: FailureReport;
  readonly #stopTicking: () => void;
  #state: FileLogState = { name: 'working' };
  /** The next start may find this commit in the journal, or not. */
  #doubt: Commit | undefined;
  /** The commit, or the check or try of a tick, that is in progress: there is one at a time. */
  #work: Promise<unknown> | undefined;
  #advisedAt = -Infinity;
  #resolveLost: (error: Error) => void = () => undefined;
  #refuseWaiting: RefuseWaiting = () => undefined;

  constructor(deps: StoreDeps, files: StoreFiles) {
    this.#deps = deps;
    this.#files = files;
    const { logger, clock } = deps;
    const events = ['Pets cannot be stored', 'Pets are stored again'] as const;
    this.#failures = new FailureReport(logger, clock, ...events);
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    this.#stopTicking = deps.clock.every(TICK_MS, () => this.#tick());
  }

  onRefusal(refuseWaiting: RefuseWaiting): void {
    this.#refuseWaiting = refuseWaiting;
  }

  now(): number {
    return this.#deps.clock.now();
  }

  get state(): FileLogState['name'] {
    return this.#state.name;
  }

  async commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]> {
    await this.#work;
    return this.#run(this.#commit(creates));
  }

  refusal(): StoreUnavailableError | undefined {
    const state = this.#state;
    switch (state.name) {
      case 'working':
        return undefined;
      case 'repairing': {
        const seconds = Math.max(1, Math.ceil((state.nextTryAt - this.now()) / 1000));
        return new StoreUnavailableError(
          `Pets cannot be stored: ${clientMessage(state.cause)}; the next try is in ${seconds} s`,
          seconds,
        );
      }
      case 'readOnly':
        return new StoreUnavailableError(clientMessage(state.cause));
      case 'closed':
        return new StoreUnavailableError(CLOSED);
    }
  }

  problem(): string | undefined {
    return this.#failures.recent;
  }

  doubtOf(key: KeyHash): string | undefined {
    const isInDoubt = this.#doubt?.keys.some((entry) => entry.key === key) === true;
    return isInDoubt ? this.#doubtMessage() : undefined;
  }

  async waitForRepair(): Promise<boolean> {
    if (this.#state.name !== 'repairing' || this.#work === undefined) return false;
    await this.#work;
    return true;
  }

  stats(): Required<Pick<StoreStats, 'syncSeconds' | 'journalBytes' | 'snapshotBytes'>> {
    return {
      syncSeconds: this.#deps.syncSeconds,
      journalBytes: this.#files.journal?.lengthBytes ?? 0,
      snapshotBytes: this.#files.snapshotBytes,
    };
  }

  durability(): Durability {
    return this.#files.durability();
  }

  async close(): Promise<void> {
    this.#stopTicking();
    await this.#work;
    // Another program may have changed a file since the last check.
    await this.#prepare().catch(() => undefined);
    const mayWrite = this.#state.name !== 'readOnly';
    this.#become({ name: 'closed' });
    try {
      await this.#secureAtClose(mayWrite);
    } finally {
      await this.#files.close();
      await this.#deps.lock.release().catch(() => undefined);
    }
  }

  async #run<T>(work: Promise<T>): Promise<T> {
    this.#work = work;
    try {
      return await work;
    } finally {
      this.#work = undefined;
    }
  }

  /** The only function that changes the state. */
  #become(next: FileLogState): void {
    if (this.#state.name === 'closed') throw new Error('The file log is closed');
    this.#state = next;
    if (next.name !== 'readOnly') return;
    // Before the pets are saved, which may hang.
    const details = { cause: next.cause.message, dataFile: this.#deps.paths.dataFile };
    this.#deps.logger('error', 'The store has become read-only', details);
  }

  async #commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]> {
    const { pets, clock } = this.#deps;
    let commit: Commit;
    let written: Written;
    try {
      const journal = await this.#prepare();
      commit = createCommit(pets.lastId, creates, clock.timeOfDay() + KEY_LIFETIME_MS);
      pets.reserve(commit.pets);
      const assertIntact = (): void => this.#files.assertJournalIntact();
      written = await journal.write(encodeCommit(commit), assertIntact);
    } catch (error) {
      return this.#refuse(creates, error);
    }
    if (written.kind === 'rolled back') return this.#refuse(creates, written.cause);
    try {
      if (written.kind === 'in doubt') throw written.cause;
      // If a stat fails, the line may be in a file that a start would not read.
      await this.#files.recognizeDataFile();
      this.#files.assertJournalIntact();
      this.#publish(commit);
    } catch (error) {
      // The commit that met the fault waits for the first try; all waiting creates are refused.
      await this.#fail(error, commit);
    }
    if (this.#doubt !== commit) {
      return commit.pets.map(({ id, text }) => ({ result: new TextPet(id, text) }));
    }
    const error = new OutcomeUnknownError(this.#doubtMessage());
    return commit.pets.map(() => ({ error }));
  }

  /**
   * Resolves with the journal if a line may be added. Waits for the first try after a fault.
   * Rejects if no line can be added.
   */
  async #prepare(): Promise<Journal> {
    const files = this.#files;
    if (this.#state.name === 'working') {
      try {
        if (files.journal?.isNameDurable !== true) await files.renew();
        files.assertJournalIntact();
        await files.recognizeDataFile();
      } catch (error) {
        const isFault = error instanceof ReadOnlyError || error instanceof JournalLostError;
        if (!isFault) throw error;
        await this.#fail(error);
      }
    }
    // The cast is for the compiler, which ignores that the await may change the state.
    if ((this.#state as FileLogState).name === 'working' && files.journal !== undefined) {
      return files.journal;
    }
    throw this.refusal() ?? new Error('There is no journal');
  }

  /**
   * Leaves `working`, refuses all waiting creates, and makes the first try: to save the pets after
   * a ReadOnlyError, else to write a new journal.
   */
  async #fail(error: unknown, doubt?: Commit): Promise<void> {
    this.#doubt = doubt;
    if (error instanceof ReadOnlyError) this.#become({ name: 'readOnly', cause: error });
    else this.#become({ name: 'repairing', cause: error, nextTryAt: this.now() });
    this.#refuseWaiting(this.refusal()!);
    await this.#tryAgain();
  }

  async #tryAgain(): Promise<void> {
    const state = this.#state;
    if (state.name === 'repairing') await this.#repair(state.cause);
    if (state.name === 'readOnly') await this.#secureReadOnly(state.cause);
  }

  async #repair(cause: unknown): Promise<void> {
    const { logger, pets } = this.#deps;
    const beganAt = this.now();
    try {
      await this.#renewWithDoubt();
      this.#become({ name: 'working' });
      this.#failures.clear();
      logger('info', 'Began a new journal', { cause: messageOf(cause), pets: pets.length });
    } catch (error) {
      if (error instanceof ReadOnlyError) {
        this.#become({ name: 'readOnly', cause: error });
        return this.#secureReadOnly(error);
      }
      this.#recordFailure(error);
      if (this.#doubt === undefined && this.durability() === 'data file') {
        await this.#files.forgetJournal();
        return this.#become({ name: 'working' });
      }
      const pauseMs = Math.max(TICK_MS, PAUSE_RATIO * (this.now() - beganAt));
      this.#become({ name: 'repairing', cause: error, nextTryAt: this.now() + pauseMs });
    }
  }

  /** Writes a new journal, and then puts the commit in doubt into memory, if there is one. */
  async #renewWithDoubt(): Promise<void> {
    await this.#files.renew(this.#doubt);
    if (this.#doubt !== undefined) this.#publish(this.#doubt);
    this.#doubt = undefined;
  }

  /**
   * Puts a durable commit into memory, which has room reserved for it. From now on reads see it.
   * Throws ReadOnlyError if memory fails.
   */
  #publish(commit: Commit): void {
    const { pets, keys } = this.#deps;
    try {
      for (const pet of commit.pets) pets.append(pet);
      for (const entry of commit.keys) keys.add(entry);
    } catch (error) {
      // Memory lacks a durable pet now: no file may be written from it.
      const cause = `Memory failed after a pet was stored: ${messageOf(error)}`;
      throw new ReadOnlyError(cause, true);
    }
    this.#failures.clear();
  }

  #doubtMessage(): string {
    const cause = 'cause' in this.#state ? clientMessage(this.#state.cause) : CLOSED;
    // The name of an error, such as EIO, stays as it is.
    const reason = cause.replace(/^[A-Z](?=[^A-Z])/, (letter) => letter.toLowerCase());
    return `It is not known whether the pet was stored: ${reason}`;
  }

  #refuse(creates: readonly PendingPet[], error: unknown): readonly Outcome<StoredPet>[] {
    const refusal =
      error instanceof StoreUnavailableError
        ? error
        : new StoreUnavailableError(this.#recordFailure(error));
    return creates.map(() => ({ error: refusal }));
  }

  /** Reports that creates could not be stored. Returns the message for clients. */
  #recordFailure(error: unknown): string {
    const message = `Pets cannot be stored: ${clientMessage(error)}`;
    const { dataFile } = this.#deps.paths;
    this.#failures.record(message, { cause: messageOf(error), dataFile });
    return message;
  }

  async #tick(): Promise<void> {
    if (this.#work === undefined) await this.#run(this.#check());
  }

  /** Checks the files while working; else makes a try if one is due. */
  async #check(): Promise<void> {
    const state = this.#state;
    // If a stat fails, the next create or the next tick checks again.
    if (state.name === 'working') await this.#prepare().catch(() => undefined);
    else if (state.name !== 'repairing' || this.now() >= state.nextTryAt) await this.#tryAgain();
  }

  /** Saves the pets if they are not safe, and logs once a minute what an operator should do. */
  async #secureReadOnly(error: ReadOnlyError): Promise<void> {
    const { clock, logger, paths } = this.#deps;
    const { message: cause, canRestart } = error;
    const where = await this.#saveIfNeeded();
    if (clock.now() - this.#advisedAt < REPEAT_LOG_MS) return;
    this.#advisedAt = clock.now();
    // Otherwise a start serves without some pets, or is refused beside the saved file.
    const hasAll = where === 'data file' || where === 'journal' || (await this.#isTakenOver());
    const canContinue = canRestart && hasAll;
    if (canContinue) this.#resolveLost(error);
    const advice = canContinue
      ? 'restart the service'
      : 'stop the service; put back the files of one backup, or rename the saved file to the ' +
        'data file and move the journal away; then start it';
    logger('error', 'The store is read-only', { cause, advice, dataFile: paths.dataFile });
  }

  /** True if data file and journal, now another process's, have all pets of this one. */
  async #isTakenOver(): Promise<boolean> {
    const { pets, memory } = this.#deps;
    try {
      const found = new PetTable(memory);
      await readStoredData({ ...this.#deps, pets: found });
      return crcOfPets(found, pets.lastId) === crcOfPets(pets, pets.lastId);
    } catch {
      return false;
    }
  }

  /** Saves the pets to a separate file if memory may have the only copy. */
  async #saveIfNeeded(): Promise<Durability> {
    const { logger, pets } = this.#deps;
    await this.#files.recognizeDataFile().catch(() => undefined);
    if (isDurable(this.durability())) return this.durability();
    try {
      const file = await this.#files.save();
      const event = 'Saved all acknowledged pets to a separate file, without idempotency keys';
      logger('error', event, { file, pets: pets.length });
    } catch (error) {
      logger('error', 'The acknowledged pets could not be saved', { cause: messageOf(error) });
    }
    return this.durability();
  }

  /**
   * Makes a checkpoint if the store may write, and saves the pets if they are not safe then.
   * Rejects if they still are not; the message says where they are.
   */
  async #secureAtClose(mayWrite: boolean): Promise<void> {
    const { clock, logger, pets, paths } = this.#deps;
    const beganAt = clock.now();
    for (let tries = 1; ; tries += 1) {
      const error = mayWrite
        ? await this.#checkpoint().catch((failure: unknown) => failure)
        : new Error('the store is read-only');
      // Whether a name is durable may be known after one more try.
      const isUnknown = mayWrite && tries === 1 && this.durability() === 'unknown';
      const where = isUnknown ? 'unknown' : await this.#saveIfNeeded();
      if (mayWrite && error !== undefined) {
        logger('warn', 'A checkpoint failed', { cause: messageOf(error), pets: where });
      }
      // The pets are safe, but perhaps not the keys, for which a journal may still be made.
      const mayLackKeys = mayWrite && error !== undefined && where === 'data file' && tries === 1;
      if (isDurable(where) && !mayLackKeys) return;
      const limitMs = where === 'unknown' ? SECURE_UNKNOWN_MS : SECURE_MS;
      if (clock.now() - beganAt >= limitMs) {
        throw new Error(
          `It is not known that the ${pets.length} acknowledged pets are on the disk: ` +
            `${messageOf(error)}. Those that were added after ${paths.dataFile} was written may ` +
            'be lost',
        );
      }
      await clock.sleep(TICK_MS);
    }
  }

  /** A checkpoint has no commit in doubt: a journal that has it must be durable first. */
  async #checkpoint(): Promise<void> {
    if (this.#doubt !== undefined) await this.#renewWithDoubt();
    await this.#files.checkpoint();
  }
}
