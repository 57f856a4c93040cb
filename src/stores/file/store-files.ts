/**
 * The files of an open store: its snapshot and its journal, how a journal is renewed, and where the
 * pets are.
 *
 * A start, and a running store whose journal must not be written any more, call `renewJournal`. It
 * takes the cheaper of two ways, and the other one if the first fails:
 *
 *     copy         the complete lines and the commit in doubt go to a new journal, which is synced,
 *                  renamed over the old one, and its folder synced
 *     checkpoint   all pets and the commit in doubt go into a new snapshot; the journal is removed
 *
 * The commit in doubt is taken from memory, never from the file. A copy is possible only as long as
 * the journal follows the snapshot, and the journal's path still leads to it.
 *
 * After a rename whose folder could not be synced, a power failure may bring back either file. Both
 * are complete, and nothing may be added to them: the next try makes a new file.
 */

import { dirname } from 'node:path';
import zlib from 'node:zlib';
import type { PetsLocation } from '../../model/pet-store.ts';
import { encodeCommit, type Commit } from '../commits/commit.ts';
import { isAtItsPath, recognizeSnapshot, writeSnapshot, type KnownSnapshot } from './checkpoint.ts';
import type { FileStat } from './disk.ts';
import { Journal, journalAttributes, type JournalFile } from './journal.ts';
import { JournalLostError, pathState, ReadOnlyError } from './path-state.ts';
import { chunksOf } from './read-file.ts';
import { removeFile, replaceFile } from './replace-file.ts';
import { savePets, type SavedFile } from './saved-file.ts';
import type { StoreDeps } from './store-deps.ts';
import { replacedError } from './store-lock.ts';

/** A journal up to this length is copied; a longer one only if it is shorter than the pets. */
export const LONG_JOURNAL_BYTES: number = 64 << 20;

/** The approximate size of an entry in the idempotency file. */
const KEY_BYTES = 80;

const JOURNAL_REPLACED = 'Another file has replaced the journal';

type Way = 'copy' | 'checkpoint';

export class StoreFiles {
  readonly #deps: StoreDeps;
  #snapshot: KnownSnapshot | undefined;
  /** A new snapshot that may have its name although its rename reported failure. */
  #renamed: KnownSnapshot | undefined;
  /** The journal that gets the lines. Only `renewJournal` replaces it. */
  journal: Journal;
  #saved: SavedFile | undefined;

  /** `found` is the journal at its path; undefined if there is none. */
  constructor(
    deps: StoreDeps,
    snapshot: KnownSnapshot | undefined,
    found: JournalFile | undefined,
  ) {
    this.#deps = deps;
    this.#snapshot = snapshot;
    this.journal = this.#newJournal(found);
  }

  get snapshotBytes(): number {
    return this.#snapshot?.entry.sizeBytes ?? 0;
  }

  /** True if the snapshot has all pets, durably. */
  get isSnapshotCurrent(): boolean {
    const snapshot = this.#snapshot;
    return snapshot?.isDurable === true && snapshot.id.lastId === this.#deps.pets.lastId;
  }

  /**
   * Replaces a journal that gets no more lines by a new one; see above. `doubt` is the commit
   * that the old one may or may not have; `onDurable` is called once it is durable. The ways are
   * tried in turn. Rejects with ReadOnlyError, or else with the first error.
   */
  async renewJournal(
    doubt?: Commit,
    onDurable: () => void = () => undefined,
    ways: readonly Way[] = this.#cheapestFirst(),
  ): Promise<void> {
    this.#assertReplaceable();
    await this.recognize();
    this.#assertFollows(doubt);
    const isDone = doubt === undefined && this.isSnapshotCurrent;
    const way = isDone ? 'checkpoint' : await this.#takeFirst(ways, doubt);
    onDurable();
    if (way === 'checkpoint') await this.#removeJournal();
  }

  /**
   * Throws ReadOnlyError if lock or journal are not this store's any more, and JournalLostError if
   * the journal was removed or changed. Its file must have `extra` bytes after its complete lines,
   * if that is given.
   */
  assertOwned(extra?: number): void {
    this.#deps.lock.assertHeld();
    const state = this.journal.pathState(extra);
    switch (state) {
      case 'same':
        return;
      case 'missing':
        throw new JournalLostError('the journal was removed');
      case 'changed':
        this.journal.isTrusted = false;
        throw new JournalLostError('another program has changed the journal');
      case 'replaced':
        throw replacedError(this.#deps.lock, JOURNAL_REPLACED);
    }
  }

  /** Resolves with the free bytes of the disk: infinite if it does not report them. */
  freeBytes(): Promise<number> {
    const { disk, paths } = this.#deps;
    return disk.freeBytes(dirname(paths.snapshot)).catch(() => Infinity);
  }

  /** Makes the complete lines durable in their place, if there is no room for a copy. */
  async rewriteLastLine(lastOffset: number): Promise<void> {
    this.#deps.lock.assertHeld();
    this.#findRenamed();
    await this.journal.rewriteLastLine(lastOffset);
    // With the folder, the name of a new snapshot became durable, too.
    this.#markDurable();
  }

  /**
   * Finds the known snapshot at its path, even if it was touched. Rejects if another one is there.
   */
  async recognize(): Promise<void> {
    this.#findRenamed();
    this.#snapshot = await recognizeSnapshot(this.#deps, this.#snapshot);
  }

  /** Writes all pets to a separate file, durably. Resolves with its path. */
  async save(): Promise<string> {
    if (!this.#isSavedThere()) this.#saved = await savePets(this.#deps);
    const saved = this.#saved!;
    await this.#deps.disk.syncDirectory(dirname(saved.path));
    this.#saved = { ...saved, isDurable: true };
    return saved.path;
  }

  /** Returns where the acknowledged pets are. This decides how the store and the process end. */
  whereAreThePets(): PetsLocation {
    const { disk, paths, pets } = this.#deps;
    try {
      const { lastId } = pets;
      if (lastId === 0n) return 'snapshot';
      const snapshot = this.#snapshot;
      const hasSnapshot = snapshot !== undefined && isAtItsPath(disk, paths.snapshot, snapshot);
      const isAll = hasSnapshot && snapshot.id.lastId >= lastId;
      // A power failure may bring back the snapshot before it, which the journal names.
      const isBefore = !this.#isFollowed() && this.journal.snapshot.lastId >= lastId;
      if (isAll && (snapshot.isDurable || isBefore)) return 'snapshot';
      const isFollowed = hasSnapshot && (isAll || this.#isFollowed());
      if (isFollowed && this.#isJournalWhole()) return 'journal';
      if (this.#saved?.isDurable === true && this.#isSavedThere()) return 'saved';
      return 'memory only';
    } catch {
      return 'cannot be told';
    }
  }

  /** Tries the ways in turn, and resolves with the first that succeeds. */
  async #takeFirst(ways: readonly Way[], doubt: Commit | undefined): Promise<Way> {
    const errors: unknown[] = [];
    for (const way of ways) {
      try {
        if (way === 'copy' && !this.#canCopy(doubt)) continue;
        await (way === 'copy' ? this.#copyJournal(doubt) : this.#writeSnapshot(doubt));
        return way;
      } catch (error) {
        if (error instanceof ReadOnlyError) throw error;
        errors.push(error);
      }
    }
    throw errors[0];
  }

  /** No line may be added to a journal whose snapshot was replaced. */
  #findRenamed(): void {
    const { disk, paths } = this.#deps;
    const renamed = this.#renamed;
    if (renamed === undefined || !isAtItsPath(disk, paths.snapshot, renamed)) return;
    [this.#snapshot, this.#renamed] = [renamed, undefined];
  }

  #markDurable(): void {
    if (this.#snapshot !== undefined) this.#snapshot = { ...this.#snapshot, isDurable: true };
  }

  /** True if the snapshot is the one that the journal's header names. */
  #isFollowed(): boolean {
    const { snapshot } = this.journal;
    const id = this.#snapshot?.id;
    return id?.crc === snapshot.crc && id.lastId === snapshot.lastId;
  }

  /** Throws if memory has pets of the commit in doubt already: they would be written twice. */
  #assertFollows(doubt: Commit | undefined): void {
    if (doubt === undefined || doubt.after === this.#deps.pets.lastId) return;
    throw new Error(`A commit in doubt follows pet ${doubt.after}, which is not the last one`);
  }

  /** Throws ReadOnlyError unless the journal at its path may be replaced or removed. */
  #assertReplaceable(): void {
    this.#deps.lock.assertHeld();
    if (this.journal.pathState() !== 'replaced') return;
    throw replacedError(this.#deps.lock, JOURNAL_REPLACED);
  }

  #isJournalWhole(): boolean {
    const { disk, paths } = this.#deps;
    const { lengthBytes, isTrusted } = this.journal;
    const isThere = lengthBytes > 0 && isTrusted && this.journal.pathState() === 'same';
    // A line that failed may follow the complete ones.
    return isThere && (disk.stat(paths.journal)?.sizeBytes ?? 0) >= lengthBytes;
  }

  #isSavedThere(): boolean {
    const saved = this.#saved;
    if (saved === undefined || saved.id.lastId < this.#deps.pets.lastId) return false;
    return pathState(this.#deps.disk, saved.path, saved.entry, saved.entry.sizeBytes) === 'same';
  }

  #canCopy(doubt: Commit | undefined): boolean {
    this.#findRenamed();
    const hasLines = this.journal.lengthBytes > 0 || doubt !== undefined;
    const isGood = this.#isFollowed() && this.journal.isTrusted;
    return hasLines && isGood && this.journal.pathState() === 'same';
  }

  #cheapestFirst(): readonly Way[] {
    const { lengthBytes } = this.journal;
    const { longJournalBytes, pets } = this.#deps;
    const isCopyCheaper = lengthBytes <= longJournalBytes || lengthBytes < pets.textBytes;
    return isCopyCheaper ? ['copy', 'checkpoint'] : ['checkpoint', 'copy'];
  }

  async #writeSnapshot(doubt: Commit | undefined): Promise<void> {
    const { disk, paths, pets, keys } = this.#deps;
    this.#deps.lock.assertHeld();
    await this.journal.cutFoundTail();
    await this.#expectRoom(pets.textBytes + KEY_BYTES * keys.length);
    await writeSnapshot(this.#deps, this.#snapshot, doubt, (snapshot) => {
      this.#renamed = snapshot;
    });
    // Set without a stat: if one failed, the next try could copy the old snapshot's journal.
    [this.#snapshot, this.#renamed] = [this.#renamed, undefined];
    await disk.syncDirectory(dirname(paths.snapshot));
    this.#markDurable();
  }

  /** Copies the complete lines, and adds the commit in doubt. */
  async #copyJournal(doubt: Commit | undefined): Promise<void> {
    const { disk, paths } = this.#deps;
    const old = this.journal;
    const { lengthBytes, crc } = old;
    const line = doubt === undefined ? undefined : old.encode(encodeCommit(doubt));
    await this.#expectRoom(lengthBytes + (line?.bytes.length ?? 0));
    const replacement = {
      ...{ disk, path: paths.journal, tmpPath: paths.tmp },
      attributes: journalAttributes(this.#deps),
      assertOwned: () => this.#assertReplaceable(),
      beforeRename: (copy: FileStat) => old.acceptCopy(copy),
    };
    const file = await replaceFile(replacement, this.#copyOf(old, line?.bytes));
    this.journal = this.#newJournal({ file, entry: file.stat(), lengthBytes, crc });
    await old.close().catch(() => undefined);
    await disk.syncDirectory(dirname(paths.journal));
    if (line !== undefined) this.journal.append(line);
  }

  async *#copyOf(old: Journal, line: Buffer | undefined): AsyncGenerator<Buffer> {
    const { disk, paths, memory } = this.#deps;
    if (old.lengthBytes > 0) {
      let crc = 0;
      const file = await disk.open(paths.journal, 'read');
      try {
        for await (const chunk of chunksOf(file, old.lengthBytes, memory)) {
          crc = zlib.crc32(chunk, crc);
          yield chunk;
        }
      } finally {
        await file.close().catch(() => undefined);
      }
      if (crc !== old.crc) throw new Error('The journal was changed');
    }
    if (line !== undefined) yield line;
  }

  /** Removes a journal whose pets are all in the snapshot, and prepares a new one. */
  async #removeJournal(): Promise<void> {
    const { disk, paths } = this.#deps;
    this.#assertReplaceable();
    if (disk.stat(paths.journal) !== undefined) {
      // From here on the snapshot is the only file that has the pets.
      await this.recognize();
      await removeFile(disk, paths.journal);
      // Otherwise a power failure may bring it back, with what was cut off from it.
      await disk.syncDirectory(dirname(paths.journal));
    }
    const old = this.journal;
    this.journal = this.#newJournal(undefined);
    await old.close().catch(() => undefined);
  }

  /** Rejects if the file system reports less room. If it cannot report it, the write is tried. */
  async #expectRoom(bytes: number): Promise<void> {
    const free = await this.freeBytes();
    if (free >= bytes) return;
    const message = `ENOSPC: no space left on device: ${bytes} bytes are needed, ${free} are free`;
    throw Object.assign(new Error(message), { code: 'ENOSPC' });
  }

  #newJournal(found: JournalFile | undefined): Journal {
    return new Journal(this.#deps, this.#snapshot?.id ?? { crc: 0, lastId: 0n }, found);
  }
}
