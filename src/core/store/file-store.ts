/**
 * The file store: a PetStore whose acknowledged pets outlive the process. All pets are in memory,
 * and in one file, to whose end each commit is written (format.ts).
 *
 *     create ─▶ queue ─▶ ids ─▶ room in memory ─▶ write ─▶ sync ─▶ table, seen by reads ─▶ 201
 *
 * A create has one of three outcomes: stored; refused, and nothing of it will ever appear; or
 * unknown, after a commit that may be on the disk or not: that commit is the *doubt*.
 *
 * In place, a commit that was not written whole is cut off again. If anything else is wrong with
 * the file, a new one is written from memory, which has every acknowledged pet.
 *
 *     state      creates get       leaves it
 *     working    201; 503 if it    a sync or a roll-back fails, nothing is at the path any more:
 *                is rolled back    repairing. Another file is there, or this one was changed, or
 *                                  memory fails after a sync: ended. With the doubt, if the fault
 *                                  is met after the write
 *     repairing  503; 500 if the   a new file, with the doubt as its last commit, is durable in its
 *                key is in doubt   place: working; the create that met the fault waits for the
 *                                  first try. Another file is at the path: ended
 *     ended      503; 500 if the   never. If the data file does not have all pets, they go to a
 *                key is in doubt   saved file. Then `lost` resolves: a new process may look
 *     closed     503; 500 if the   never
 *                key is in doubt
 *
 * A full queue, and a close in progress, refuse creates in any state. One thing is done at a time:
 * a commit, a check once a second, a try to repair or to save. If only memory has the pets at the
 * end of a stop, they go to a saved file, too.
 */

import { randomInt } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { clientMessage, FailureReport } from '../base/failure-report.ts';
import { messageOf, safeLogger, silentLogger, type Logger } from '../base/logger.ts';
import { row, type Measurement } from '../base/measurement.ts';
import { systemClock } from '../base/system.ts';
import type { NewPet, StoredPet } from '../pets/pet.ts';
import {
  CLOSED,
  NO_ID_LEFT,
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreateOnceResult,
  type PageQuery,
  type PetCount,
  type PetStore,
  type StoredPage,
  type WherePetsAre,
} from '../pets/pet-store.ts';
import { CommitQueue, petsOf, queuedCreate, type QueuedCreate } from './commit-queue.ts';
import { CreateFigures } from './create-figures.ts';
import {
  CHANGED,
  FOLDER_CHANGED,
  createDataFile,
  NotOursError,
  REMOVED,
  unfinishedPath,
  type Appended,
  type DataFile,
  type StoreDeps,
} from './data-file.ts';
import { isSameFile, syncFolders, type FileAttributes } from './disk.ts';
import { bytesOfFile, FULL_COMMIT_BYTES, LINE_EXTRA_BYTES, lineOf, writeFile } from './format.ts';
import { KEY_LIFETIME_MS, type KeyHash } from './idempotency-keys.ts';
import { KeyedCreates } from './keyed-creates.ts';
import { nodeDisk } from './node-disk.ts';
import { replaceFile } from './replace-file.ts';
import { openDataFile, savedPath, type Opened } from './start.ts';
import type { Tables } from './tables.ts';

/** Creates that become durable together. */
interface Commit {
  readonly pets: readonly StoredPet[];
  /** The key of each pet. */
  readonly keys: readonly (KeyHash | undefined)[];
  readonly lines: string;
}

type State =
  | { readonly name: 'working'; readonly file: DataFile }
  | {
      readonly name: 'repairing';
      readonly cause: unknown;
      readonly doubt: Commit | undefined;
      /** The path may lead to any of them: a rename that fails may have taken effect. */
      readonly files: readonly DataFile[];
      readonly nextTryAt: number;
    }
  | {
      readonly name: 'ended';
      readonly cause: Error;
      readonly doubt: Commit | undefined;
      readonly files: readonly DataFile[];
      /** The file to which all pets were saved. */
      readonly saved: string | undefined;
    }
  | {
      readonly name: 'closed';
      readonly where: WherePetsAre;
      readonly doubt: Commit | undefined;
    };

/** What has the acknowledged pets, and that as a sentence for an operator. */
type Whereabouts = readonly [where: WherePetsAre, text: string];

/** How often the store checks its file, and makes a try if one is due. */
const TICK_MS = 1000;
/** The pause after a try, by how long it took: a large file on a bad disk takes seconds. */
const PAUSE_RATIO = 9;
const REPEAT_LOG_MS = 60_000;
/**
 * How long the store still tries after `drain`, which a busy server calls up to 4 s after the
 * signal. The process ends 10 s after the signal, and the pets may have to be saved before.
 */
const STOP_MS = 5_000;

/** The rest is what tests replace. */
export interface FileStoreOptions extends Partial<
  Pick<StoreDeps, 'clock' | 'disk' | 'randomBits'>
> {
  /** The data file. A symbolic link is followed, and a missing folder is made. */
  readonly path: string;
  readonly log?: Logger | undefined;
}

/** Opens the store. Rejects if its file is damaged or in use; it is unchanged then. */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const { clock = systemClock, disk = nodeDisk } = options;
  const { log = silentLogger, randomBits = () => randomInt(2 ** 32) } = options;
  const logger = safeLogger(log);
  await disk.makeDirectory(dirname(options.path)).catch((error: unknown) => {
    throw new Error(`The folder of ${options.path} cannot be made: ${messageOf(error)}`);
  });
  const configuredPath = resolve(options.path);
  const path = await disk.resolve(configuredPath);
  const folder = disk.stat(dirname(path));
  const deps = { disk, randomBits, configuredPath, path, folder, clock, logger };
  const beside = await disk.lockBeside?.(`${path}.lock`);
  try {
    return new FileStore(deps, await openDataFile(deps), async () => beside?.close());
  } catch (error) {
    await beside?.close();
    throw error;
  }
}

export class FileStore implements PetStore {
  readonly lost: Promise<Error>;
  readonly #deps: StoreDeps;
  readonly #tables: Tables;
  /** Of the data file, for each new one. */
  readonly #attributes: FileAttributes;
  readonly #unlockBeside: () => Promise<void>;
  readonly #queue: CommitQueue<QueuedCreate>;
  readonly #keyed: KeyedCreates;
  readonly #failures: FailureReport;
  readonly #stopTicking: () => void;
  readonly #figures: CreateFigures = new CreateFigures();
  #state: State;
  /** The commit, the check or the try that is in progress. */
  #work: Promise<unknown> | undefined;
  #advisedAt = -Infinity;
  #stoppingAt: number | undefined;
  #closing: Promise<void> | undefined;
  #resolveLost: (error: Error) => void = () => undefined;

  constructor(deps: StoreDeps, { file, tables }: Opened, unlockBeside: () => Promise<void>) {
    const { clock, logger } = deps;
    this.#deps = deps;
    this.#tables = tables;
    this.#attributes = file.identity;
    this.#unlockBeside = unlockBeside;
    this.#state = { name: 'working', file };
    this.#queue = new CommitQueue((take) => this.#commit(take), FULL_COMMIT_BYTES);
    this.#keyed = new KeyedCreates(tables, (key) => this.#doubtOf(key), this.#queue);
    const events = ['Pets cannot be stored', 'Pets are stored again'] as const;
    this.#failures = new FailureReport(logger, clock, ...events);
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    this.#stopTicking = clock.every(TICK_MS, () => this.#tick());
  }

  async list(query: PageQuery): Promise<StoredPage> {
    return this.#tables.pets.list(query);
  }

  async get(id: bigint): Promise<StoredPet | undefined> {
    return this.#tables.pets.get(id);
  }

  count(): PetCount {
    return this.#tables.pets.count();
  }

  async create(newPet: NewPet): Promise<StoredPet> {
    return this.#figures.count(this.#create(queuedCreate(newPet)));
  }

  async createOnce(newPet: NewPet, key: KeyHash): Promise<CreateOnceResult> {
    const queued = queuedCreate(newPet, key);
    const create = (): Promise<StoredPet> => this.#create(queued);
    return this.#figures.count(this.#keyed.createOnce(queued.members, key, create));
  }

  unreadiness(): string | undefined {
    if (this.#closing !== undefined) return CLOSED;
    const failure = this.#refusal()?.message ?? this.#failures.recent;
    if (failure !== undefined) {
      return this.durability() === 'memory' ? `${failure}. ${ONLY_MEMORY}` : failure;
    }
    return this.#tables.pets.hasIdsFor(1) ? undefined : NO_ID_LEFT;
  }

  measurements(): readonly Measurement[] {
    const rows = this.#figures.measurements(this.#queue.length, this.#tables.keys);
    if (this.#state.name !== 'working') return rows;
    const { sizeBytes } = this.#state.file;
    return [...rows, row('gauge', 'store_data_file_bytes', 'Length of the data file', sizeBytes)];
  }

  /** Where all acknowledged pets are. */
  durability(): WherePetsAre {
    const state = this.#state;
    if (state.name === 'closed') return state.where;
    if (filesOf(state).some((file) => file.isThere())) return 'data file';
    return state.name === 'ended' && state.saved !== undefined ? 'saved file' : 'memory';
  }

  /** True while a call of the disk is in progress, which may hang. */
  isWriting(): boolean {
    return this.#work !== undefined;
  }

  /** The name of the state, for tests. */
  get state(): State['name'] {
    return this.#state.name;
  }

  drain(): void {
    this.#stoppingAt ??= this.#deps.clock.now();
  }

  close(): Promise<void> {
    this.drain();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #create(create: QueuedCreate): Promise<StoredPet> {
    const refusal =
      this.#closing === undefined ? this.#refusal() : new StoreUnavailableError(CLOSED);
    if (refusal !== undefined) throw refusal;
    const hasIdLeft = this.#tables.pets.hasIdsFor(this.#queue.pendingCount + 1);
    if (!hasIdLeft) throw new StoreUnavailableError(NO_ID_LEFT);
    return this.#queue.add(create, Buffer.byteLength(create.members) + LINE_EXTRA_BYTES);
  }

  /** Returns the error for a new create, or undefined if the store accepts it. */
  #refusal(): StoreUnavailableError | undefined {
    const state = this.#state;
    if (state.name === 'working') return undefined;
    if (state.name === 'closed') return new StoreUnavailableError(CLOSED);
    const cause = clientMessage(state.cause);
    if (state.name === 'ended') return new StoreUnavailableError(cause);
    const seconds = Math.max(1, Math.ceil((state.nextTryAt - this.#deps.clock.now()) / 1000));
    const message = `Pets cannot be stored: ${cause}; the next try is in ${seconds} s`;
    return new StoreUnavailableError(message, seconds);
  }

  /** Does one thing after the other. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    while (this.#work !== undefined) await this.#work;
    const working = work();
    this.#work = working.catch(() => undefined);
    try {
      return await working;
    } finally {
      this.#work = undefined;
    }
  }

  #commit(take: () => readonly QueuedCreate[]): Promise<readonly StoredPet[]> {
    return this.#alone(async () => {
      const { clock } = this.#deps;
      const startedAt = clock.now();
      const creates = take();
      try {
        return await this.#store(creates);
      } finally {
        this.#figures.countCommit(creates.length, clock.now() - startedAt);
      }
    });
  }

  async #store(creates: readonly QueuedCreate[]): Promise<readonly StoredPet[]> {
    let commit: Commit;
    let file: DataFile;
    let appended: Appended;
    try {
      commit = commitOf(creates, this.#tables.pets.lastId);
      this.#tables.pets.reserve(commit.pets);
      // There may be a new file afterwards.
      await this.#repairUnlessOurs('check');
      const state = this.#state;
      if (state.name !== 'working') throw this.#refusal();
      ({ file } = state);
      appended = await file.append(commit.lines);
    } catch (error) {
      // Memory failed, or the system did not say what is at the path: nothing was written.
      throw this.#refused(error);
    }
    if (appended.kind === 'rolled back') {
      // If another program has changed the file between the look and the write, no create is tried
      // on it again.
      await this.#try();
      throw this.#refused(appended.cause);
    }
    if (appended.kind === 'durable') await this.#publish(commit, file);
    else await this.#beginRepair(appended.cause, file, commit);
    // Either way, memory has the commit now, or the state has it as its doubt.
    if (this.#doubt === commit) throw this.#unknown();
    return commit.pets;
  }

  /** Leaves `working` if the file has changed. Rejects if the system does not say that. */
  async #repairUnlessOurs(check: 'check' | 'checkLinks'): Promise<void> {
    const state = this.#state;
    if (state.name !== 'working' || (await state.file[check]()) === 'ours') return;
    await this.#beginRepair(new Error(REMOVED), state.file);
  }

  /**
   * Puts a durable commit into memory, which has room reserved for it. Reads see it from then on.
   */
  async #publish(commit: Commit, file: DataFile): Promise<void> {
    const { pets, keys } = this.#tables;
    const endsAt = this.#deps.clock.now() + KEY_LIFETIME_MS;
    try {
      for (const [index, pet] of commit.pets.entries()) {
        pets.append(pet);
        const key = commit.keys[index];
        if (key !== undefined) keys.add(key, pet.id, endsAt);
      }
      this.#failures.clear();
    } catch (error) {
      // Memory lacks a durable pet now, which was never acknowledged: nothing more may be stored,
      // and the data file stays.
      const cause = new Error(`Memory failed after a pet was stored: ${messageOf(error)}`);
      await this.#end(cause, [file], commit);
    }
  }

  async #beginRepair(cause: unknown, file: DataFile, doubt?: Commit): Promise<void> {
    const { clock, logger, path } = this.#deps;
    this.#become({ name: 'repairing', cause, doubt, files: [file], nextTryAt: clock.now() });
    await this.#repair();
    if (this.#state.name !== 'repairing') return;
    // By its inode, an operator finds a file that was moved.
    const details = { cause: messageOf(cause), inode: file.identity.inode, file: path };
    logger('error', 'The data file has to be written anew', details);
  }

  /** Writes a new file from memory, which replaces one that must not be written any more. */
  async #repair(): Promise<void> {
    const state = this.#state;
    if (state.name !== 'repairing') return;
    const { path, clock, logger } = this.#deps;
    const { cause, doubt } = state;
    const beganAt = clock.now();
    let { files } = state;
    for (const file of files) if (!file.hasAll) await file.proveContent();
    try {
      const there = await this.#ourFile(files);
      files = await keepNeeded(files, there);
      await this.#expectRoom();
      const file = await createDataFile(this.#deps, this.#tables, {
        by: there === undefined ? 'link or rename' : 'rename',
        attributes: this.#attributes,
        doubt: doubt?.lines,
        beforeName: async (newFile) => {
          if (!(await newFile.lock('exclusive'))) throw new Error('The new file is locked');
          if ((await this.#ourFile(files)) !== there) throw new Error(REMOVED);
        },
        keep: (newFile) => {
          // After a power failure the old one may be at the path again.
          newFile.isNameDurable = there?.hasAll === true && there.isNameDurable;
          files = [...files, newFile];
        },
      });
      for (const old of files) await old.close().catch(() => undefined);
      this.#become({ name: 'working', file });
      if (doubt === undefined) this.#failures.clear();
      else await this.#publish(doubt, file);
      // Only now: the program may send the key in doubt in its log.
      logger('info', 'Wrote a new data file from memory', { cause: messageOf(cause), file: path });
    } catch (error) {
      if (error instanceof NotOursError) return this.#end(error, files, doubt);
      const isThere = files.some((file) => file.isThere());
      const pauseMs = isThere ? PAUSE_RATIO * (clock.now() - beganAt) : 0;
      const nextTryAt = clock.now() + Math.max(TICK_MS, pauseMs);
      this.#become({ name: 'repairing', cause: error, doubt, files, nextTryAt });
      this.#recordFailure(error);
      if (this.durability() === 'memory') this.#advise(error);
    }
  }

  /**
   * Resolves with the file of this store at the path, or with undefined if nothing is there.
   * Rejects with NotOursError if another one is there, or another folder.
   */
  async #ourFile(files: readonly DataFile[]): Promise<DataFile | undefined> {
    const { disk, path, folder } = this.#deps;
    const isFolderOurs = isSameFile(disk.stat(dirname(path)), folder);
    let isRemoved = isFolderOurs && disk.stat(path) === undefined;
    for (const file of files) {
      const answer = await file.checkLinks();
      if (answer === 'ours') return file;
      if (answer === 'removed') isRemoved = true;
    }
    if (isRemoved) return undefined;
    throw new NotOursError(isFolderOurs ? CHANGED : FOLDER_CHANGED);
  }

  /** Rejects if the file system reports less room. If it cannot report it, the write is tried. */
  async #expectRoom(): Promise<void> {
    const { disk, path } = this.#deps;
    const free = await disk.freeBytes(dirname(path)).catch(() => Infinity);
    const bytes = this.#neededBytes;
    if (free >= bytes) return;
    throw new Error(`ENOSPC: no space left on device: ${bytes} bytes are needed, ${free} are free`);
  }

  /** Ends the store: a new process, or an operator, has to look at the files. */
  async #end(cause: Error, open: readonly DataFile[], doubt: Commit | undefined): Promise<void> {
    // A file that was replaced, and so has no name, keeps room that the saved one may need.
    const files = await keepNeeded(open, undefined);
    this.#become({ name: 'ended', cause, doubt, files, saved: undefined });
    const { logger, path } = this.#deps;
    const details = { cause: cause.message, where: this.durability(), file: path };
    logger('error', 'The store has ended', details);
    await this.#save();
  }

  /** Saves all pets to a separate file, if the data file does not have them. */
  async #save(): Promise<void> {
    const state = this.#state;
    if (state.name !== 'ended') return;
    if (this.durability() === 'memory') {
      const { logger } = this.#deps;
      try {
        await this.#expectRoom();
        // The next try makes another one.
        const saved = await this.#writeSavedFile((named) => this.#deps.disk.remove(named));
        this.#become({ ...state, saved });
        const details = { file: saved, pets: this.#tables.pets.length };
        logger('error', 'Saved all acknowledged pets to a separate file', details);
      } catch (error) {
        return this.#advise(error);
      }
    }
    this.#resolveLost(state.cause);
  }

  /** If it fails, `keep` is called with a saved file that may be there, and not durably. */
  async #writeSavedFile(keep: (saved: string) => Promise<void> | void): Promise<string> {
    const { disk, path, clock, randomBits } = this.#deps;
    const saved = savedPath(path, new Date(clock.timeOfDay()));
    // The folder may have been removed, with those above it.
    await disk.makeDirectory(dirname(saved));
    await syncFolders(disk, saved);
    const file = await replaceFile(disk, {
      path: saved,
      unfinished: unfinishedPath(path, randomBits()),
      attributes: this.#attributes,
      by: 'link or rename',
      write: async (append) => void (await writeFile(this.#tables, 'clean', append)),
      keep: (named) => named.close().finally(() => keep(saved)),
    });
    await file.close().catch(() => undefined);
    return saved;
  }

  /** Says once a minute that only memory has the pets, and how much room they need. */
  #advise(error: unknown): void {
    const { clock, logger, path } = this.#deps;
    if (clock.now() - this.#advisedAt < REPEAT_LOG_MS) return;
    this.#advisedAt = clock.now();
    logger('error', ONLY_MEMORY, {
      cause: messageOf(error),
      advice: `remove the cause; the new file beside ${path} takes ${this.#neededBytes} bytes`,
    });
  }

  async #tick(): Promise<void> {
    const state = this.#state;
    const isDue = state.name !== 'repairing' || this.#deps.clock.now() >= state.nextTryAt;
    if (this.#work === undefined && isDue) await this.#alone(() => this.#try());
  }

  /** Checks the file, or tries to repair, or to save. */
  async #try(): Promise<void> {
    // If the system does not say what is there, the next create or the next second asks again.
    if (this.#state.name === 'working') {
      const look = this.#repairUnlessOurs('checkLinks');
      return look.catch((error: unknown) => void this.#recordFailure(error));
    }
    return this.#state.name === 'ended' ? this.#save() : this.#repair();
  }

  async #close(): Promise<void> {
    const { clock } = this.#deps;
    const stoppingAt = this.#stoppingAt ?? clock.now();
    await this.#queue.whenIdle();
    this.#stopTicking();
    const stop = async (): Promise<void> => {
      await this.#try();
      await this.#markClean();
    };
    await this.#alone(stop);
    // As long as memory may have the only copy. No call of the disk is in progress in the pauses.
    while (this.durability() === 'memory' && clock.now() - stoppingAt < STOP_MS) {
      await clock.sleep(TICK_MS);
      await this.#alone(stop);
    }
    const elsewhere = await this.#alone(() => this.#closeFiles());
    await this.#unlockBeside();
    if (elsewhere !== undefined) throw new Error(elsewhere);
  }

  /** Marks the data file as clean, if it is known to have all pets. */
  async #markClean(): Promise<void> {
    const { logger, path } = this.#deps;
    const state = this.#state;
    if (state.name !== 'working' || !state.file.isThere()) return;
    await state.file.markClean().catch((error: unknown) => {
      // Nothing is lost: the next start reads a file in use.
      const event = 'The data file could not be marked as clean';
      logger('warn', event, { cause: messageOf(error), file: path });
    });
  }

  /** Resolves with what has the acknowledged pets, unless it is the data file. */
  async #closeFiles(): Promise<string | undefined> {
    const files = filesOf(this.#state);
    let where = this.durability();
    let elsewhere: string | undefined;
    if (where !== 'data file') [where, elsewhere] = await this.#saveAtLast(files);
    this.#become({ name: 'closed', where, doubt: this.#doubt });
    for (const file of files) await file.close().catch(() => undefined);
    return elsewhere;
  }

  /**
   * Resolves with what has the acknowledged pets, for an operator. If that is only memory, they are
   * saved: a saved file needs neither a lock nor the name of the data file, and whether it has room
   * is not estimated but tried.
   */
  async #saveAtLast(files: readonly DataFile[]): Promise<Whereabouts> {
    const { path } = this.#deps;
    const state = this.#state;
    const all = `all ${this.#tables.pets.length} acknowledged pets`;
    const inSaved = (saved: string): Whereabouts => {
      return ['saved file', `${saved} has ${all}: ${path} may lack some`];
    };
    if (state.name === 'ended' && state.saved !== undefined) return inSaved(state.saved);
    let text = `Only memory had ${all}: those that are in no backup are lost`;
    for (const file of files) {
      const hasAll = await file.proveContent();
      if (hasAll === false || !file.isLinked()) continue;
      const named = `The file with the inode ${file.identity.inode}`;
      if (hasAll === undefined) {
        text = `${named} cannot be read: nobody knows whether it has ${all}. If not, they are lost`;
        continue;
      }
      return ['memory', `${named} has ${all}, but ${path} may not lead to it`];
    }
    const keep = (saved: string): void => {
      text = `${saved} may have ${all}: a power failure may take its name`;
    };
    try {
      return inSaved(await this.#writeSavedFile(keep));
    } catch {
      return ['memory', text];
    }
  }

  /** The only function that changes the state. */
  #become(next: State): void {
    if (this.#state.name === 'closed') throw new Error(CLOSED);
    this.#state = next;
  }

  /** How many bytes a new file takes at most. */
  get #neededBytes(): number {
    return bytesOfFile(this.#tables, this.#doubt?.lines);
  }

  get #doubt(): Commit | undefined {
    return 'doubt' in this.#state ? this.#state.doubt : undefined;
  }

  #doubtOf(key: KeyHash): OutcomeUnknownError | undefined {
    return this.#doubt?.keys.includes(key) === true ? this.#unknown() : undefined;
  }

  #unknown(): OutcomeUnknownError {
    const cause = 'cause' in this.#state ? clientMessage(this.#state.cause) : CLOSED;
    // The name of an error, such as EIO, stays as it is.
    const reason = cause.replace(/^[A-Z](?=[^A-Z])/, (letter) => letter.toLowerCase());
    return new OutcomeUnknownError(`It is not known whether the pet was stored: ${reason}`);
  }

  /** Returns the error of a commit of which nothing was written. */
  #refused(cause: unknown): StoreUnavailableError {
    if (cause instanceof StoreUnavailableError) return cause;
    return new StoreUnavailableError(this.#recordFailure(cause));
  }

  /** Reports that creates could not be stored. Returns the message for clients. */
  #recordFailure(error: unknown): string {
    const message = `Pets cannot be stored: ${clientMessage(error)}`;
    // Each try has another unfinished file, but not another cause.
    const cause = messageOf(error).replace(/(?<=\.unfinished-)[0-9a-f]+/, '*');
    const details = { cause, where: this.durability(), file: this.#deps.path };
    this.#failures.record(message, details);
    return message;
  }
}

const ONLY_MEMORY = 'Only memory has the pets: do not stop the service';

/** Gives the waiting creates their ids, which follow the last one. */
function commitOf(creates: readonly QueuedCreate[], lastId: bigint): Commit {
  const pets = petsOf(creates, lastId);
  const keys = creates.map(({ key }) => key);
  const lines = pets.map(({ text }, index) => lineOf(text, keys[index])).join('\n,');
  return { pets, keys, lines };
}

function filesOf(state: State): readonly DataFile[] {
  if (state.name === 'closed') return [];
  return state.name === 'working' ? [state.file] : state.files;
}

/**
 * Closes the files that are not needed any more. If one is at the path, all others; otherwise those
 * that have no name at all, since that frees their room. Returns what is kept.
 */
async function keepNeeded(
  files: readonly DataFile[],
  there: DataFile | undefined,
): Promise<readonly DataFile[]> {
  const kept = files.filter((file) => (there === undefined ? file.isLinked() : file === there));
  for (const file of files) if (!kept.includes(file)) await file.close().catch(() => undefined);
  return kept;
}
