/**
 * A checkpoint: writes all pets to a new snapshot, which replaces the old one.
 *
 * Pets are never changed or deleted, so a journal holds no garbage, and a checkpoint is needed only
 * when the store closes and when its journal is renewed (store-files.ts). The journal is removed
 * last: if the process ends before that, the next start finds all its pets in the snapshot.
 */

import { dirname } from 'node:path';
import type { Memory } from '../../base/memory.ts';
import { MAX_IDEMPOTENCY_KEYS, type KeyEntry, type KeyTable } from '../idempotency/key-table.ts';
import type { PetTable, TablePet } from '../table/pet-table.ts';
import type { Disk, FileStat, FileAttributes } from './disk.ts';
import type { SnapshotId } from './journal-line.ts';
import { encodeIdempotencyFile } from './idempotency-file.ts';
import { isUnchanged, ReadOnlyError } from './path-state.ts';
import { crcOf, withFile } from './read-file.ts';
import { replaceFile, type Replacement } from './replace-file.ts';
import { SnapshotText } from './snapshot.ts';
import type { StorePaths } from './store-paths.ts';

/** A snapshot's file as it was read or written. */
export interface KnownSnapshot {
  readonly id: SnapshotId;
  /** How many bytes its CRC covers. */
  readonly arrayBytes: number;
  readonly entry: FileStat;
  /** False until its folder is synced: after a power failure the one before may be back. */
  readonly isDurable: boolean;
}

export interface CheckpointDeps {
  readonly disk: Disk;
  readonly paths: StorePaths;
  readonly memory: Memory;
  /** For tests: the random bits of an empty snapshot. */
  readonly randomBits?: (() => number) | undefined;
  /** Throws ReadOnlyError if another process may be writing. */
  assertLockHeld(): void;
}

/** What a checkpoint holds: all of the tables, and then the pets and keys of a commit in doubt. */
export interface CheckpointContent {
  readonly pets: PetTable;
  readonly keys: KeyTable;
  readonly morePets?: readonly TablePet[];
  readonly moreKeys?: readonly KeyEntry[];
}

/**
 * Writes the keys, and then all pets, which replace the `known` snapshot. The caller has to sync
 * the folder afterwards. `beforeRename` is called with the new snapshot right before its rename.
 * Rejects with ReadOnlyError or the disk's error; the old snapshot then has its name, unless the
 * rename itself failed and it is unknown whether it took effect.
 */
export async function writeSnapshot(
  deps: CheckpointDeps,
  known: KnownSnapshot | undefined,
  content: CheckpointContent,
  beforeRename: (snapshot: KnownSnapshot) => void = () => undefined,
): Promise<void> {
  const { disk, paths, memory, randomBits } = deps;
  const { pets, morePets: more = [] } = content;
  // A program that replaces the snapshot may also have replaced the keys.
  const assertOwned = (): void => {
    deps.assertLockHeld();
    if (!isAtItsPath(disk, paths, known)) throw snapshotReplaced();
  };
  await writeKeys({ ...deps, assertOwned }, content);
  const text = new SnapshotText(memory, pets, more, randomBits);
  const lastId = more.at(-1)?.id ?? pets.lastId;
  const replacement = {
    ...{ disk, path: paths.snapshot, tmpPath: paths.tmp, assertOwned },
    attributes: snapshotAttributes(disk, paths),
    beforeRename(file: { stat(): FileStat }): void {
      const { crc, arrayBytes } = text;
      beforeRename({ id: { crc, lastId }, arrayBytes, entry: file.stat(), isDurable: false });
    },
  };
  const file = await replaceFile(replacement, text.chunks());
  await file.close().catch(() => undefined);
}

/** Makes the keys durable. Without keys and without an old file it writes no file. */
async function writeKeys(
  { disk, paths, memory, assertOwned }: CheckpointDeps & Pick<Replacement, 'assertOwned'>,
  { keys, moreKeys = [] }: CheckpointContent,
): Promise<void> {
  const isNeeded = keys.length + moreKeys.length > 0 || disk.stat(paths.keys) !== undefined;
  if (!isNeeded) return;
  const entries = [...keys.entries(), ...moreKeys].slice(-MAX_IDEMPOTENCY_KEYS);
  const attributes = snapshotAttributes(disk, paths);
  const replacement = { disk, path: paths.keys, tmpPath: paths.keysTmp, attributes, assertOwned };
  const file = await replaceFile(replacement, [encodeIdempotencyFile(memory, entries)]);
  await file.close().catch(() => undefined);
  await disk.syncDirectory(dirname(paths.keys));
}

/** Returns the old snapshot's mode and owner, or else owner-only access for the folder's owner. */
export function snapshotAttributes(disk: Disk, { snapshot }: StorePaths): FileAttributes {
  const old = disk.stat(snapshot);
  return { mode: old?.mode, owner: old?.owner ?? disk.stat(dirname(snapshot))?.owner };
}

/** Returns the snapshot's mode and owner, except that the owner may always read and write. */
export function journalAttributes(disk: Disk, paths: StorePaths): FileAttributes {
  const { mode, owner } = snapshotAttributes(disk, paths);
  return { mode: mode === undefined ? undefined : mode | 0o600, owner };
}

/**
 * Resolves with the known snapshot, whose `entry` is the file at its path now. A file of the same
 * length and CRC is the same snapshot, even if it was touched, or restored from a copy. Rejects
 * with ReadOnlyError if the file is another one.
 */
export async function recognizeSnapshot(
  { disk, paths, memory }: CheckpointDeps,
  known: KnownSnapshot | undefined,
): Promise<KnownSnapshot | undefined> {
  if (isAtItsPath(disk, paths, known)) return known;
  const entry = disk.stat(paths.snapshot);
  const mayBeSame = entry?.isFile === true && entry.sizeBytes === known?.entry.sizeBytes;
  if (known === undefined || !mayBeSame) throw snapshotReplaced();
  const crc = await withFile(disk, paths.snapshot, (file) => crcOf(file, known.arrayBytes, memory));
  if (crc !== known.id.crc) throw snapshotReplaced();
  // The program that put it there may not have synced it.
  return { ...known, entry, isDurable: false };
}

function snapshotReplaced(): ReadOnlyError {
  const cause = 'The data file is not the one that this process read or wrote';
  return new ReadOnlyError(cause, false);
}

/** Returns true if the known snapshot is at its path. Throws the disk's error. */
export function isAtItsPath(
  disk: Disk,
  { snapshot }: StorePaths,
  known: KnownSnapshot | undefined,
): boolean {
  const entry = disk.stat(snapshot);
  if (known === undefined || entry === undefined) return known === undefined && entry === undefined;
  return isUnchanged(known.entry, entry);
}
