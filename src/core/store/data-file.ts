/**
 * The data file of a running store: open, locked, and written at its end only.
 *
 *     …}··mark··␊]␊            the file ends at E, where its closing bracket is
 *     …}··mark··␊,{"id":…      one write at E: the commit, its mark, and the bracket behind it
 *
 * Another program may change, replace or remove the file. The system does not tell, so the store
 * asks *is it ours?* before each write, after each sync and once a second: the path leads to the
 * open file, in the folder of the start, with the length and the time of the last change that this
 * store made. Once a second it also asks whether the configured path still leads there. It does not
 * notice an edit that keeps the length, within one tick of the file system's clock (4 ms) behind a
 * write of the store, with its time put back, or behind so many touches that the time says nothing.
 */

import { dirname } from 'node:path';
import zlib from 'node:zlib';
import type { Logger } from '../base/logger.ts';
import { systemMemory, type Clock } from '../base/system.ts';
import {
  codeOf,
  isSameFile,
  readAll,
  readItems,
  saidOr,
  type Disk,
  type DiskFile,
  type FileStat,
} from './disk.ts';
import {
  chainAtStart,
  encodeCommit,
  FILE_END,
  FIRST_LINE_BYTES,
  firstLine,
  MARK_LINE_BYTES,
  wordOf,
  writeFile,
  type Chain,
} from './format.ts';
import { replaceFile, type Replacement } from './replace-file.ts';
import type { Tables } from './tables.ts';

/**
 * What is at the path: this file; the same with another time, perhaps by `touch`; nothing; or
 * another file, or this one with another length.
 */
type Look = 'ours' | 'touched' | 'removed' | 'changed';

/** The answer to *is it ours?* */
type Answer = Exclude<Look, 'touched'>;

/** What became of a commit. If it is rolled back, the file is as before it. */
export type Appended =
  | { readonly kind: 'durable' }
  | { readonly kind: 'rolled back' | 'in doubt'; readonly cause: unknown };

/** So many harmless changes of the time, and no commit without one, show that it says nothing. */
const MAX_TOUCHES = 3;

export class DataFile {
  readonly #deps: StoreDeps;
  readonly #file: DiskFile;
  /** Which file it is, and its mode and owner. */
  readonly identity: FileStat;
  /** The file right behind the last change by this store; undefined if `fstat` failed then. */
  #known: FileStat | undefined;
  #chain: Chain;
  /**
   * False if only the content can tell whether it has all acknowledged pets: another program may
   * have cut the file right before a write, and what failed then made it as long again.
   */
  hasAll = true;
  /** False if a power failure may take its name, and leave nothing with all pets at the path. */
  isNameDurable = true;
  #touches = 0;
  /** Once another program has changed the file, it is never ours again. */
  #isChanged = false;

  /** The file is locked, and continues this chain. `known` is from before it was read. */
  constructor(deps: StoreDeps, file: DiskFile, chain: Chain, known: FileStat) {
    this.#deps = deps;
    this.#file = file;
    this.identity = known;
    this.#known = known;
    this.#chain = chain;
  }

  get sizeBytes(): number {
    return this.#chain.end + FILE_END.length;
  }

  /**
   * True if the path is known to lead to it, durably, and it is known to have all acknowledged
   * pets.
   */
  isThere(): boolean {
    return this.hasAll && this.isNameDurable && saidOr(false, () => this.#look() === 'ours');
  }

  /**
   * Reads whether it has all acknowledged pets, under whatever name. Resolves with undefined if it
   * cannot be read.
   */
  async proveContent(): Promise<boolean | undefined> {
    const hasAll = await this.#hasChain(this.#chain).catch(() => undefined);
    this.hasAll = hasAll === true;
    return hasAll;
  }

  /** True if it still has a name, perhaps another one, as far as the system says. */
  isLinked(): boolean {
    return saidOr(true, () => this.#file.stat().links > 0);
  }

  /**
   * Asks *is it ours?* Rejects if the system does not say: then nothing is known. If only the time
   * is another one, the content up to the chain is compared.
   */
  async check(chain: Chain = this.#chain): Promise<Answer> {
    const look = this.#look();
    if (look === 'touched' && (await this.#hasKnownContent(chain))) {
      this.#touches += 1;
      if (this.#touches === MAX_TOUCHES) {
        const event = 'The time of the data file changes by itself, and is not compared any more';
        this.#deps.logger('warn', event, { file: this.#deps.path });
      }
      // Another program may have changed it while it was compared.
      return this.check(chain);
    }
    if (look === 'ours' || look === 'removed') return look;
    this.#isChanged = true;
    return 'changed';
  }

  /** Like `check`, and asks whether the configured path still leads to the file, too. */
  async checkLinks(): Promise<Answer> {
    const { disk, path, configuredPath } = this.#deps;
    // Undefined if nothing is at the path, or a folder of it is missing: it does not lead here.
    const target = await disk.resolve(configuredPath).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
    });
    const answer = await this.check();
    if (answer !== 'ours') return answer;
    this.#isChanged = target !== path;
    return this.#isChanged ? 'changed' : 'ours';
  }

  /**
   * Writes a commit with these lines behind the last one, and makes it durable. The caller has just
   * called `check`. Rejects if memory fails: then nothing was written.
   */
  async append(lines: string): Promise<Appended> {
    const { end } = this.#chain;
    const { bytes, next } = encodeCommit(lines, this.#chain);
    try {
      this.#write(bytes, end);
    } catch (cause) {
      return this.#rollBack(cause);
    }
    try {
      await this.#file.sync();
      const before = this.#touches;
      const answer = await this.check(next);
      if (answer === 'removed') throw new Error(REMOVED);
      if (answer === 'changed' || !this.#isJoined(end + bytes.length)) {
        throw new NotOursError(CHANGED);
      }
      // A network file system may set the time at the sync.
      if (this.#touches === before && before < MAX_TOUCHES) this.#touches = 0;
    } catch (cause) {
      return this.#doubt(cause);
    }
    this.#chain = next;
    return { kind: 'durable' };
  }

  /**
   * Makes durable what a start has read of a file that this store wrote, since a killed process may
   * have left it in the page cache only, and removes what is torn. Only the last commit can be in
   * doubt: each one before it was synced before the next was begun. It is written again, since a
   * sync of it may have failed. The cut comes first: a kill in between leaves a torn end, and no
   * bracket with a rest behind it.
   */
  async makeDurable(lastCommitAt: number): Promise<void> {
    const { end } = this.#chain;
    const commit = systemMemory.bytes(end - lastCommitAt + FILE_END.length);
    await readAll(this.#file, commit.subarray(0, -1 - FILE_END.length), lastCommitAt);
    commit.write('\n]\n', commit.length - 1 - FILE_END.length);
    if ((await this.check()) !== 'ours') throw new NotOursError(CHANGED_WHILE_READ);
    if (this.identity.sizeBytes > this.sizeBytes) await this.#cut();
    this.#write(commit, lastCommitAt);
    this.#write(firstLine('in use'), 0);
    await this.#file.sync();
  }

  /** Tells the next start that a sync of this file has failed, as long as the system runs. */
  markNotSynced(): void {
    try {
      this.#write(firstLine('not synced'), 0);
    } catch {
      // Then a start on this system may believe a second sync.
    }
  }

  /** Writes that no commit will follow. */
  async markClean(): Promise<void> {
    this.#write(firstLine('clean'), 0);
    await this.#file.sync();
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #look(): Look {
    if (this.#isChanged) return 'changed';
    const { disk, path } = this.#deps;
    const there = disk.stat(path);
    const folder = disk.stat(dirname(path));
    if (!isSameFile(folder, this.#deps.folder)) {
      // A folder that was moved may come back: the file in it still has all pets.
      const isMoved = folder === undefined && this.isLinked();
      return isMoved ? 'removed' : 'changed';
    }
    if (there === undefined) return 'removed';
    // Mounted by itself, a file stays at the path when another one gets its last name.
    if (!isSameFile(there, this.identity) || there.links === 0) return 'changed';
    if (this.#known === undefined) return 'touched';
    if (there.sizeBytes !== this.#known.sizeBytes) return 'changed';
    const isTimeSame = there.changedAt === this.#known.changedAt;
    return isTimeSame || this.#touches >= MAX_TOUCHES ? 'ours' : 'touched';
  }

  /** True if the file begins with what the chain covers, and with any word: a stop writes one. */
  async #hasChain({ end, crc }: Chain): Promise<boolean> {
    const first = Buffer.alloc(FIRST_LINE_BYTES);
    await this.#file.read(first, 0);
    let found = 0;
    await readItems(this.#file, FIRST_LINE_BYTES, end, (bytes) => {
      found = zlib.crc32(bytes, found);
      return bytes.length;
    });
    return found === crc && wordOf(first) !== undefined;
  }

  /** True if the content is that of this store, whatever the time says. Takes the time, then. */
  async #hasKnownContent(chain: Chain): Promise<boolean> {
    const known = this.#file.stat();
    // Another program may have written to it since the look.
    if (known.sizeBytes !== (this.#known ?? known).sizeBytes) return false;
    // Behind a commit that failed, anything may follow.
    const hasEnd = known.sizeBytes === chain.end + FILE_END.length;
    const last = Buffer.alloc(hasEnd ? FILE_END.length : 0);
    await readAll(this.#file, last, chain.end);
    const isSame = FILE_END.includes(last) && (await this.#hasChain(chain));
    if (isSame) this.#known = known;
    return isSame;
  }

  /** Removes a commit that failed, durably. Overwriting the bracket takes no room. */
  async #rollBack(cause: unknown): Promise<Appended> {
    try {
      await this.#cut();
      this.#write(FILE_END, this.#chain.end);
      await this.#file.sync();
      // If it is not, the next check says so.
      this.#isJoined(this.sizeBytes);
      return { kind: 'rolled back', cause };
    } catch (failure) {
      return this.#doubt(failure);
    }
  }

  #doubt(cause: unknown): Appended {
    this.hasAll = false;
    return { kind: 'in doubt', cause };
  }

  /**
   * False if another program changed the file between a check and a write. If it cut the file,
   * there is a hole before what was written. If it wrote to the file's end, there may be a rest
   * behind.
   */
  #isJoined(sizeBytes: number): boolean {
    const { end, mark } = this.#chain;
    const before = Buffer.alloc(MARK_LINE_BYTES);
    this.#file.readNow(before, end - MARK_LINE_BYTES);
    const hasRest = this.#known !== undefined && this.#known.sizeBytes !== sizeBytes;
    this.#isChanged = hasRest || !before.equals(mark);
    return !this.#isChanged;
  }

  async #cut(): Promise<void> {
    try {
      await this.#file.truncate(this.sizeBytes);
    } finally {
      this.#note();
    }
  }

  #write(bytes: Buffer, position: number): void {
    try {
      const count = this.#file.writeNow(bytes, position);
      if (count < bytes.length) {
        const written = `only ${count} of ${bytes.length} bytes were written`;
        throw new Error(`The disk seems to be full: ${written}`);
      }
    } finally {
      this.#note();
    }
  }

  /**
   * Notes the length and the time right behind a change of this store, which may have failed. Not
   * after the sync: that would take what another program did meanwhile for its own.
   */
  #note(): void {
    try {
      this.#known = this.#file.stat();
      // Another program has cut it right before. A start may find it without what is behind a mark.
      this.#isChanged ||= this.#known.sizeBytes < this.#chain.end - 1;
    } catch {
      this.#known = undefined;
    }
  }
}

/** What a store works with, and tests replace. */
export interface StoreDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly disk: Disk;
  /** Absolute. Symbolic links in it are followed. */
  readonly configuredPath: string;
  /** Where they led at the start: the data file. */
  readonly path: string;
  /** The folder at the start. */
  readonly folder: FileStat | undefined;
  /** Returns 32 random bits. */
  readonly randomBits: () => number;
}

/** How a new data file comes to its place. */
interface Creation extends Pick<Replacement, 'by' | 'attributes'> {
  /** The lines of a commit that follows all others, by itself. */
  readonly doubt?: string | undefined;
  /** Locks the new file, and rejects if it must not get the name. */
  beforeName(file: DiskFile): Promise<void>;
  /** Called after a failure if the path may lead to the file. By default the file is closed. */
  keep?(file: DataFile): void;
}

/** Writes a data file from memory, atomically (replace-file.ts). */
export async function createDataFile(
  deps: StoreDeps,
  tables: Tables,
  { doubt, beforeName, keep, ...how }: Creation,
): Promise<DataFile> {
  const { disk, path, randomBits } = deps;
  let chain = chainAtStart();
  let created: DataFile | undefined;
  await replaceFile(disk, {
    ...how,
    path,
    unfinished: unfinishedPath(path, randomBits()),
    async write(append) {
      chain = await writeFile(tables, 'in use', append, doubt);
    },
    async beforeName(newFile) {
      // Nobody knows the file yet.
      created = new DataFile(deps, newFile, chain, newFile.stat());
      await beforeName(newFile);
    },
    ...(keep && { keep: async () => keep(created!) }),
  });
  return created!;
}

/** Returns a name for a file that is being written, which no other process uses. */
export function unfinishedPath(path: string, bits: number): string {
  return `${path}.unfinished-${bits.toString(16).padStart(8, '0')}`;
}

export const CHANGED = 'Another program has changed or replaced the data file';
export const FOLDER_CHANGED = 'The folder of the data file was removed, moved or replaced';
export const REMOVED = 'The data file was removed, or its folder was moved';
export const CHANGED_WHILE_READ = 'Another program changed the data file while it was read';

/** Another program has changed, replaced or removed what is at a path of the store. */
export class NotOursError extends Error {
  override readonly name: string = 'NotOursError';
}
