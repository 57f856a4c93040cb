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
import type { Clock } from '../../base/clock.ts';
import type { Histogram } from '../../base/histogram.ts';
import { messageOf, type Log } from '../../base/log.ts';
import type { PetsLocation } from '../../model/pet-store.ts';
import { encodeCommit, type Commit } from '../commits/commit.ts';
import type { KeyEntry, KeyTable } from '../idempotency/key-table.ts';
import type { PetTable } from '../table/pet-table.ts';
import {
  isAtItsPath,
  journalAttributes,
  recognizeSnapshot,
  writeSnapshot,
  type CheckpointDeps,
  type KnownSnapshot,
} from './checkpoint.ts';
import type { DiskFile } from './disk.ts';
import { Journal, type JournalFile } from './journal.ts';
import { pathState, ReadOnlyError } from './path-state.ts';
import { chunksOf, readAll, withFile } from './read-file.ts';
import { removeFile, replaceFile, writeAll } from './replace-file.ts';
import { savePets, type SavedFile } from './saved-file.ts';

/** A journal up to this length is copied; a longer one only if it is shorter than the pets. */
export const LONG_JOURNAL_BYTES: number = 64 << 20;

/** The approximate size of an entry in the idempotency file. */
const KEY_BYTES = 80;

export interface StoreFilesDeps extends CheckpointDeps {
  readonly pets: PetTable;
  readonly keys: KeyTable;
  readonly longJournalBytes: number;
  /** Counts the journal's syncs that succeed. */
  readonly syncSeconds: Histogram;
  readonly log: Log;
  readonly clock: Clock;
}

export const JOURNAL_REPLACED = 'Another file has replaced the journal';

type Way = 'copy' | 'checkpoint';

export class StoreFiles {
  readonly #deps: StoreFilesDeps;
  #snapshot: KnownSnapshot | undefined;
  /** A new snapshot that may have its name although its rename reported failure. */
  #renamed: KnownSnapshot | undefined;
  #journal: Journal;
  #saved: SavedFile | undefined;
  #isSavedDurable = false;
  /** Why the journal that a start found could not be synced. */
  #syncError: Error | undefined;

  /** `found` is the journal at its path; undefined if there is none. */
  constructor(
    deps: StoreFilesDeps,
    snapshot: KnownSnapshot | undefined,
    found: JournalFile | undefined,
  ) {
    this.#deps = deps;
    this.#snapshot = snapshot;
    this.#journal = this.#newJournal(found);
  }

  get journal(): Journal {
    return this.#journal;
  }

  get snapshotBytes(): number {
    return this.#snapshot?.entry.sizeBytes ?? 0;
  }

  /** True if the snapshot has all pets, durably. */
  get isSnapshotCurrent(): boolean {
    const snapshot = this.#snapshot;
    return snapshot?.isDurable === true && snapshot.id.lastId === this.#deps.pets.lastId;
  }

  get savedPath(): string | undefined {
    return this.#saved?.path;
  }

  /**
   * Replaces a journal that gets no more lines by a new one; see above. `doubt` is the commit
   * that the old one may or may not have; `onDurable` is called once it is durable. Rejects with
   * ReadOnlyError, or else with the first error.
   */
  renewJournal(doubt?: Commit, onDurable?: () => void): Promise<void> {
    return this.#renew(this.#cheapestFirst(), doubt, onDurable);
  }

  /** Brings all pets and `doubt` into the snapshot, durably, and removes the journal. */
  checkpoint(doubt?: Commit, onDurable?: () => void): Promise<void> {
    return this.#renew(['checkpoint'], doubt, onDurable);
  }

  /** Throws if a sync of the found journal failed: it must not be synced again. */
  assertSyncable(): void {
    if (this.#syncError !== undefined) throw this.#syncError;
  }

  /**
   * Makes the complete lines durable in their place, if there is no room for a copy. If the last
   * process was killed after a failed fsync, the page cache may show bytes that are not on disk and
   * will not be written, and the next fsync would falsely succeed. No line follows one whose sync
   * failed, so only the last line, at `lastOffset`, can be affected: it is written again.
   */
  async rewriteLastLine(lastOffset: number): Promise<void> {
    const { disk, paths, memory, assertLockHeld } = this.#deps;
    assertLockHeld();
    const { lengthBytes, crc } = this.#journal;
    const file = await disk.open(paths.journal, 'edit');
    try {
      const bytes = memory.bytes(lengthBytes - lastOffset);
      await readAll(file, bytes, lastOffset);
      await writeAll(file, bytes, lastOffset);
      await file.truncate(lengthBytes);
      await file.sync();
      await disk.syncDirectory(dirname(paths.journal));
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
    // With the folder, the name of a new snapshot became durable, too.
    this.#markDurable();
    const isFollowed = this.#isFollowed();
    if (!isFollowed) await file.close().catch(() => undefined);
    await this.#journal.close().catch(() => undefined);
    const open = isFollowed ? { file } : {};
    this.#journal = this.#newJournal({ ...open, entry: file.stat(), lengthBytes, crc });
  }

  /**
   * Finds the known snapshot at its path, even if it was touched. Rejects if another one is there.
   */
  async recognize(): Promise<void> {
    const { disk, paths } = this.#deps;
    if (this.#renamed !== undefined && isAtItsPath(disk, paths, this.#renamed)) {
      if (this.#snapshot?.entry.number !== this.#renamed.entry.number) {
        this.#snapshot = this.#renamed;
      }
    }
    this.#snapshot = await recognizeSnapshot(this.#deps, this.#snapshot);
  }

  /** Writes all pets to a separate file, durably. */
  async save(): Promise<void> {
    const { disk, pets, clock } = this.#deps;
    if (!this.#isSavedThere()) {
      this.#isSavedDurable = false;
      this.#saved = await savePets(this.#deps, pets, clock.timeOfDay());
    }
    await disk.syncDirectory(dirname(this.#saved?.path ?? ''));
    this.#isSavedDurable = true;
  }

  /** Returns where the acknowledged pets are. This decides how the store and the process end. */
  whereAreThePets(): PetsLocation {
    const { disk, paths, pets } = this.#deps;
    try {
      const { lastId } = pets;
      if (lastId === 0n) return 'snapshot';
      const snapshot = this.#snapshot;
      const hasSnapshot = snapshot !== undefined && isAtItsPath(disk, paths, snapshot);
      const isAll = hasSnapshot && snapshot.id.lastId >= lastId;
      if (isAll && snapshot.isDurable) return 'snapshot';
      const isFollowed = hasSnapshot && (isAll || this.#isFollowed());
      if (isFollowed && this.#isJournalWhole()) return 'journal';
      if (this.#isSavedDurable && this.#isSavedThere()) return 'saved';
      return 'memory only';
    } catch {
      return 'cannot be told';
    }
  }

  async #renew(
    ways: readonly Way[],
    doubt: Commit | undefined,
    onDurable: () => void = () => undefined,
  ): Promise<void> {
    this.#assertNotReplaced();
    await this.recognize();
    this.#assertFollows(doubt);
    const isDone = doubt === undefined && this.isSnapshotCurrent;
    const way = isDone ? 'checkpoint' : await this.#takeFirst(ways, doubt);
    onDurable();
    if (way === 'checkpoint') await this.#removeJournal();
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

  #markDurable(): void {
    if (this.#snapshot !== undefined) this.#snapshot = { ...this.#snapshot, isDurable: true };
  }

  /** True if the snapshot is the one that the journal's header names. */
  #isFollowed(): boolean {
    const { snapshot } = this.#journal;
    const id = this.#snapshot?.id;
    return id?.crc === snapshot.crc && id.lastId === snapshot.lastId;
  }

  /** Throws if memory has pets of the commit in doubt already: they would be written twice. */
  #assertFollows(doubt: Commit | undefined): void {
    if (doubt === undefined || doubt.after === this.#deps.pets.lastId) return;
    throw new Error(`A commit in doubt follows pet ${doubt.after}, which is not the last one`);
  }

  #assertNotReplaced(): void {
    if (this.#journal.pathState() !== 'replaced') return;
    throw new ReadOnlyError(JOURNAL_REPLACED, false);
  }

  #isJournalWhole(): boolean {
    const { disk, paths } = this.#deps;
    const isThere = this.#journal.hasFile && this.#journal.pathState() === 'same';
    // A line that failed may follow the complete ones.
    return isThere && (disk.stat(paths.journal)?.sizeBytes ?? 0) >= this.#journal.lengthBytes;
  }

  #isSavedThere(): boolean {
    const saved = this.#saved;
    if (saved === undefined || saved.lastId < this.#deps.pets.lastId) return false;
    return pathState(this.#deps.disk, saved.path, saved.entry, saved.entry.sizeBytes) === 'same';
  }

  #canCopy(doubt: Commit | undefined): boolean {
    const hasLines = this.#journal.lengthBytes > 0 || doubt !== undefined;
    const isGood = this.#isFollowed() && this.#journal.isTrusted;
    return hasLines && isGood && this.#journal.pathState() === 'same';
  }

  #cheapestFirst(): readonly Way[] {
    const { lengthBytes } = this.#journal;
    const { longJournalBytes, pets } = this.#deps;
    const isCopyCheaper = lengthBytes <= longJournalBytes || lengthBytes < pets.textBytes;
    return isCopyCheaper ? ['copy', 'checkpoint'] : ['checkpoint', 'copy'];
  }

  /**
   * Cuts off, durably, what follows the complete lines of a journal that a start found. A process
   * that was killed while it rolled a line back may have left that line on the disk, though the
   * page cache does not show it. After a power failure the journal would have a pet that the new
   * snapshot lacks.
   */
  async #cutTail(): Promise<void> {
    const { disk, paths, assertLockHeld } = this.#deps;
    const { lengthBytes } = this.#journal;
    assertLockHeld();
    this.assertSyncable();
    const cut = async (file: DiskFile): Promise<void> => {
      await file.truncate(lengthBytes);
      await file.sync().catch((error: unknown) => {
        const message = `${paths.journal} cannot be synced: ${messageOf(error)}`;
        throw (this.#syncError = new Error(message));
      });
    };
    await withFile(disk, paths.journal, cut, 'edit');
  }

  async #writeSnapshot(doubt: Commit | undefined): Promise<void> {
    const { disk, paths, pets, keys } = this.#deps;
    if (!this.#journal.isOpen && this.#journal.lengthBytes > 0) await this.#cutTail();
    await this.#expectRoom(pets.textBytes + KEY_BYTES * keys.length);
    const more = doubt === undefined ? {} : { morePets: doubt.pets, moreKeys: withPetCrcs(doubt) };
    await writeSnapshot(this.#deps, this.#snapshot, { pets, keys, ...more }, (snapshot) => {
      this.#renamed = snapshot;
    });
    // Without a stat of the path: if it failed, the next try could copy the old snapshot's journal.
    this.#snapshot = this.#renamed;
    await disk.syncDirectory(dirname(paths.snapshot));
    this.#markDurable();
  }

  /** Copies the complete lines, and adds the commit in doubt. */
  async #copyJournal(doubt: Commit | undefined): Promise<void> {
    const { disk, paths } = this.#deps;
    const old = this.#journal;
    const { lengthBytes, crc } = old;
    const line = doubt === undefined ? undefined : old.encode(encodeCommit(doubt));
    await this.#expectRoom(lengthBytes + (line?.bytes.length ?? 0));
    const replacement = {
      ...{ disk, path: paths.journal, tmpPath: paths.tmp },
      attributes: journalAttributes(disk, paths),
      assertOwned: () => {
        this.#deps.assertLockHeld();
        this.#assertNotReplaced();
      },
      beforeRename: (copy: { stat(): JournalFile['entry'] }) => old.acceptCopy(copy.stat()),
    };
    const file = await replaceFile(replacement, this.#copyOf(old, line?.bytes));
    this.#journal = this.#newJournal({ file, entry: file.stat(), lengthBytes, crc });
    await old.close().catch(() => undefined);
    await disk.syncDirectory(dirname(paths.journal));
    if (line !== undefined) this.#journal.append(line);
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
    this.#deps.assertLockHeld();
    this.#assertNotReplaced();
    if (disk.stat(paths.journal) !== undefined) {
      // From here on the snapshot is the only file that has the pets.
      await this.recognize();
      await removeFile(disk, paths.journal);
      // Otherwise a power failure may bring it back, with what was cut off from it.
      await disk.syncDirectory(dirname(paths.journal));
    }
    const old = this.#journal;
    this.#journal = this.#newJournal(undefined);
    await old.close().catch(() => undefined);
  }

  /** Rejects if the file system reports less room. If it cannot report it, the write is tried. */
  async #expectRoom(bytes: number): Promise<void> {
    const { disk, paths } = this.#deps;
    const free = await disk.freeBytes(dirname(paths.snapshot)).catch(() => Infinity);
    if (free >= bytes) return;
    const message = `ENOSPC: no space left on device: ${bytes} bytes are needed, ${free} are free`;
    throw Object.assign(new Error(message), { code: 'ENOSPC' });
  }

  #newJournal(found: JournalFile | undefined): Journal {
    return new Journal(this.#deps, this.#snapshot?.id ?? { crc: 0, lastId: 0n }, found);
  }
}

/** Returns the entries of a commit's keys, with the CRCs of their pets. */
export function withPetCrcs({ pets, keys }: Commit): readonly KeyEntry[] {
  // The ids of a commit follow each other.
  const firstId = pets[0]?.id ?? 0n;
  const textOf = (id: bigint): string => pets[Number(id - firstId)]?.text ?? '';
  return keys.map((key) => ({ ...key, petCrc: zlib.crc32(textOf(key.id)) }));
}
