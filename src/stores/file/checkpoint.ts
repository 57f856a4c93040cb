/**
 * A checkpoint: all pets in a new snapshot, in place of the old one.
 *
 * Pets are never changed or deleted, so a journal holds no garbage, and a checkpoint is due only
 * when the store stops, when it opens with a long journal, and when a journal is dead. The journal
 * goes last: should the process end before that, the next start finds all its pets in the snapshot.
 */

import { dirname } from 'node:path';
import type { Memory } from '../../base/memory.ts';
import type { PetTable, TablePet } from '../table/pet-table.ts';
import type { Disk, DiskEntry, FileMaking } from './disk.ts';
import type { SnapshotId } from './journal-line.ts';
import { replaceFile, writeAll } from './replace-file.ts';
import { isUnchanged } from './same-file.ts';
import { SnapshotText } from './snapshot.ts';
import type { StorePaths } from './store-paths.ts';

/** A snapshot's file as it was read or written. */
export interface KnownSnapshot {
  readonly id: SnapshotId;
  readonly entry: DiskEntry;
}

export interface CheckpointPlace {
  readonly disk: Disk;
  readonly paths: StorePaths;
  readonly memory: Memory;
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

/**
 * Writes all pets of the table, and `more` that follow them, in the place of the snapshot that we
 * know. Rejects when that one still has its place.
 */
export async function writeSnapshot(
  { disk, paths, memory, guard }: CheckpointPlace,
  known: KnownSnapshot | undefined,
  pets: PetTable,
  more: readonly TablePet[] = [],
): Promise<NewSnapshot> {
  const text = new SnapshotText(memory, pets, more);
  const file = await replaceFile(
    {
      disk,
      path: paths.snapshot,
      tmpPath: paths.tmp,
      making: snapshotMaking(disk, paths),
      guard() {
        guard();
        checkSnapshot(disk, paths, known);
      },
    },
    text.chunks(),
  );
  const entry = file.look();
  await file.close().catch(() => undefined);
  const lastId = more.at(-1)?.id ?? pets.lastId;
  const snapshot = { id: { crc: text.crc, lastId }, entry };
  try {
    await disk.syncDirectory(dirname(paths.snapshot));
    return { snapshot };
  } catch (syncError) {
    return { snapshot, syncError };
  }
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

/** Throws ForeignSnapshotError unless the file in the snapshot's place is the one that we know. */
export function checkSnapshot(
  disk: Disk,
  { snapshot }: StorePaths,
  known: KnownSnapshot | undefined,
): void {
  const entry = disk.look(snapshot);
  const isOurs =
    known === undefined
      ? entry === undefined
      : entry !== undefined && isUnchanged(known.entry, entry);
  if (isOurs) return;
  throw new ForeignSnapshotError(`${snapshot} is not the file that was read or written here`);
}
