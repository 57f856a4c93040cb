/**
 * All of a data file at once, for who carries pets from one store to another: the snapshot and the
 * keys file are read, or made where there are none.
 *
 * The lock is held meanwhile, since a service at work has pets in its journal that the snapshot
 * does not have. For the same reason a data file with a journal beside it is refused, as in a
 * back-up, or after a service was killed.
 */

import { dirname } from 'node:path';
import { systemMemory } from '../../base/memory.ts';
import type { KeyEntry, KeyTable } from '../idempotency/key-table.ts';
import { PetTable } from '../table/pet-table.ts';
import { writeSnapshot } from './checkpoint.ts';
import type { Disk } from './disk.ts';
import { fitsPets, readIdempotencyFile } from './idempotency-file.ts';
import { fileAt, withFile } from './read-file.ts';
import { readSnapshot } from './snapshot.ts';
import { createLockAssertion, takeLock } from './store-lock.ts';
import { storePaths } from './store-paths.ts';

export interface WholeData {
  readonly pets: PetTable;
  /** In ascending order of id; those of pets that are there. */
  readonly keys: readonly KeyEntry[];
}

/** Rejects where there is no data file, where it is in use, and where it has a journal. */
export async function loadDataFile(disk: Disk, path: string): Promise<WholeData> {
  const paths = storePaths(await disk.resolve(path));
  if (fileAt(disk, paths.snapshot) === undefined) throw new Error(`There is no data file ${path}`);
  const lock = await takeLock(disk, paths);
  try {
    if ((disk.stat(paths.journal)?.sizeBytes ?? 0) > 0) {
      throw new Error(
        `${paths.journal} has pets that the data file has not: start the service on this data ` +
          'file once, and stop it, which brings them into the data file',
      );
    }
    const pets = new PetTable();
    await withFile(disk, paths.snapshot, (file) =>
      readSnapshot(paths.snapshot, file, pets, systemMemory),
    );
    if (fileAt(disk, paths.keys) === undefined) return { pets, keys: [] };
    const entries = await withFile(disk, paths.keys, (file) =>
      readIdempotencyFile(paths.keys, file, systemMemory),
    );
    return { pets, keys: entries.filter((entry) => fitsPets(entry, pets)) };
  } finally {
    await lock.release();
  }
}

/** Makes a data file, as a service writes it. Rejects where there is one, or a part of one. */
export async function createDataFile(
  disk: Disk,
  path: string,
  content: { readonly pets: PetTable; readonly keys: KeyTable },
): Promise<void> {
  await disk.makeDirectory(dirname(path));
  const paths = storePaths(await disk.resolve(path));
  const lock = await takeLock(disk, paths);
  try {
    for (const there of [paths.snapshot, paths.journal, paths.keys]) {
      if (disk.stat(there) !== undefined) throw new Error(`${there} is there already`);
    }
    const deps = {
      disk,
      paths,
      memory: systemMemory,
      assertLockHeld: createLockAssertion(disk, paths, lock),
    };
    await writeSnapshot(deps, undefined, content);
    await disk.syncDirectory(dirname(paths.snapshot));
  } finally {
    await lock.release();
  }
}
