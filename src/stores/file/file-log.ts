/**
 * The file log: a CommitLog in a journal and a snapshot. It has one state, which decides what it
 * writes, how creates end, and how it closes.
 *
 * file-log-state.ts has the states, the table of their transitions, and the invariants. Only
 * `#become` changes the state, and it checks each transition.
 */

import { dirname } from 'node:path';
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
import type { DiskLock } from './disk.ts';
import type { EncodedLine } from './journal-line.ts';
import { assertNext, doubtOf, type FileLogState } from './file-log-state.ts';
import { saveIfNeeded, secureAtClose } from './secure-pets.ts';
import { ReadOnlyError } from './path-state.ts';
import {
  JOURNAL_REPLACED,
  withPetCrcs,
  type StoreFiles,
  type StoreFilesDeps,
} from './store-files.ts';
import { clientMessage, WriteFailures } from './write-failures.ts';

export interface FileLogDeps extends StoreFilesDeps {
  readonly target: LogTarget;
  readonly lock: DiskLock;
}

/** Why the log cannot continue. At a ReadOnlyError it stops writing, else it renews its journal. */
type Fault = ReadOnlyError | Error | string;

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
  readonly #deps: FileLogDeps;
  readonly #files: StoreFiles;
  readonly #failures: WriteFailures;
  readonly #stopTicking: () => void;
  #state: FileLogState = { name: 'working' };
  /** The try in progress to revive the journal, or to secure the pets of a read-only store. */
  #work: Promise<void> | undefined;
  #isWriting = false;
  #loggedAt = -Infinity;
  #resolveLost: (error: Error) => void = () => undefined;

  /** `obsoleteCause` is why an obsolete journal cannot be removed; undefined if there is none. */
  constructor(deps: FileLogDeps, files: StoreFiles, obsoleteCause?: string) {
    this.#deps = deps;
    this.#files = files;
    this.#failures = new WriteFailures(deps.log, deps.clock.now, deps.paths.snapshot);
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
    const written = await this.#files.journal.write(line, () => this.#assertOwned());
    this.#isWriting = false;
    if (written.kind === 'rolled back') return this.#refuse(creates, written.cause);
    const fault =
      written.kind === 'durable' ? this.#faultAfterSync(line.bytes.length) : asError(written.cause);
    if (fault === undefined) {
      this.#files.journal.append(line);
      this.#publish(commit);
    } else {
      this.#fail(fault, commit);
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
    await this.#work;
    this.#stopTicking();
    const mayWrite = this.#state.name !== 'readOnly';
    this.#become({ name: 'closing', doubt: this.#doubt });
    try {
      const checkpoint = (): Promise<void> =>
        this.#files.checkpoint(this.#doubt, () => this.#publishDoubt());
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
    cause: Error | string,
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
      const fault = this.#fault(0);
      if (fault === undefined) return;
      this.#fail(fault, undefined);
      await this.#work;
    }
    // The cast is for the compiler, which ignores that the await may change the state.
    if ((this.#state as FileLogState).name !== 'working') throw this.refusal()!;
  }

  /**
   * Returns what is wrong with the lock or the journal, or undefined. The journal's file must have
   * `extra` bytes after its complete lines. Throws if a stat fails.
   */
  #fault(extra: number | undefined): Fault | undefined {
    try {
      this.#deps.assertLockHeld();
    } catch (error) {
      if (error instanceof ReadOnlyError) return error;
      throw error;
    }
    const { journal } = this.#files;
    switch (journal.pathState(extra)) {
      case 'same':
        return undefined;
      case 'missing':
        return 'the journal was removed';
      case 'changed':
        journal.isTrusted = false;
        return 'another program has changed the journal';
      case 'replaced':
        return new ReadOnlyError(JOURNAL_REPLACED, false);
    }
  }

  /** As `#fault`. If a stat fails, the line may be in a file that a start would not read. */
  #faultAfterSync(lineBytes: number): Fault | undefined {
    try {
      return this.#fault(lineBytes);
    } catch (error) {
      return asError(error);
    }
  }

  #assertOwned(): void {
    const fault = this.#fault(undefined);
    if (fault !== undefined) throw asError(fault);
  }

  /** Leaves `working`, refuses all waiting creates, and begins the first try. */
  #fail(fault: Fault, doubt: Commit | undefined): void {
    if (fault instanceof ReadOnlyError) this.#becomeReadOnly(fault, doubt);
    else this.#become(this.#reviving(fault, doubt));
    this.#deps.target.refuseWaiting(this.refusal()!);
    this.#begin();
  }

  #becomeReadOnly(found: ReadOnlyError, doubt: Commit | undefined): void {
    // The file that was found may belong to a process that took the lock since the last check.
    const { message, canRestart } = this.#lockLoss() ?? found;
    this.#become({ name: 'readOnly', cause: message, doubt, canRestart });
  }

  #lockLoss(): ReadOnlyError | undefined {
    try {
      this.#deps.assertLockHeld();
      return undefined;
    } catch (error) {
      return error instanceof ReadOnlyError ? error : undefined;
    }
  }

  /** Begins a try to revive the journal, or to secure the pets. */
  #begin(): void {
    const work = this.#state.name === 'reviving' ? this.#revive() : this.#secureReadOnly();
    this.#work = work.finally(() => (this.#work = undefined));
  }

  async #revive(): Promise<void> {
    const state = this.#state;
    if (state.name !== 'reviving') return;
    const { cause, doubt, pauseMs } = state;
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
    const freeBytes = await this.#freeBytes();
    this.#become(this.#reviving(asError(error), this.#doubt, pauseMs, freeBytes));
  }

  /** An unknown number counts as infinite: then only the clock decides about the next try. */
  async #freeBytes(): Promise<number> {
    const { disk, paths } = this.#deps;
    return disk.freeBytes(dirname(paths.snapshot)).catch(() => Infinity);
  }

  /**
   * Puts a durable commit into memory, which has room reserved for it. From now on reads see it.
   */
  #publish(commit: Commit): void {
    const { pets, keys } = this.#deps;
    try {
      for (const pet of commit.pets) pets.append(pet);
      for (const entry of withPetCrcs(commit)) keys.add(entry);
    } catch (error) {
      // Memory lacks a durable pet now: the data file must not be written from it.
      const cause = `Memory failed after a pet was stored: ${messageOf(error)}`;
      const fault = new ReadOnlyError(cause, true);
      if (this.#state.name !== 'working') throw fault;
      return this.#fail(fault, commit);
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
    return `It is not known whether the pet was stored: ${lowerFirst(cause)}`;
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
    if (state.name === 'working') this.#lookAtFiles();
    if (state.name === 'readOnly') {
      if (!isSafe(this.whereAreThePets())) this.#begin();
      this.#repeatAdvice(state);
    }
    if (state.name === 'reviving') {
      const isDue = this.#deps.clock.now() >= state.nextTryAt;
      const hasRoom = isDue || (await this.#freeBytes()) > state.freeBytes;
      if (hasRoom && this.#state === state && this.#work === undefined) this.#begin();
    }
    await this.#work;
  }

  #lookAtFiles(): void {
    try {
      const fault = this.#fault(0);
      if (fault !== undefined) this.#fail(fault, undefined);
    } catch {
      // The stat failed: the next create or the next tick checks again.
    }
  }

  async #secureReadOnly(): Promise<void> {
    const state = this.#state;
    if (state.name !== 'readOnly') return;
    this.#repeatAdvice(state);
    const where = await saveIfNeeded(this.#files, this.#deps);
    if (isSafe(where) && state.canRestart) this.#resolveLost(new Error(state.cause));
  }

  /** Logs once a minute what an operator should do. */
  #repeatAdvice({ cause, canRestart }: FileLogState & { readonly name: 'readOnly' }): void {
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

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
