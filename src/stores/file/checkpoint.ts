/**
 * A checkpoint: writes all pets to a new snapshot, which replaces the old one.
 *
 * Pets are never changed or deleted, so a journal holds no garbage, and a checkpoint is needed only
 * when the store closes and when its journal is renewed (store-files.ts). The journal is removed
 * last: if the process ends before that, the next start finds all its pets in the snapshot.
 */

import { dirname } from 'node:path';
import zlib from 'node:zlib';
import type { Commit } from '../commits/commit.ts';
import { MAX_IDEMPOTENCY_KEYS, type KeyEntry } from '../idempotency/key-table.ts';
import type { TablePet } from '../table/pet-table.ts';
import type { Disk, FileStat } from './disk.ts';
import { encodeIdempotencyFile } from './idempotency-file.ts';
import type { SnapshotId } from './journal-line.ts';
import { isUnchanged } from './path-state.ts';
import { crcOf, withFile } from './read-file.ts';
import { attributesOf, replaceFile, type Replacement } from './replace-file.ts';
import { SnapshotText } from './snapshot.ts';
import type { StoreDeps } from './store-deps.ts';
import { replacedError } from './store-lock.ts';

/** A snapshot's file as it was read or written. */
export interface KnownSnapshot {
  readonly id: SnapshotId;
  /** How many bytes its CRC covers. */
  readonly arrayBytes: number;
  readonly entry: FileStat;
  /** False until its folder is synced: a power failure may bring back the snapshot before it. */
  readonly isDurable: boolean;
}

type TableDeps = Pick<StoreDeps, 'disk' | 'paths' | 'memory' | 'pets' | 'randomBits'>;
type CheckpointDeps = TableDeps & Pick<StoreDeps, 'lock' | 'keys'>;
type Target = Pick<Replacement, 'path' | 'tmpPath' | 'assertOwned'>;

const REPLACED = 'The data file is not the one that this process read or wrote';

/**
 * Writes the keys, and then all pets, with those of the commit in doubt; they replace the `known`
 * snapshot. The caller has to sync the folder afterwards. `beforeRename` is called with the new
 * snapshot right before its rename. Rejects with ReadOnlyError or the disk's error; the old
 * snapshot is then still at its path, unless the rename itself failed and it is unknown whether it
 * took effect.
 */
export async function writeSnapshot(
  deps: CheckpointDeps,
  known: KnownSnapshot | undefined,
  doubt?: Commit,
  beforeRename?: (snapshot: KnownSnapshot) => void,
): Promise<void> {
  const { disk, paths, lock } = deps;
  // A program that replaces the snapshot may also have replaced the keys.
  const assertOwned = (): void => {
    lock.assertHeld();
    if (!isAtItsPath(disk, paths.snapshot, known)) throw replacedError(lock, REPLACED);
  };
  const moreKeys = doubt === undefined ? [] : withPetCrcs(doubt);
  await writeKeys(deps, { path: paths.keys, tmpPath: paths.keysTmp, assertOwned }, moreKeys);
  const target = { path: paths.snapshot, tmpPath: paths.tmp, assertOwned };
  await writePets(deps, target, doubt?.pets, beforeRename);
}

/** Makes the keys durable. Without keys and without an old file it writes no file. */
async function writeKeys(
  { disk, paths, memory, keys }: CheckpointDeps,
  target: Target,
  moreKeys: readonly KeyEntry[],
): Promise<void> {
  const isNeeded = keys.length + moreKeys.length > 0 || disk.stat(target.path) !== undefined;
  if (!isNeeded) return;
  const entries = [...keys.entries(), ...moreKeys].slice(-MAX_IDEMPOTENCY_KEYS);
  const attributes = attributesOf(disk, paths.snapshot);
  const chunks = [encodeIdempotencyFile(memory, entries)];
  const file = await replaceFile({ disk, attributes, ...target }, chunks);
  await file.close().catch(() => undefined);
  await disk.syncDirectory(dirname(target.path));
}

/**
 * Writes the pets of the table, and `more`, to a new file, as a snapshot; the caller has to sync
 * its folder. Resolves with what `beforeRename` gets.
 */
export async function writePets(
  { disk, paths, memory, pets, randomBits }: TableDeps,
  target: Target,
  more: readonly TablePet[] = [],
  beforeRename: (snapshot: KnownSnapshot) => void = () => undefined,
): Promise<KnownSnapshot> {
  const text = new SnapshotText(memory, pets, more, randomBits);
  const lastId = more.at(-1)?.id ?? pets.lastId;
  const written = (entry: FileStat): KnownSnapshot => {
    const { crc, arrayBytes } = text;
    return { id: { crc, lastId }, arrayBytes, entry, isDurable: false };
  };
  const replacement = {
    ...{ disk, attributes: attributesOf(disk, paths.snapshot), ...target },
    beforeRename: (entry: FileStat) => beforeRename(written(entry)),
  };
  const file = await replaceFile(replacement, text.chunks());
  const entry = file.stat();
  await file.close().catch(() => undefined);
  return written(entry);
}

/** Returns the entries of a commit's keys, with the CRCs of their pets. */
export function withPetCrcs({ pets, keys }: Commit): readonly KeyEntry[] {
  // The ids of a commit follow each other.
  const firstId = pets[0]?.id ?? 0n;
  const textOf = (id: bigint): string => pets[Number(id - firstId)]?.text ?? '';
  return keys.map((key) => ({ ...key, petCrc: zlib.crc32(textOf(key.id)) }));
}

/**
 * Resolves with the known snapshot, whose `entry` is the file at its path now. A file of the same
 * length and CRC is the same snapshot, even if it was touched, or restored from a copy. Rejects
 * with ReadOnlyError if the file is another one.
 */
export async function recognizeSnapshot(
  { disk, paths, memory, lock }: CheckpointDeps,
  known: KnownSnapshot | undefined,
): Promise<KnownSnapshot | undefined> {
  if (isAtItsPath(disk, paths.snapshot, known)) return known;
  const entry = disk.stat(paths.snapshot);
  const mayBeSame = entry?.isFile === true && entry.sizeBytes === known?.entry.sizeBytes;
  if (known === undefined || !mayBeSame) throw replacedError(lock, REPLACED);
  const crc = await withFile(disk, paths.snapshot, (file) => crcOf(file, known.arrayBytes, memory));
  if (crc !== known.id.crc) throw replacedError(lock, REPLACED);
  // The program that put it there may not have synced it.
  return { ...known, entry, isDurable: false };
}

/** Returns true if the known snapshot is at its path. Throws the disk's error. */
export function isAtItsPath(disk: Disk, path: string, known: KnownSnapshot | undefined): boolean {
  const entry = disk.stat(path);
  if (known === undefined || entry === undefined) return known === undefined && entry === undefined;
  return isUnchanged(known.entry, entry);
}
