/**
 * Checking data files without changing them, whether or not a service is using them.
 *
 * The journal is opened before the snapshot. Should a checkpoint come in between, the old journal
 * is still readable through its open file, and its commits are skipped as ones that the new
 * snapshot has; the other way round, pets could be missed.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/log.ts';
import type { Disk, DiskFile } from './disk.ts';
import { commitsOnto, readJournal } from './journal-reader.ts';
import { PetTable } from './pet-table.ts';
import { fileSize } from './recovery.ts';
import { readSnapshot } from './snapshot.ts';
import { storePaths } from './store-paths.ts';

export interface DataReport {
  readonly pets: number;
  /** 0 when there are no pets. */
  readonly lastId: bigint;
  /** Pets that are in the journal only. */
  readonly journalPets: number;
  /** What is at the journal's end of a commit that is being written, or was cut off. */
  readonly tornBytes: number;
}

/** Reads all of a data file and its journal. Rejects with what is wrong first, and where. */
export async function checkData(disk: Disk, path: string): Promise<DataReport> {
  const paths = storePaths(await disk.resolve(path));
  const journal = await openIfThere(disk, paths.journal);
  try {
    const snapshot = await openIfThere(disk, paths.snapshot);
    if (snapshot === undefined && journal === undefined) {
      throw new Error(`There is no data file ${paths.snapshot}`);
    }
    const pets = new PetTable();
    if (snapshot !== undefined) {
      await readSnapshot(paths.snapshot, snapshot, pets).finally(() => snapshot.close());
    }
    const snapshotPets = pets.length;
    const tornBytes = journal === undefined ? 0 : await checkJournal(paths.journal, journal, pets);
    const journalPets = pets.length - snapshotPets;
    return { pets: pets.length, lastId: pets.lastId, journalPets, tornBytes };
  } finally {
    await journal?.close();
  }
}

async function openIfThere(disk: Disk, path: string): Promise<DiskFile | undefined> {
  return (await fileSize(disk, path)) === undefined ? undefined : disk.open(path, 'read');
}

/**
 * Reads the journal's pets into the table, and returns the size of the torn commit at its end.
 *
 * A service at work fills the room behind its commits while that is read: a line may seem to break
 * off, with whole ones behind it. Real damage is still there when it is looked at again, later.
 */
async function checkJournal(path: string, journal: DiskFile, pets: PetTable): Promise<number> {
  for (let earlier = ''; ;) {
    try {
      // What the table has of an earlier reading is passed over, as what the snapshot has is.
      const { tornBytes } = await readJournal(path, journal, commitsOnto(path, pets));
      return tornBytes;
    } catch (error) {
      const complaint = messageOf(error);
      if (complaint === earlier) throw error;
      earlier = complaint;
      await sleep(RETRY_MS);
    }
  }
}

const RETRY_MS = 100;
