/**
 * A checkpoint: all pets in a new snapshot, in place of the old one.
 *
 * Pets are never changed or deleted, so a journal holds no garbage, and a checkpoint is due only
 * when the store stops, when it opens with a long journal, and when a journal is dead. The journal
 * goes last: should the process end before that, the next start finds all its pets in the snapshot.
 */

import { dirname } from 'node:path';
import type { Memory } from '../../base/memory.ts';
import { MAX_KEYS_KEPT, type KeyEntry, type KeyTable } from '../keys/key-table.ts';
import type { PetTable, TablePet } from '../table/pet-table.ts';
import type { Disk, DiskEntry, FileMaking } from './disk.ts';
import type { SnapshotId } from './journal-line.ts';
import { encodeKeysFile } from './keys-file.ts';
import { crcOf, withFile } from './read-file.ts';
import { replaceFile, writeAll } from './replace-file.ts';
import { isUnchanged } from './same-file.ts';
import { SnapshotText } from './snapshot.ts';
import type { StorePaths } from './store-paths.ts';

/** A snapshot's file as it was read or written. */
export interface KnownSnapshot {
  readonly id: SnapshotId;
  /** How many bytes its CRC goes over. */
  readonly arrayBytes: number;
  readonly entry: DiskEntry;
}

export interface CheckpointPlace {
  readonly disk: Disk;
  readonly paths: StorePaths;
  readonly memory: Memory;
  /** For tests: the random bits of an empty snapshot. */
  readonly randomBits?: (() => number) | undefined;
  /** Throws when the files are not ours any more. */
  guard(): void;
}

/** Somebody put another file in the place of the snapshot, or changed it. */
export class ForeignSnapshotError extends Error {
  override readonly name: string = 'ForeignSnapshotError';
}

export interface NewSnapshot {
  readonly snapshot: KnownSnapshot;
  /** Why the new file's name may not be durable; undefined when it is. */
  readonly syncError?: unknown;
}

/** What a checkpoint holds: all of the tables, and pets and keys in doubt that follow them. */
export interface CheckpointContent {
  readonly pets: PetTable;
  readonly keys: KeyTable;
  readonly morePets?: readonly TablePet[];
  readonly moreKeys?: readonly KeyEntry[];
}

/**
 * Writes the keys, and then all pets in the place of the snapshot that we know. Rejects when that
 * one still has its place.
 */
export async function writeSnapshot(
  place: CheckpointPlace,
  known: KnownSnapshot | undefined,
  content: CheckpointContent,
): Promise<NewSnapshot> {
  const { disk, paths, memory, randomBits } = place;
  const { pets, morePets: more = [] } = content;
  const same = await recognizeSnapshot(place, known);
  // Who puts another snapshot in place may have put its keys there, too.
  const guard = (): void => {
    place.guard();
    expectUnchanged(disk, paths, same);
  };
  await writeKeys({ ...place, guard }, content);
  const text = new SnapshotText(memory, pets, more, randomBits);
  const making = snapshotMaking(disk, paths);
  const replacement = { disk, path: paths.snapshot, tmpPath: paths.tmp, making, guard };
  const file = await replaceFile(replacement, text.chunks());
  const entry = file.look();
  await file.close().catch(() => undefined);
  const lastId = more.at(-1)?.id ?? pets.lastId;
  const snapshot = { id: { crc: text.crc, lastId }, arrayBytes: text.arrayBytes, entry };
  try {
    await disk.syncDirectory(dirname(paths.snapshot));
    return { snapshot };
  } catch (syncError) {
    return { snapshot, syncError };
  }
}

/** Makes the keys durable; where there are none, and were none, there is no file for them. */
async function writeKeys(
  { disk, paths, memory, guard }: CheckpointPlace,
  { keys, moreKeys = [] }: CheckpointContent,
): Promise<void> {
  const isNeeded = keys.length + moreKeys.length > 0 || disk.look(paths.keys) !== undefined;
  if (!isNeeded) return;
  const entries = [...keys.entries(), ...moreKeys].slice(-MAX_KEYS_KEPT);
  const making = snapshotMaking(disk, paths);
  const replacement = { disk, path: paths.keys, tmpPath: paths.keysTmp, making, guard };
  const file = await replaceFile(replacement, [encodeKeysFile(memory, entries)]);
  await file.close().catch(() => undefined);
  await disk.syncDirectory(dirname(paths.keys));
}

/** Puts all pets of the table into a new file, and returns its path. */
export async function savePets(
  { disk, paths, memory }: Omit<CheckpointPlace, 'guard'>,
  pets: PetTable,
): Promise<string> {
  const path = paths.saved(new Date());
  const file = await disk.open(path, 'create', snapshotMaking(disk, paths));
  try {
    let position = 0;
    for (const chunk of new SnapshotText(memory, pets).chunks()) {
      await writeAll(file, chunk, position);
      position += chunk.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.syncDirectory(dirname(path));
  return path;
}

/** As the old one is made; else for its owner only, who is that of the folder. */
function snapshotMaking(disk: Disk, { snapshot }: StorePaths): FileMaking {
  const old = disk.look(snapshot);
  return { mode: old?.mode, owner: old?.owner ?? disk.look(dirname(snapshot))?.owner };
}

/** As the data file is made, but that its owner may write whatever that is. */
export function journalMaking(disk: Disk, paths: StorePaths): FileMaking {
  const { mode, owner } = snapshotMaking(disk, paths);
  return { mode: mode === undefined ? undefined : mode | 0o600, owner };
}

/**
 * Returns what is known of the snapshot, with the file as it is at its path now. A file of the same
 * length and CRC is the same snapshot, though it was touched, or restored from a copy. Rejects with
 * ForeignSnapshotError for any other one.
 */
export async function recognizeSnapshot(
  { disk, paths, memory }: CheckpointPlace,
  known: KnownSnapshot | undefined,
): Promise<KnownSnapshot | undefined> {
  const entry = disk.look(paths.snapshot);
  if (known === undefined || entry === undefined || isUnchanged(known.entry, entry)) {
    expectUnchanged(disk, paths, known);
    return known;
  }
  if (entry.sizeBytes !== known.entry.sizeBytes || !entry.isFile) throw foreignSnapshot();
  const crc = await withFile(disk, paths.snapshot, (file) =>
    crcOf(file, known.arrayBytes, memory),
  );
  if (crc !== known.id.crc) throw foreignSnapshot();
  return { ...known, entry };
}

/** Throws ForeignSnapshotError unless the file in the snapshot's place is the one that we know. */
function expectUnchanged(
  disk: Disk,
  { snapshot }: StorePaths,
  known: KnownSnapshot | undefined,
): void {
  const entry = disk.look(snapshot);
  const isOurs =
    known === undefined
      ? entry === undefined
      : entry !== undefined && isUnchanged(known.entry, entry);
  if (!isOurs) throw foreignSnapshot();
}

function foreignSnapshot(): ForeignSnapshotError {
  return new ForeignSnapshotError('The data file is not the one that this process read or wrote');
}
