/**
 * Checks a data file, its journal and its idempotency file, and changes nothing, whether or not a
 * service is using them.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/log.ts';
import { systemMemory } from '../../base/memory.ts';
import { PetTable } from '../table/pet-table.ts';
import { readDataFile } from './data-file.ts';
import type { Disk } from './disk.ts';
import { fitsPets } from './idempotency-file.ts';
import { withLine } from './line-number.ts';
import { storePaths, type StorePaths } from './store-paths.ts';

export interface DataReport {
  readonly pets: number;
  /** 0 if there are no pets. */
  readonly lastId: bigint;
  /** Pets that only the journal has. */
  readonly journalPets: number;
  /** The length of an incomplete commit at the journal's end: being written, or torn. */
  readonly tornBytes: number;
  /** The idempotency keys in their file, and how many of them do not match a stored pet. */
  readonly keys: number;
  readonly strayKeys: number;
  /** False if a changed letter in the snapshot would not be noticed. */
  readonly hasChecksum: boolean;
}

/** Reads all files of a data file. Rejects with the first thing that is wrong, and its position. */
export async function verifyData(disk: Disk, path: string): Promise<DataReport> {
  return (await readData(disk, path)).report;
}

/** As `verifyData`, with the pets of data file and journal. */
export async function readData(
  disk: Disk,
  path: string,
): Promise<{ readonly pets: PetTable; readonly report: DataReport }> {
  const paths = storePaths(await disk.resolve(path));
  // A running service may write a line, or replace both files, during the check: an error counts
  // only if it is the same a moment later.
  for (let earlier = '', tries = 1; ; tries += 1) {
    try {
      return await readOnce(disk, paths);
    } catch (error) {
      const complaint = messageOf(error);
      if (complaint === earlier || tries === MAX_TRIES) throw await withLine(disk, error);
      earlier = complaint;
      await sleep(RETRY_MS);
    }
  }
}

const RETRY_MS = 100;
const MAX_TRIES = 10;

async function readOnce(disk: Disk, paths: StorePaths): ReturnType<typeof readData> {
  const pets = new PetTable();
  const content = await readDataFile({ disk, paths, memory: systemMemory, pets });
  const { snapshot, journal, keys } = content;
  if (snapshot === undefined) throw new Error(`There is no data file ${paths.snapshot}`);
  const report = {
    pets: pets.length,
    lastId: pets.lastId,
    journalPets: pets.length - snapshot.pets,
    tornBytes: journal?.tornBytes ?? 0,
    keys: keys.length,
    strayKeys: keys.filter((entry) => !fitsPets(entry, pets)).length,
    hasChecksum: snapshot.hasChecksum,
  };
  return { pets, report };
}
