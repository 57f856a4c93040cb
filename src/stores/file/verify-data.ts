/**
 * Checking data files, that of the keys too, without changing them, whether or not a service is
 * using them.
 *
 * The journal is opened before the snapshot is read. Should a checkpoint come in between, the old
 * journal is still readable through its open file, and the new snapshot has its pets.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/log.ts';
import { systemMemory } from '../../base/memory.ts';
import { PetTable } from '../table/pet-table.ts';
import type { Disk, DiskFile } from './disk.ts';
import type { JournalContent } from './journal-reader.ts';
import { fitsPets, readIdempotencyFile } from './idempotency-file.ts';
import { withLine } from './line-number.ts';
import { fileAt, withFile } from './read-file.ts';
import { readJournalBeside } from './recovery.ts';
import { readSnapshot } from './snapshot.ts';
import { storePaths, type StorePaths } from './store-paths.ts';

export interface DataReport {
  readonly pets: number;
  /** 0 when there are no pets. */
  readonly lastId: bigint;
  /** Pets that are in the journal only. */
  readonly journalPets: number;
  /** What is at the journal's end of a commit that is being written, or was cut off. */
  readonly tornBytes: number;
  /**
   * Idempotency keys in their file, and those of them whose pets are not there, or not like this.
   */
  readonly keys: number;
  readonly strayKeys: number;
  /** False where a changed letter in the snapshot would not be noticed. */
  readonly hasChecksum: boolean;
}

/**
 * Reads all of a data file, its journal and its keys. Rejects with what is wrong first, and where.
 */
export async function verifyData(disk: Disk, path: string): Promise<DataReport> {
  return (await readData(disk, path)).report;
}

/** The pets of a data file and its journal, which are not changed; else as `verifyData`. */
export async function readData(
  disk: Disk,
  path: string,
): Promise<{ readonly pets: PetTable; readonly report: DataReport }> {
  const paths = storePaths(await disk.resolve(path));
  // A service at work may write a line, or replace both files, while they are read: what is wrong
  // is only told when it is the same a moment later.
  for (let earlier = '', tries = 1; ; tries += 1) {
    try {
      return await checkOnce(disk, paths);
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

type ReadData = Awaited<ReturnType<typeof readData>>;

async function checkOnce(disk: Disk, paths: StorePaths): Promise<ReadData> {
  const hasJournal = fileAt(disk, paths.journal) !== undefined;
  if (!hasJournal) return checkFiles(disk, paths, undefined);
  return withFile(disk, paths.journal, (file) => checkFiles(disk, paths, file));
}

async function checkFiles(
  disk: Disk,
  paths: StorePaths,
  journal: DiskFile | undefined,
): Promise<ReadData> {
  const pets = new PetTable();
  if (fileAt(disk, paths.snapshot) === undefined) {
    if (journal !== undefined) {
      await readJournalBeside(undefined, paths, journal, pets, systemMemory);
    }
    throw new Error(`There is no data file ${paths.snapshot}`);
  }
  const { crc, hasChecksum } = await withFile(disk, paths.snapshot, (file) =>
    readSnapshot(paths.snapshot, file, pets, systemMemory),
  );
  const snapshotPets = pets.length;
  let content: JournalContent | undefined;
  if (journal !== undefined) {
    const id = { crc, lastId: pets.lastId };
    content = await readJournalBeside(id, paths, journal, pets, systemMemory);
  }
  const journalPets = pets.length - snapshotPets;
  const tornBytes = content?.tornBytes ?? 0;
  const { keys, strayKeys } = await checkIdempotencyKeys(disk, paths, pets);
  const counts = { pets: pets.length, lastId: pets.lastId, journalPets };
  return { pets, report: { ...counts, keys, strayKeys, tornBytes, hasChecksum } };
}

async function checkIdempotencyKeys(
  disk: Disk,
  paths: StorePaths,
  pets: PetTable,
): Promise<Pick<DataReport, 'keys' | 'strayKeys'>> {
  if (fileAt(disk, paths.keys) === undefined) return { keys: 0, strayKeys: 0 };
  const entries = await withFile(disk, paths.keys, (file) =>
    readIdempotencyFile(paths.keys, file, systemMemory),
  );
  const stray = entries.filter((entry) => !fitsPets(entry, pets));
  return { keys: entries.length, strayKeys: stray.length };
}
