/**
 * The file log: a CommitLog in a journal and a snapshot. It has one state, which decides what it
 * writes, how creates end, and how it closes.
 *
 * file-log-state.ts has the states, the table of their transitions, and the invariants. Only
 * `#become` changes the state, and it checks each transition.
 */

import { messageOf } from '../../base/log.ts';
import type { StoredPet } from '../../model/pet.ts';
import {
  CLOSED,
  isSafe,
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetsLocation,
  type StoreStats,
} from '../../model/pet-store.ts';
import { MAX_PET_BYTES } from '../../model/pet-text.ts';
import { storedPetOf } from '../../model/stored-pet.ts';
import type { CommitLimits, CommitLog, LogTarget } from '../commit-log.ts';
import { createCommit, encodeCommit, type Commit, type PendingPet } from '../commits/commit.ts';
import { FULL_COMMIT_BYTES, type Outcome } from '../commits/commit-queue.ts';
import { KEY_LIFETIME_MS, type KeyHash } from '../idempotency/key-table.ts';
import { withPetCrcs } from './checkpoint.ts';
import { assertNext, doubtOf, type FileLogState } from './file-log-state.ts';
import type { EncodedLine } from './journal-line.ts';
import { JournalLostError, ReadOnlyError } from './path-state.ts';
import { saveIfNeeded, secureAtClose } from './secure-pets.ts';
import type { StoreDeps } from './store-deps.ts';
import type { StoreFiles } from './store-files.ts';
import { clientMessage, WriteFailures } from './write-failures.ts';

type StateNamed<Name> = FileLogState & { readonly name: Name };

/** How often the log checks its files, and makes a try if one is due. */
const TICK_MS = 1000;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 10_000;
const REPEAT_LOG_MS = 60_000;

export class FileLog implements CommitLog {
  readonly limits: CommitLimits = {
    fullCommitBytes: FULL_COMMIT_BYTES,
    petBytes: MAX_PET_BYTES,
    bytesAroundPet: 0,
  };
  readonly lost: Promise<Error>;
  readonly #deps: StoreDeps;
  readonly #files: StoreFiles;
  readonly #target: LogTarget;
  readonly #failures: WriteFailures;
  readonly #stopTicking: () => void;
  #state: FileLogState = { name: 'working' };
  /** The try in progress to revive the journal, or to secure the pets of a read-only store. */
  #work: Promise<void> | undefined;
  #isWriting = false;
  #loggedAt = -Infinity;
  #resolveLost: (error: Error) => void = () => undefined;

  /** `obsoleteCause` is why an obsolete journal cannot be removed; undefined if none remains. */
  constructor(deps: StoreDeps, files: StoreFiles, target: LogTarget, obsoleteCause?: string) {
    this.#deps = deps;
    this.#files = files;
    this.#target = target;
    this.#failures = new WriteFailures(deps);
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    if (obsoleteCause !== undefined) this.#become(this.#reviving(obsoleteCause, undefined));
    this.#stopTicking = deps.clock.every(TICK_MS, () => this.#tick());
  }

  now(): number {
    return this.#deps.clock.now();
  }

  get state(): FileLogState['name'] {
    return this.#state.name;
  }

  async commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]> {
    const { pets, clock } = this.#deps;
    let commit: Commit;
    let line: EncodedLine;
    try {
      await this.#prepare();
      commit = createCommit(pets.lastId, creates, clock.timeOfDay() + KEY_LIFETIME_MS);
      line = this.#files.journal.encode(encodeCommit(commit));
      pets.reserve(commit.pets);
    } catch (error) {
      return this.#refuse(creates, error);
    }
    this.#isWriting = true;
    const written = await this.#files.journal.write(line, () => this.#files.assertOwned());
    this.#isWriting = false;
    if (written.kind === 'rolled back') return this.#refuse(creates, written.cause);
    try {
      if (written.kind === 'in doubt') throw written.cause;
      // If a stat fails, the line may be in a file that a start would not read.
      this.#files.assertOwned(line.bytes.length);
      this.#files.journal.append(line);
      this.#publish(commit);
    } catch (error) {
      this.#fail(error, commit);
    }
    // The commit that met the fault waits for the first try; all waiting creates are refused.
    await this.#work;
    return this.#outcomesOf(commit);
  }

  refusal(): StoreUnavailableError | undefined {
    const state = this.#state;
    switch (state.name) {
      case 'working':
        return undefined;
      case 'reviving': {
        const waitMs = Math.max(0, state.nextTryAt - this.#deps.clock.now());
        const seconds = Math.max(1, Math.ceil(waitMs / 1000));
        return new StoreUnavailableError(
          `Pets cannot be stored: ${clientMessage(state.cause)}; the next try is in ${seconds} s`,
          seconds,
        );
      }
      case 'readOnly':
        return new StoreUnavailableError(clientMessage(state.cause), MAX_PAUSE_MS / 1000);
      case 'closing':
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

  async resolveDoubt(): Promise<boolean> {
    if (this.#work === undefined) return false;
    await this.#work;
    return true;
  }

  stats(): Required<Pick<StoreStats, 'syncSeconds' | 'journalBytes' | 'snapshotBytes'>> {
    return {
      syncSeconds: this.#deps.syncSeconds,
      journalBytes: this.#files.journal.lengthBytes,
      snapshotBytes: this.#files.snapshotBytes,
    };
  }

  whereAreThePets(): PetsLocation {
    return this.#files.whereAreThePets();
  }

  async close(): Promise<void> {
    this.#stopTicking();
    await this.#work;
    // Another program may have changed the journal since the last tick.
    await this.#prepare().catch(() => undefined);
    const mayWrite = this.#state.name !== 'readOnly';
    this.#become({ name: 'closing', doubt: this.#doubt });
    try {
      const checkpoint = (): Promise<void> =>
        this.#files.renewJournal(this.#doubt, () => this.#publishDoubt(), ['checkpoint']);
      await secureAtClose(this.#files, this.#deps, mayWrite ? checkpoint : undefined);
    } finally {
      await this.#files.journal.close().catch(() => undefined);
      await this.#deps.lock.release().catch(() => undefined);
      this.#become({ name: 'closed', doubt: this.#doubt });
    }
  }

  /** The only function that changes the state. */
  #become(next: FileLogState): void {
    assertNext(this.#state, next, this.#deps.pets.lastId);
    this.#state = next;
  }

  get #doubt(): Commit | undefined {
    return doubtOf(this.#state);
  }

  #reviving(
    cause: unknown,
    doubt: Commit | undefined,
    pauseMs = 0,
    freeBytes = Infinity,
  ): FileLogState {
    const nextTryAt = this.#deps.clock.now() + pauseMs;
    return { name: 'reviving', cause, doubt, nextTryAt, pauseMs, freeBytes };
  }

  /** Waits for the first try after a fault. Rejects if no line can be added. */
  async #prepare(): Promise<void> {
    if (this.#state.name === 'working') {
      try {
        return this.#files.assertOwned(0);
      } catch (error) {
        const isFault = error instanceof ReadOnlyError || error instanceof JournalLostError;
        if (!isFault) throw error;
        this.#fail(error, undefined);
        await this.#work;
      }
    }
    // The cast is for the compiler, which ignores that the await may change the state.
    if ((this.#state as FileLogState).name !== 'working') throw this.refusal()!;
  }

  /**
   * Leaves `working`, refuses all waiting creates, and begins the first try: to secure the pets
   * after a ReadOnlyError, else to renew the journal.
   */
  #fail(error: unknown, doubt: Commit | undefined): void {
    if (error instanceof ReadOnlyError) this.#becomeReadOnly(error, doubt);
    else this.#become(this.#reviving(error, doubt));
    this.#target.refuseWaiting(this.refusal()!);
    this.#begin();
  }

  #becomeReadOnly({ message, canRestart }: ReadOnlyError, doubt: Commit | undefined): void {
    this.#become({ name: 'readOnly', cause: message, doubt, canRestart });
  }

  /** Begins a try to revive the journal, or to secure the pets. */
  #begin(): void {
    const state = this.#state;
    const work = state.name === 'reviving' ? this.#revive(state) : this.#secureReadOnly();
    this.#work = work.finally(() => (this.#work = undefined));
  }

  async #revive({ cause, doubt, pauseMs }: StateNamed<'reviving'>): Promise<void> {
    try {
      await this.#files.renewJournal(doubt, () => this.#publishDoubt());
      this.#become({ name: 'working' });
      this.#failures.clear();
      const details = { cause: messageOf(cause), pets: this.#deps.pets.length };
      this.#deps.log('info', 'Began a new journal', details);
    } catch (error) {
      await this.#reviveLater(error, pauseMs);
    }
  }

  async #reviveLater(error: unknown, lastPauseMs: number): Promise<void> {
    if (error instanceof ReadOnlyError) {
      this.#becomeReadOnly(error, this.#doubt);
      return this.#secureReadOnly();
    }
    this.#failures.record(error);
    const pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, 2 * lastPauseMs), MAX_PAUSE_MS);
    const freeBytes = await this.#files.freeBytes();
    this.#become(this.#reviving(error, this.#doubt, pauseMs, freeBytes));
  }

  /**
   * Puts a durable commit into memory, which has room reserved for it. From now on reads see it.
   * Throws ReadOnlyError if memory fails.
   */
  #publish(commit: Commit): void {
    const { pets, keys } = this.#deps;
    try {
      for (const pet of commit.pets) pets.append(pet);
      for (const entry of withPetCrcs(commit)) keys.add(entry);
    } catch (error) {
      // Memory lacks a durable pet now: the data file must not be written from it.
      const cause = `Memory failed after a pet was stored: ${messageOf(error)}`;
      throw new ReadOnlyError(cause, true);
    }
    this.#failures.clear();
  }

  #publishDoubt(): void {
    const state = this.#state;
    const doubt = doubtOf(state);
    if (doubt === undefined) return;
    this.#publish(doubt);
    this.#become({ ...state, doubt: undefined } as FileLogState);
  }

  #outcomesOf({ pets }: Commit): readonly Outcome<StoredPet>[] {
    const last = pets.at(-1);
    if (last !== undefined && last.id <= this.#deps.pets.lastId) {
      return pets.map(({ id, text }) => ({ result: storedPetOf(id, text) }));
    }
    const error = new OutcomeUnknownError(this.#doubtMessage());
    return pets.map(() => ({ error }));
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
        : new StoreUnavailableError(this.#failures.record(error));
    return creates.map(() => ({ error: refusal }));
  }

  async #tick(): Promise<void> {
    if (this.#work !== undefined || this.#isWriting) return;
    const state = this.#state;
    // If a stat fails, the next create or the next tick checks again.
    if (state.name === 'working') await this.#prepare().catch(() => undefined);
    if (state.name === 'readOnly') {
      if (!isSafe(this.whereAreThePets())) this.#begin();
      this.#repeatAdvice(state);
    }
    if (state.name === 'reviving') {
      const isDue = this.#deps.clock.now() >= state.nextTryAt;
      const hasRoom = isDue || (await this.#files.freeBytes()) > state.freeBytes;
      if (hasRoom && this.#state === state && this.#work === undefined) this.#begin();
    }
    await this.#work;
  }

  async #secureReadOnly(): Promise<void> {
    const state = this.#state;
    if (state.name !== 'readOnly') return;
    this.#repeatAdvice(state);
    const where = await saveIfNeeded(this.#files, this.#deps);
    if (isSafe(where) && state.canRestart) this.#resolveLost(new Error(state.cause));
  }

  /** Logs once a minute what an operator should do. */
  #repeatAdvice({ cause, canRestart }: StateNamed<'readOnly'>): void {
    const { clock, log, paths } = this.#deps;
    if (clock.now() - this.#loggedAt < REPEAT_LOG_MS) return;
    this.#loggedAt = clock.now();
    const advice = canRestart
      ? 'restart the service'
      : 'stop the service; put back the files of one backup, or rename the saved file to the ' +
        'data file and move the journal away; then start it';
    log('error', 'The store has become read-only', { cause, advice, dataFile: paths.snapshot });
  }
}
