/**
 * The files of an open store. Each is written from memory, which has every acknowledged pet, and
 * never from another file. Only a start may keep the journal that it found, which it has just read:
 *
 *     renew        a new journal: a header, the keys of the data file's pets, the pets that the
 *                  data file lacks, and the commit in doubt
 *     checkpoint   a new data file with all pets; then the journal is removed, or, if there are
 *                  keys, renewed for them
 *     save         all pets in a separate file, if the store must not write its own
 *     syncFound    a start writes the last line of the found journal again, in its place
 *     useFound     continues with that journal if there is no room for a new one
 *
 * A start, and a store whose journal must not be written any more, call `renew`. A journal that was
 * removed, cut, or changed by another program, and one whose sync failed, are the same case.
 *
 * Each new file is written under a name that no other process uses, synced, and renamed; then the
 * folder is synced. Until then a power failure may bring back the old file. That does no harm: both
 * have every acknowledged pet, neither is written to, and the next try makes a new one.
 */

import { dirname } from 'node:path';
import { messageOf } from '../../base/logger.ts';
import type { Durability } from '../../model/pet-store.ts';
import { encodeCommit, encodeKeysLine, encodeTexts, KEY_BYTES, type Commit } from '../commit.ts';
import type { KeyEntry } from '../table/idempotency-keys.ts';
import {
  attributesOf,
  type DiskFile,
  type FileAttributes,
  type FileStat,
  isSameFile,
  isUnchanged,
  removeFile,
  writeAll,
  syncFolders,
} from './disk.ts';
import { encodeLine, headerText, isSameDataFile } from './journal-line.ts';
import { Journal, type JournalLines } from './journal.ts';
import { replacedError } from './lock.ts';
import { crcOf, withFile } from './read-file.ts';
import { dataFileText, type ReadDataFile } from './data-file.ts';
import type { StoreDeps } from './store-deps.ts';

/** A file with all pets up to an id, as it was read or written. */
export interface PetsFile extends Omit<ReadDataFile, 'hasChecksum'> {
  readonly entry: FileStat;
  /** True once its folder is synced. */
  readonly isNameDurable: boolean;
}

/** The bounds of a line that `renew` writes. */
const MAX_LINE_PETS = 1024;
const MAX_LINE_BYTES: number = 1 << 20;
/** The approximate size of a line without its pets and keys. */
const LINE_BYTES = 100;

const DATA_FILE_REPLACED = 'The data file is not the one that this process read or wrote';
const JOURNAL_REPLACED = 'Another file has replaced the journal';

/** The journal was removed or changed: it must not be written any more. */
export class JournalLostError extends Error {
  override readonly name: string = 'JournalLostError';
}

export class StoreFiles {
  readonly #deps: StoreDeps;
  #dataFile: PetsFile | undefined;
  #journal: Journal | undefined;
  /** The file at the journal's path, which may not be usable. */
  #journalEntry: FileStat | undefined;
  #hasWarnedOfOwner = false;
  #saved: (PetsFile & { readonly path: string }) | undefined;

  /** `dataFile` and `journal` are the files that a start found. */
  constructor(deps: StoreDeps, dataFile: PetsFile | undefined, journal: FileStat | undefined) {
    this.#deps = deps;
    this.#dataFile = dataFile;
    this.#journalEntry = journal;
  }

  get journal(): Journal | undefined {
    return this.#journal;
  }

  get snapshotBytes(): number {
    return this.#dataFile?.entry.sizeBytes ?? 0;
  }

  /**
   * Throws ReadOnlyError if lock or journal are not this store's any more, and JournalLostError if
   * the journal is missing or was changed.
   */
  assertJournalIntact(): void {
    this.#assertPathsAreOurs();
    const loss = this.#journalLoss();
    if (loss !== undefined) throw new JournalLostError(loss);
  }

  /**
   * Resolves with the data file at its path, or undefined before the first one. Rejects with
   * ReadOnlyError if it is not the one that this store read or wrote. A file of the same length and
   * CRC is the same data file, even if it was touched, or restored from a copy; such a file is made
   * durable first.
   */
  async recognizeDataFile(): Promise<PetsFile | undefined> {
    const { disk, paths, lock, memory } = this.#deps;
    this.#assertPathsAreOurs();
    const entry = disk.stat(paths.dataFile);
    const known = this.#dataFile;
    if (known === undefined ? entry === undefined : isUnchanged(entry, known.entry)) return known;
    const isLike = entry?.kind === 'file' && entry.sizeBytes === known?.entry.sizeBytes;
    if (!isLike) throw replacedError(lock, DATA_FILE_REPLACED);
    await withFile(disk, paths.dataFile, async (file) => {
      if ((await crcOf(file, known.arrayBytes, memory)) !== known.arrayCrc) {
        throw replacedError(lock, DATA_FILE_REPLACED);
      }
      // The program that put it there may not have synced it.
      const syncing = file.sync().then(() => disk.syncDirectory(dirname(paths.dataFile)));
      await syncing.catch((error: unknown) => {
        // A second sync of it would prove nothing: it must not be recognized again.
        this.#dataFile = undefined;
        const cause = `The data file is a copy that cannot be synced: ${messageOf(error)}`;
        throw replacedError(lock, cause);
      });
    });
    this.#dataFile = { ...known, entry };
    return this.#dataFile;
  }

  /** Writes a new journal. `doubt` is a commit that the old one may or may not have. */
  async renew(doubt?: Commit): Promise<void> {
    const { disk, paths, pets, keys } = this.#deps;
    const dataFile = await this.recognizeDataFile();
    // Otherwise a power failure could bring back the data file before it, beside this journal.
    if (dataFile?.isNameDurable !== true) {
      throw new Error('The name of the data file is not durable');
    }
    if (doubt !== undefined && doubt.after !== pets.lastId) {
      throw new Error(`A commit in doubt follows pet ${doubt.after}, which is not the last one`);
    }
    const lines = { dataFile, lengthBytes: 0, crc: 0 };
    const entries = [...keys.entries()];
    const last = doubt === undefined ? '' : encodeCommit(doubt);
    const { count, textBytes } = pets.sizeAfter(dataFile.lastId);
    const lineCount = 3 + count / MAX_LINE_PETS + textBytes / MAX_LINE_BYTES;
    const aroundBytes = KEY_BYTES * entries.length + LINE_BYTES * lineCount;
    await this.#expectRoom(Math.ceil(textBytes + aroundBytes + Buffer.byteLength(last)));
    const { mode, owner } = attributesOf(disk, paths.dataFile);
    // Windows does not replace an open file.
    await this.#journal?.close();
    // Its owner may always read and write it.
    const attributes = { mode: mode === undefined ? undefined : mode | 0o600, owner };
    const chunks = this.#linesOf(lines, entries, last);
    const file = await this.#replace(paths.journal, attributes, chunks);
    this.#journal = new Journal(this.#deps, file, lines);
    this.#journalEntry = this.#journal.entry;
    await disk.syncDirectory(dirname(paths.journal));
    this.#journal.isNameDurable = true;
  }

  /**
   * Makes the complete lines of the journal that a start found durable in their place. Rejects if
   * another name leads to the file, such as that of a backup.
   */
  async syncFound(lines: JournalLines, lastOffset: number): Promise<void> {
    const { disk, paths } = this.#deps;
    const journal = await this.#openFound(lines);
    try {
      await journal.rewriteLastLine(lastOffset);
    } finally {
      await journal.close();
    }
    await disk.syncDirectory(dirname(paths.journal));
  }

  /**
   * Continues with the journal that `syncFound` has made durable. Rejects if a rename was tried, so
   * that another file may be at its path, or at that of its data file.
   */
  async useFound(lines: JournalLines): Promise<void> {
    const dataFile = this.#dataFile;
    const isFollowed = isSameDataFile(dataFile, lines.dataFile) && dataFile?.isNameDurable;
    if (this.#journal !== undefined || isFollowed !== true) {
      throw new Error('Another file may have replaced it');
    }
    this.#journal = await this.#openFound(lines);
    this.#journal.isNameDurable = true;
  }

  async #openFound(lines: JournalLines): Promise<Journal> {
    const { disk, paths, lock } = this.#deps;
    this.#assertPathsAreOurs();
    const journal = new Journal(this.#deps, await disk.open(paths.journal, 'edit'), lines);
    if (isSameFile(this.#journalEntry, journal.entry)) return journal;
    await journal.close();
    throw replacedError(lock, JOURNAL_REPLACED);
  }

  /** Writes a data file with all pets, and then removes the journal, or renews it for the keys. */
  async checkpoint(): Promise<void> {
    await this.writeDataFile();
    const hasKeys = this.#deps.keys.entries().next().done === false;
    if (hasKeys) await this.renew();
    else await this.#removeJournal();
  }

  /** Writes a data file with all pets, unless there is one. A journal has to follow. */
  async writeDataFile(): Promise<void> {
    const { disk, paths, pets } = this.#deps;
    const known = await this.recognizeDataFile();
    if (known?.isNameDurable === true && known.lastId === pets.lastId) return;
    await this.#expectRoom(pets.sizeAfter(0n).textBytes + LINE_BYTES);
    const written = await this.#writePets(paths.dataFile);
    this.#dataFile = written;
    await disk.syncDirectory(dirname(paths.dataFile));
    this.#dataFile = { ...written, isNameDurable: true };
  }

  /** The next journal is a new one, since this one is lost, and the data file has all its pets. */
  async forgetJournal(): Promise<void> {
    await this.#journal?.close();
    this.#journal = undefined;
  }

  /** Writes all pets to a separate file, durably. Resolves with its path. */
  async save(): Promise<string> {
    const { disk, paths, clock } = this.#deps;
    const path = paths.saved(new Date(clock.timeOfDay()));
    await disk.makeDirectory(dirname(path));
    const written = await this.#writePets(path, () => {
      if (disk.stat(path) !== undefined) throw new Error(`${path} exists already`);
    });
    const before = this.#saved;
    this.#saved = { ...written, path };
    // While the folder cannot be synced, each try would leave one more file.
    if (before?.isNameDurable === false) await disk.remove(before.path).catch(() => undefined);
    // A folder that was removed has been made again.
    await syncFolders(disk, path);
    await disk.syncDirectory(dirname(path));
    this.#saved = { ...written, path, isNameDurable: true };
    return path;
  }

  /** Returns where the acknowledged pets are. This decides how the store and the process end. */
  durability(): Durability {
    const { disk, paths, pets } = this.#deps;
    const [dataFile, journal, saved] = [this.#dataFile, this.#journal, this.#saved];
    const isThere = (path: string, { entry }: PetsFile): boolean =>
      isUnchanged(disk.stat(path), entry);
    try {
      if (pets.lastId === 0n) return 'data file';
      const hasDataFile = dataFile?.isNameDurable === true && isThere(paths.dataFile, dataFile);
      if (hasDataFile && dataFile.lastId === pets.lastId) return 'data file';
      const isFollowed = hasDataFile && isSameDataFile(journal?.dataFile, dataFile);
      const isUsable = isFollowed && journal?.isNameDurable === true;
      if (isUsable && this.#journalLoss() === undefined) return 'journal';
      const hasAll = saved?.isNameDurable === true && saved.lastId === pets.lastId;
      if (hasAll && isThere(saved.path, saved)) return 'saved file';
      const names = [dataFile, journal, saved].filter((file) => file !== undefined);
      const areKnown = names.every(({ isNameDurable }) => isNameDurable);
      return areKnown ? 'memory' : 'unknown';
    } catch {
      return 'unknown';
    }
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  /** Returns why the journal at its path has not all lines that this store wrote, if so. */
  #journalLoss(): string | undefined {
    if (this.#journal === undefined) return 'there is no journal';
    const there = this.#deps.disk.stat(this.#deps.paths.journal);
    if (there === undefined) return 'the journal was removed';
    const isWhole =
      isSameFile(there, this.#journal.entry) && this.#journal.mayHave(there.sizeBytes);
    return isWhole ? undefined : 'another program has changed the journal';
  }

  /** Throws ReadOnlyError unless the lock is held, and no other file is at the journal's path. */
  #assertPathsAreOurs(): void {
    const { disk, paths, lock } = this.#deps;
    lock.assertHeld();
    const there = disk.stat(paths.journal);
    if (there === undefined || (there.kind === 'file' && there.sizeBytes === 0)) return;
    if (isSameFile(this.#journalEntry, there)) return;
    throw replacedError(lock, JOURNAL_REPLACED);
  }

  /**
   * Atomic replace: after a crash at any point the file has either its old content or its new one.
   *
   * Write a second file, sync it, rename it over the first, sync the folder. The order matters: a
   * rename before the sync may leave an empty file after a power failure. Without the last step,
   * which is left to the caller, the rename itself may be lost.
   *
   * Resolves with the new file, which the caller has to close. If it rejects, the old file is still
   * at the path, unless the rename failed and it is unknown whether it took effect.
   */
  async #replace(
    path: string,
    attributes: FileAttributes,
    chunks: Iterable<Buffer>,
    assertMayReplace: () => unknown = () => this.recognizeDataFile(),
  ): Promise<DiskFile> {
    const { disk, paths, randomBits, logger } = this.#deps;
    const newPath = paths.unfinished(randomBits());
    await assertMayReplace();
    const file = await disk.open(newPath, 'create', attributes);
    try {
      const entry = file.stat();
      const { user } = entry.owner;
      if (user !== (attributes.owner?.user ?? user) && !this.#hasWarnedOfOwner) {
        this.#hasWarnedOfOwner = true;
        logger('warn', 'A new file has another owner than the data file', { file: path, user });
      }
      let position = 0;
      for (const chunk of chunks) {
        await writeAll(file, chunk, position);
        position += chunk.length;
      }
      await file.sync();
      await assertMayReplace();
      await disk.rename(newPath, path).catch((error: unknown) => {
        // A rename that reports failure may have taken effect: the path decides.
        if (!isSameFile(disk.stat(path), entry)) throw error;
      });
      return file;
    } catch (error) {
      await file.close().catch(() => undefined);
      await disk.remove(newPath).catch(() => undefined);
      throw error;
    }
  }

  /** Writes all pets as a data file, whose folder has to be synced afterwards. */
  async #writePets(path: string, assertMayReplace?: () => unknown): Promise<PetsFile> {
    const { disk, paths, pets, randomBits } = this.#deps;
    const sum = { crc: 0, arrayBytes: 0 };
    const { lastId } = pets;
    const attributes = attributesOf(disk, paths.dataFile);
    const chunks = dataFileText(pets, sum, randomBits());
    const file = await this.#replace(path, attributes, chunks, assertMayReplace);
    const entry = file.stat();
    await file.close().catch(() => undefined);
    return { ...sum, arrayCrc: sum.crc, lastId, entry, isNameDurable: false };
  }

  async #removeJournal(): Promise<void> {
    const { disk, paths } = this.#deps;
    await this.#journal?.close();
    // From here on the data file is the only file that has the pets.
    await this.recognizeDataFile();
    await removeFile(disk, paths.journal);
    // Otherwise a power failure may bring it back, with what was cut off from it.
    await disk.syncDirectory(dirname(paths.journal));
  }

  /** Yields the lines of a new journal, and counts them. */
  *#linesOf(
    lines: { -readonly [Name in keyof JournalLines]: JournalLines[Name] },
    keys: readonly KeyEntry[],
    last: string,
  ): Generator<Buffer> {
    const { memory, pets } = this.#deps;
    const { lastId } = lines.dataFile;
    const line = (text: string): Buffer => {
      const { bytes, crc } = encodeLine(memory, text, lines.crc);
      lines.crc = crc;
      lines.lengthBytes += bytes.length;
      return bytes;
    };
    let at = 0;
    const keysUpTo = (id: bigint): readonly KeyEntry[] => {
      const start = at;
      while (at < keys.length && keys[at]!.id <= id) at += 1;
      return keys.slice(start, at);
    };
    yield line(headerText(lines.dataFile));
    const older = keysUpTo(lastId);
    if (older.length > 0) yield line(encodeKeysLine(older));
    for (const batch of pets.batchesAfter(lastId, MAX_LINE_PETS, MAX_LINE_BYTES)) {
      yield line(encodeTexts(batch.after, batch.text, keysUpTo(batch.lastId)));
    }
    if (last !== '') yield line(last);
  }

  /** Rejects if the file system reports less room. If it cannot report it, the write is tried. */
  async #expectRoom(bytes: number): Promise<void> {
    const { disk, paths } = this.#deps;
    const free = await disk.freeBytes(dirname(paths.dataFile)).catch(() => Infinity);
    if (free >= bytes) return;
    const message = `ENOSPC: no space left on device: ${bytes} bytes are needed, ${free} are free`;
    throw Object.assign(new Error(message), { code: 'ENOSPC' });
  }
}
