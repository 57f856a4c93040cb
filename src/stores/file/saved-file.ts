/**
 * The saved file: all acknowledged pets in a separate file, `pets.json.saved-<time>`, when the
 * store must not write its data file. It has no idempotency keys.
 *
 * It is written under a name that no other process uses (with `.part` at its end), synced, and then
 * renamed, so that a file with the final name is complete. The store may write it without the lock.
 * A missing folder is made again.
 */

import { dirname } from 'node:path';
import type { PetTable } from '../table/pet-table.ts';
import { snapshotAttributes, type CheckpointDeps } from './checkpoint.ts';
import type { Disk, FileStat } from './disk.ts';
import { replaceFile } from './replace-file.ts';
import { SnapshotText } from './snapshot.ts';

export interface SavedFile {
  readonly path: string;
  readonly entry: FileStat;
  readonly lastId: bigint;
}

/** Writes all pets of the table to a new file, whose folder has to be synced afterwards. */
export async function savePets(
  { disk, paths, memory, randomBits }: CheckpointDeps,
  pets: PetTable,
  timeOfDay: number,
): Promise<SavedFile> {
  const path = freePath(disk, paths.saved, timeOfDay);
  await disk.makeDirectory(dirname(path));
  const replacement = {
    ...{ disk, path, tmpPath: partOf(disk, path) },
    attributes: snapshotAttributes(disk, paths),
    assertOwned: () => {
      if (disk.stat(path) !== undefined) throw new Error(`${path} exists already`);
    },
  };
  const text = new SnapshotText(memory, pets, [], randomBits);
  const file = await replaceFile(replacement, text.chunks());
  const entry = file.stat();
  await file.close().catch(() => undefined);
  return { path, entry, lastId: pets.lastId };
}

function freePath(disk: Disk, pathAt: (at: Date) => string, timeOfDay: number): string {
  for (let time = timeOfDay; ; time += 1) {
    const path = pathAt(new Date(time));
    if (disk.stat(path) === undefined && disk.stat(partOf(disk, path)) === undefined) return path;
  }
}

function partOf({ processId }: Disk, path: string): string {
  return `${path}-${processId}.part`;
}
