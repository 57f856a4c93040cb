/**
 * Recovery: what the files hold when a store opens, after whatever became of the last process.
 *
 *     snapshot   journal                                 then
 *     none       none                                    start empty
 *     there      none                                    load it
 *     any        commits up to the snapshot's last id    skip them: a checkpoint was cut off
 *     any        commits that follow on                  apply them
 *     any        commits that do not follow on           refuse: a snapshot of another day, or none
 *     any        a commit cut off at the end             drop it, and say so: it was never answered
 *     any        any other damage                        refuse, naming file and byte
 *
 * A refusal changes nothing. What was loaded is synced before anybody can see it: a process that
 * was killed may have left it in the system's cache only.
 */

import { dirname } from 'node:path';
import type { Log } from '../base/log.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk } from './disk.ts';
import type { Commit } from './commit.ts';
import { Journal, readJournal } from './journal.ts';
import { PetTable } from './pet-table.ts';
import { readSnapshot } from './snapshot.ts';
import type { StorePaths } from './store-paths.ts';

export interface Recovered {
  readonly pets: PetTable;
  readonly journal: Journal;
  /** Undefined where there was none. */
  readonly snapshotBytes: number | undefined;
}

export async function recover(disk: Disk, paths: StorePaths, log: Log): Promise<Recovered> {
  const pets = new PetTable();
  const snapshotBytes = await loadSnapshot(disk, paths.snapshot, pets);
  const journal = await loadJournal(disk, paths.journal, pets, log);
  try {
    await disk.remove(paths.tmp);
    await disk.syncDirectory(dirname(paths.snapshot));
  } catch (error) {
    await journal.close();
    throw error;
  }
  return { pets, journal, snapshotBytes };
}

async function loadSnapshot(disk: Disk, path: string, pets: PetTable): Promise<number | undefined> {
  const sizeBytes = await fileSize(disk, path);
  if (sizeBytes === undefined) return undefined;
  const file = await disk.open(path, 'read');
  try {
    await readSnapshot(path, file, pets);
    await file.sync();
  } finally {
    await file.close();
  }
  return sizeBytes;
}

async function loadJournal(disk: Disk, path: string, pets: PetTable, log: Log): Promise<Journal> {
  if ((await fileSize(disk, path)) === undefined) return new Journal(disk, path);
  const file = await disk.open(path, 'edit');
  try {
    const { lengthBytes, tornBytes } = await readJournal(path, file, createApply(path, pets));
    if (tornBytes > 0) {
      await file.truncate(lengthBytes);
      const place = { file: path, offset: lengthBytes, bytes: tornBytes };
      log('warn', 'Dropped a commit that was cut off before it was answered', place);
    }
    await file.sync();
    return new Journal(disk, path, file, lengthBytes);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Takes a journal's commits to the pets of the snapshot. Throws DamagedFileError. */
export function createApply(
  path: string,
  pets: PetTable,
): (commit: Commit, offset: number) => void {
  const snapshotLastId = pets.lastId;
  let journalLastId: bigint | undefined;
  return ({ after, pets: added }, offset) => {
    const isChained = journalLastId === undefined || after === journalLastId;
    journalLastId = after + BigInt(added.length);
    if (isChained && journalLastId <= snapshotLastId) return;
    if (!isChained || after !== pets.lastId) {
      throw new DamagedFileError(
        path,
        offset,
        `This commit follows pet ${after}, but the pets before it end with ${pets.lastId}: ` +
          'the snapshot is missing or from another day, or a line was lost',
      );
    }
    for (const { id, pet, status } of added) pets.append(id, pet, 0, pet.length, status);
  };
}

/** The size in bytes, undefined when nothing is there; rejects when what is there is no file. */
export async function fileSize(disk: Disk, path: string): Promise<number | undefined> {
  const entry = await disk.stat(path);
  if (entry !== undefined && !entry.isFile) throw new Error(`${path} is not a file`);
  return entry?.sizeBytes;
}
