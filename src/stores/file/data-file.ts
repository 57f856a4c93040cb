/**
 * Reads and makes a data file as a whole: for a start (recovery.ts), for a check, and for an import
 * or an export.
 *
 * An import and an export hold the lock: a running service has pets in its journal that an import
 * would miss, and no service may start on a file that an export has half made. `loadDataFile` also
 * refuses a data file that has a journal, as after a kill -9 or in a backup.
 */

import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/log.ts';
import { systemMemory } from '../../base/memory.ts';
import type { KeyEntry } from '../idempotency/key-table.ts';
import { PetTable } from '../table/pet-table.ts';
import { writeSnapshot, type KnownSnapshot } from './checkpoint.ts';
import { DamagedFileError, withLine } from './damaged-file-error.ts';
import type { Disk, DiskFile } from './disk.ts';
import { fitsPets, readIdempotencyFile } from './idempotency-file.ts';
import { readJournal, type JournalContent } from './journal-reader.ts';
import { fileAt, withFileIfPresent } from './read-file.ts';
import { readSnapshot, type ReadSnapshot } from './snapshot.ts';
import type { StoreDeps } from './store-deps.ts';
import { takeLock } from './store-lock.ts';
import { storePaths, type StorePaths } from './store-paths.ts';

/** The table is empty: it is for the pets of snapshot and journal. */
type DataFileDeps = Pick<StoreDeps, 'disk' | 'paths' | 'memory' | 'pets'>;

export interface DataFileContent {
  readonly snapshot: (KnownSnapshot & ReadSnapshot) | undefined;
  /** How many pets the snapshot has. */
  readonly snapshotPets: number;
  readonly journal: JournalContent | undefined;
  /** The entries of the idempotency file, in ascending order of id, whose pets are stored. */
  readonly keys: readonly KeyEntry[];
  /** How many other entries it has. */
  readonly strayKeys: number;
}

/**
 * Reads the pets of snapshot and journal into the table, and the idempotency file. `afterReading`
 * is called with the files of the snapshot and of the keys. Rejects with DamagedFileError.
 *
 * The journal is opened before the snapshot is read: if a running service makes a checkpoint in
 * between, the old journal is still readable, and the new snapshot has its pets.
 */
export async function readDataFile(
  deps: DataFileDeps,
  afterReading: (file: DiskFile) => Promise<void> = async () => undefined,
): Promise<DataFileContent> {
  const { disk, paths, memory, pets } = deps;
  const read = async (journalFile?: DiskFile): Promise<DataFileContent> => {
    const snapshot = await withFileIfPresent(disk, paths.snapshot, async (file) => {
      const entry = file.stat();
      const found = await readSnapshot(paths.snapshot, file, pets, memory);
      await afterReading(file);
      return { ...found, entry, isDurable: false };
    });
    const snapshotPets = pets.length;
    const journal = journalFile && (await followJournal(deps, snapshot, journalFile));
    const entries = await withFileIfPresent(disk, paths.keys, async (file) => {
      const found = await readIdempotencyFile(paths.keys, file, memory);
      await afterReading(file);
      return found;
    });
    const keys = (entries ?? []).filter((entry) => fitsPets(entry, pets));
    const strayKeys = (entries?.length ?? 0) - keys.length;
    return { snapshot, snapshotPets, journal, keys, strayKeys };
  };
  return (await withFileIfPresent(disk, paths.journal, read)) ?? read();
}

/**
 * The first snapshot is made before the first journal: a journal without a snapshot must have no
 * complete line.
 */
async function followJournal(
  { paths, memory, pets }: DataFileDeps,
  snapshot: Pick<KnownSnapshot, 'id'> | undefined,
  file: DiskFile,
): Promise<JournalContent> {
  const id = snapshot?.id ?? { crc: 0, lastId: 0n };
  const reading = readJournal(paths.journal, file, id, pets, memory);
  if (snapshot !== undefined) return reading;
  const content = await reading.catch((error: unknown) => {
    throw error instanceof DamagedFileError ? missingSnapshot(paths) : error;
  });
  if (content.kind !== 'nothing') throw missingSnapshot(paths);
  return content;
}

function missingSnapshot({ snapshot, journal }: StorePaths): DamagedFileError {
  return new DamagedFileError({
    path: snapshot,
    complaint: `It is missing, but its journal ${journal} exists`,
    advice:
      'Restore both from one backup; or move the journal away, as evidence, and start with no pets',
  });
}

/** What a data file has, for those who do not open a store. */
export interface WholeData extends DataFileContent {
  /** The pets of data file and journal. */
  readonly pets: PetTable;
}

async function readWhole(disk: Disk, paths: StorePaths): Promise<WholeData> {
  const pets = new PetTable();
  const content = await readDataFile({ disk, paths, memory: systemMemory, pets });
  if (content.snapshot === undefined) throw new Error(`There is no data file ${paths.snapshot}`);
  return { ...content, pets };
}

/**
 * Checks a data file, its journal and its idempotency file, and changes nothing, whether or not a
 * service is using them. Rejects with the first thing that is wrong, and its position.
 */
export async function verifyData(disk: Disk, path: string): Promise<WholeData> {
  const paths = await pathsOf(disk, path);
  // A running service may write a line, or replace both files, during the check: an error counts
  // only if it is the same a moment later.
  for (let earlier = '', tries = 1; ; tries += 1) {
    try {
      return await readWhole(disk, paths);
    } catch (error) {
      const complaint = messageOf(error);
      if (complaint === earlier || tries === MAX_TRIES) throw await withLine(disk, error);
      earlier = complaint;
      await sleep(RETRY_MS);
    }
  }
}

/** Resolves with the paths of a data file. Rejects if its folder is missing. */
async function pathsOf(disk: Disk, path: string): Promise<StorePaths> {
  try {
    return storePaths(await disk.resolve(path));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ENOENT') throw error;
    throw new Error(`There is no data file ${path}`);
  }
}

const RETRY_MS = 100;
const MAX_TRIES = 10;

/**
 * Reads a data file that no service uses. Rejects if it is missing, in use, damaged, or has a
 * journal.
 */
export async function loadDataFile(disk: Disk, path: string): Promise<WholeData> {
  const paths = await pathsOf(disk, path);
  // Before a lock file is made.
  if (fileAt(disk, paths.snapshot) === undefined) throw new Error(`There is no data file ${path}`);
  const lock = await takeLock(disk, paths);
  try {
    if ((disk.stat(paths.journal)?.sizeBytes ?? 0) > 0) {
      throw new Error(
        `${paths.journal} may have pets that the data file lacks: start the service on this data ` +
          'file once, and stop it, which brings them into the data file',
      );
    }
    return await readWhole(disk, paths);
  } finally {
    await lock.release();
  }
}

/** Makes a data file, as a service writes it. Rejects if any of its files exists. */
export async function createDataFile(
  disk: Disk,
  path: string,
  content: Pick<StoreDeps, 'pets' | 'keys'>,
): Promise<void> {
  await disk.makeDirectory(dirname(path));
  const paths = storePaths(await disk.resolve(path));
  const lock = await takeLock(disk, paths);
  try {
    for (const there of [paths.snapshot, paths.journal, paths.keys]) {
      if (disk.stat(there) !== undefined) throw new Error(`${there} exists already`);
    }
    await writeSnapshot({ disk, paths, memory: systemMemory, lock, ...content }, undefined);
    await disk.syncDirectory(dirname(paths.snapshot));
  } finally {
    await lock.release();
  }
}
