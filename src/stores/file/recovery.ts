/**
 * Recovery: what the files hold when a store opens, after whatever became of the last process.
 *
 *     snapshot   journal                                 then
 *     none       none                                    start empty
 *     there      none                                    load it
 *     there      one that follows it                     apply it
 *     there      one of another, whose pets it has       pass it over: a checkpoint was cut off
 *     any        a first write that was cut off          drop it: it was never answered
 *     any        whole lines, and one cut off            drop that one, and say so
 *     any        anything else                           refuse, naming file, byte and line
 *
 * A refusal changes neither. What was read is made durable before anybody can see it, since a
 * process that was killed may have left it in the system's cache only: the snapshot is synced, and
 * the journal is copied to a new file, so that we share none with a process that still hangs, nor
 * with a back-up that linked it.
 */

import { dirname } from 'node:path';
import zlib from 'node:zlib';
import { messageOf, type Log } from '../../base/log.ts';
import type { Memory } from '../../base/memory.ts';
import type { CommittedKey } from '../commits/commit.ts';
import { KeyTable, type KeyClock } from '../keys/key-table.ts';
import { PetTable } from '../table/pet-table.ts';
import {
  writeSnapshot,
  type CheckpointPlace,
  type KnownSnapshot,
  type NewSnapshot,
} from './checkpoint.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk, DiskEntry, DiskFile } from './disk.ts';
import { fitsPets, readKeysFile } from './keys-file.ts';
import { readJournal, type JournalContent } from './journal-reader.ts';
import type { OpenJournal } from './journal.ts';
import type { SnapshotId } from './journal-line.ts';
import { chunksOf, fileAt, withFile } from './read-file.ts';
import { removeFile, replaceFile, writeAll } from './replace-file.ts';
import { readSnapshot } from './snapshot.ts';
import type { StorePaths } from './store-paths.ts';

export interface Recovered {
  readonly pets: PetTable;
  readonly keys: KeyTable;
  /** Undefined where there was none. */
  readonly snapshot: KnownSnapshot | undefined;
  /** True when the snapshot has all pets, durably. */
  readonly isSnapshotCurrent: boolean;
  /** The journal to go on with; undefined where a new one is to be begun. */
  readonly journal: OpenJournal | undefined;
  /** The file at the journal's name, where that has to go first, and could not be removed. */
  readonly leftover: DiskEntry | undefined;
}

export interface RecoveryPlace extends CheckpointPlace {
  readonly log: Log;
  /** A journal up to here is copied; a longer one is worth a checkpoint. */
  readonly longJournalBytes: number;
  /** For tests: where the pets are put, an empty table. */
  readonly pets?: PetTable | undefined;
  /** For tests: where the keys are put, an empty table. */
  readonly keys?: KeyTable | undefined;
  readonly clock: KeyClock;
}

/**
 * Loads the pets, and makes durable what they were read from.
 *
 * The journal's file stays open, for the caller to close. Rejects with DamagedFileError, or with
 * the disk's own error; no file is open then.
 */
export async function recover(place: RecoveryPlace): Promise<Recovered> {
  const { disk, paths, memory, log, pets = new PetTable(memory) } = place;
  const snapshot = await loadSnapshot(place, pets);
  const lastSnapshotId = pets.lastId;
  const content = await loadJournal(disk, paths, snapshot?.id, pets, memory);
  const { keys = new KeyTable(place.clock) } = place;
  await loadKeys(place, { pets, lastSnapshotId, committed: content?.keys ?? [] }, keys);
  place.guard();
  for (const path of [paths.tmp, paths.keysTmp]) {
    fileAt(disk, path);
    await removeFile(disk, path);
  }
  await expectNoMountPoint(place);
  // The snapshot may have got its name from a process that was killed before that was durable: not
  // until then may its journal go.
  await disk.syncDirectory(dirname(paths.snapshot));
  const found = {
    pets,
    keys,
    snapshot,
    isSnapshotCurrent: true,
    journal: undefined,
    leftover: undefined,
  };
  if (content === undefined) return found;
  tellOf(content, paths, log);
  if (!holdsCommits(content)) return removeJournal(place, found);
  const withPets = { ...found, isSnapshotCurrent: false };
  return content.lengthBytes > place.longJournalBytes
    ? replaceLongJournal(place, withPets, content)
    : { ...withPets, journal: await keepJournal(place, content) };
}

/**
 * Throws if the data file is a mount point by itself. Its lock and its journal would be in the folder
 * around it, which another container does not see; and no rename replaces it. A link tells: it cannot
 * leave a mount.
 */
async function expectNoMountPoint({ disk, paths }: RecoveryPlace): Promise<void> {
  if (disk.look(paths.snapshot) === undefined) return;
  try {
    await disk.link(paths.snapshot, paths.tmp);
  } catch (error) {
    // Some file systems have no links.
    if ((error as { readonly code?: unknown }).code !== 'EXDEV') return;
    throw new Error(
      `${paths.snapshot} is a mount point by itself, beside which nothing can be kept: mount its folder`,
    );
  }
  await removeFile(disk, paths.tmp);
}

/** The journal's content, its pets added to those of the snapshot; undefined where there is none. */
async function loadJournal(
  disk: Disk,
  paths: StorePaths,
  id: SnapshotId | undefined,
  pets: PetTable,
  memory: Memory,
): Promise<JournalContent | undefined> {
  if (fileAt(disk, paths.journal) === undefined) return undefined;
  return withFile(disk, paths.journal, (file) => readJournalBeside(id, paths, file, pets, memory));
}

/** As `readJournal`; without a snapshot, the journal must have nothing that was ever answered. */
export async function readJournalBeside(
  id: SnapshotId | undefined,
  paths: StorePaths,
  file: DiskFile,
  pets: PetTable,
  memory: Memory,
): Promise<JournalContent> {
  if (id !== undefined) return readJournal(paths.journal, file, id, pets, memory);
  const none = { crc: 0, lastId: 0n };
  const content = await readJournal(paths.journal, file, none, pets, memory).catch(
    (error: unknown) => {
      throw error instanceof DamagedFileError ? missingSnapshot(paths) : error;
    },
  );
  if (content.kind !== 'nothing') throw missingSnapshot(paths);
  return content;
}

/** The first snapshot comes before the first journal. */
function missingSnapshot({ snapshot, journal }: StorePaths): DamagedFileError {
  return new DamagedFileError({
    path: snapshot,
    complaint: `It is not there, but its journal ${journal} is`,
    advice:
      'Restore both from one back-up; or move the journal away, as evidence, and start with no pets',
  });
}

/** The snapshot's pets added to the table, which must be empty; undefined where there is none. */
async function loadSnapshot(
  { disk, paths, memory, log }: RecoveryPlace,
  pets: PetTable,
): Promise<KnownSnapshot | undefined> {
  if (fileAt(disk, paths.snapshot) === undefined) return undefined;
  return withFile(disk, paths.snapshot, async (file) => {
    const entry = file.look();
    const { crc, arrayBytes, isSealed } = await readSnapshot(paths.snapshot, file, pets, memory);
    if (!isSealed) {
      log('info', 'The data file has no seal: a changed letter in it would not be noticed', {
        file: paths.snapshot,
      });
    }
    await file.sync();
    return { id: { crc, lastId: pets.lastId }, arrayBytes, entry };
  });
}

interface FoundForKeys {
  /** Those of snapshot and journal. */
  readonly pets: PetTable;
  readonly lastSnapshotId: bigint;
  /** The keys in the journal. */
  readonly committed: readonly CommittedKey[];
}

/**
 * The keys of the last checkpoint and those of the journal, as far as their pets are there. Each has
 * its 24 hours anew: the time of day may have been corrected since, so nobody knows its age.
 *
 * Of pets behind the snapshot the journal alone tells: a checkpoint that was cut off may have left
 * the key of a create in doubt, whose id went to another pet since.
 */
async function loadKeys(
  { disk, paths, memory, log }: RecoveryPlace,
  { pets, lastSnapshotId, committed }: FoundForKeys,
  keys: KeyTable,
): Promise<void> {
  if (fileAt(disk, paths.keys) !== undefined) {
    const stored = await withFile(disk, paths.keys, async (file) => {
      const entries = await readKeysFile(paths.keys, file, memory);
      await file.sync();
      return entries;
    });
    const fitting = stored.filter((entry) => fitsPets(entry, pets));
    for (const entry of fitting) if (entry.id <= lastSnapshotId) keys.add(entry);
    const dropped = stored.length - fitting.length;
    if (dropped > 0) {
      const details = { file: paths.keys, keys: dropped };
      log('warn', 'Dropped idempotency keys whose pets are not there, or not like this', details);
    }
  }
  for (const { key, id } of committed) {
    const pet = pets.get(id);
    if (pet !== undefined) keys.add({ key, id, petCrc: zlib.crc32(pet.text) });
  }
}

function holdsCommits({ kind, lastOffset }: JournalContent): boolean {
  return kind === 'follows' && lastOffset > 0;
}

function tellOf(
  { kind, lengthBytes, tornBytes }: JournalContent,
  paths: StorePaths,
  log: Log,
): void {
  const file = paths.journal;
  if (tornBytes > 0) {
    const place = { file, offset: lengthBytes, bytes: tornBytes };
    log('warn', 'Dropped a commit that was cut off before it was answered', place);
  }
  if (kind === 'passed over') {
    log('info', 'Passed over a journal whose pets the data file has', { file });
  }
}

/** Brings all pets into the snapshot; where there is no room for that, the journal goes on. */
async function replaceLongJournal(
  place: RecoveryPlace,
  found: Recovered,
  content: JournalContent,
): Promise<Recovered> {
  const { disk, paths, log } = place;
  let written: NewSnapshot;
  try {
    written = await writeSnapshot(place, found.snapshot, found);
  } catch (error) {
    log('warn', 'A checkpoint failed; the journal goes on', { cause: messageOf(error) });
    return { ...found, journal: await keepInPlace(place, content) };
  }
  const { snapshot, syncError } = written;
  if (syncError === undefined) {
    return removeJournal(place, { ...found, snapshot, isSnapshotCurrent: true });
  }
  // After a power cut the old snapshot may be back, and needs its journal; the new one would not
  // know what is added to that.
  log('warn', 'A checkpoint may not be durable', { cause: messageOf(syncError) });
  const { file } = await keepInPlace(place, content);
  await file.close();
  return { ...found, snapshot, leftover: disk.look(paths.journal) };
}

/** Removes a journal that holds nothing that the snapshot has not. */
async function removeJournal(place: RecoveryPlace, found: Recovered): Promise<Recovered> {
  const { disk, paths, log, guard } = place;
  guard();
  try {
    await removeFile(disk, paths.journal);
  } catch (error) {
    const details = { file: paths.journal, cause: messageOf(error) };
    log('warn', 'A journal that is not needed cannot be removed: no pets are taken', details);
    return { ...found, leftover: disk.look(paths.journal) };
  }
  // Else it might be back after a power cut, with what was cut off from it.
  await disk.syncDirectory(dirname(paths.journal));
  return found;
}

/** Makes the journal's whole lines durable, in a new file where there is room for one. */
async function keepJournal(place: RecoveryPlace, content: JournalContent): Promise<OpenJournal> {
  const { paths, log } = place;
  const { lengthBytes, crc } = content;
  try {
    return { file: await copyJournal(place, lengthBytes), lengthBytes, crc };
  } catch (error) {
    // A full disk must not prevent a start.
    const details = { file: paths.journal, cause: messageOf(error) };
    log('warn', 'The journal could not be copied, and is made durable in its place', details);
  }
  return keepInPlace(place, content);
}

async function copyJournal(place: RecoveryPlace, lengthBytes: number): Promise<DiskFile> {
  const { disk, paths, memory } = place;
  const { mode, owner } = disk.look(paths.journal) ?? {};
  return withFile(disk, paths.journal, async (file) => {
    const replacement = { path: paths.journal, tmpPath: paths.tmp, making: { mode, owner } };
    const chunks = chunksOf(file, lengthBytes, memory);
    const copy = await replaceFile(
      { ...place, ...replacement, guard: () => place.guard() },
      chunks,
    );
    try {
      await disk.syncDirectory(dirname(paths.journal));
      return copy;
    } catch (error) {
      await copy.close().catch(() => undefined);
      throw error;
    }
  });
}

/**
 * Makes whole lines durable where they are. A process may have been killed after a sync failed: the
 * system then goes on showing bytes that are not on the disk and that it will not write by itself,
 * and the next sync would falsely succeed. A journal dies with its first failed sync, so that only
 * its last line can be such a one: it is written again.
 */
async function keepInPlace(
  { disk, paths, memory, guard }: RecoveryPlace,
  { lastOffset, lengthBytes, crc }: JournalContent,
): Promise<OpenJournal> {
  guard();
  const file = await disk.open(paths.journal, 'edit');
  try {
    const bytes = memory.bytes(lengthBytes - lastOffset);
    for (let filled = 0; filled < bytes.length;) {
      const count = await file.read(bytes, filled, bytes.length - filled, lastOffset + filled);
      if (count === 0) throw new Error('The journal is shorter than it was');
      filled += count;
    }
    await writeAll(file, bytes, lastOffset);
    await file.truncate(lengthBytes);
    await file.sync();
    await disk.syncDirectory(dirname(paths.journal));
    return { file, lengthBytes, crc };
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}
