/**
 * Reads and makes a data file as a whole: for a start (recovery.ts), for a check (verify-data.ts),
 * and for an import or an export.
 *
 * An import and an export hold the lock: a running service has pets in its journal that an import
 * would miss, and no service may start on a file that an export has half made. `loadDataFile` also
 * refuses a data file that has a journal, as after a kill -9 or in a backup.
 */

import { dirname } from 'node:path';
import { systemMemory } from '../../base/memory.ts';
import type { KeyEntry, KeyTable } from '../idempotency/key-table.ts';
import { PetTable } from '../table/pet-table.ts';
import { writeSnapshot, type CheckpointDeps, type KnownSnapshot } from './checkpoint.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk, DiskFile } from './disk.ts';
import { fitsPets, readIdempotencyFile } from './idempotency-file.ts';
import { readJournal, type JournalContent } from './journal-reader.ts';
import { fileAt, withFileIfPresent } from './read-file.ts';
import { readSnapshot } from './snapshot.ts';
import { createLockAssertion, takeLock } from './store-lock.ts';
import { storePaths, type StorePaths } from './store-paths.ts';

export interface DataFileDeps extends Pick<CheckpointDeps, 'disk' | 'paths' | 'memory'> {
  /** An empty table, for the pets of snapshot and journal. */
  readonly pets: PetTable;
}

export interface DataFileContent {
  readonly snapshot: (Omit<KnownSnapshot, 'isDurable'> & FoundSnapshot) | undefined;
  readonly journal: JournalContent | undefined;
  /** The entries of the idempotency file. */
  readonly keys: readonly KeyEntry[];
}

interface FoundSnapshot {
  readonly hasChecksum: boolean;
  readonly pets: number;
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
      const { crc, arrayBytes, hasChecksum } = found;
      await afterReading(file);
      const id = { crc, lastId: pets.lastId };
      return { id, arrayBytes, entry, hasChecksum, pets: pets.length };
    });
    const journal =
      journalFile === undefined ? undefined : await followJournal(deps, snapshot, journalFile);
    const keys = await withFileIfPresent(disk, paths.keys, async (file) => {
      const entries = await readIdempotencyFile(paths.keys, file, memory);
      await afterReading(file);
      return entries;
    });
    return { snapshot, journal, keys: keys ?? [] };
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

export interface WholeData {
  readonly pets: PetTable;
  /** In ascending order of id; only those of pets in the table. */
  readonly keys: readonly KeyEntry[];
}

/**
 * Reads a data file that no service uses. Rejects if it is missing, in use, damaged, or has a
 * journal.
 */
export async function loadDataFile(disk: Disk, path: string): Promise<WholeData> {
  const paths = storePaths(await disk.resolve(path));
  if (fileAt(disk, paths.snapshot) === undefined) throw new Error(`There is no data file ${path}`);
  const lock = await takeLock(disk, paths);
  try {
    if ((disk.stat(paths.journal)?.sizeBytes ?? 0) > 0) {
      throw new Error(
        `${paths.journal} may have pets that the data file lacks: start the service on this data ` +
          'file once, and stop it, which brings them into the data file',
      );
    }
    const pets = new PetTable();
    const { keys } = await readDataFile({ disk, paths, memory: systemMemory, pets });
    return { pets, keys: keys.filter((entry) => fitsPets(entry, pets)) };
  } finally {
    await lock.release();
  }
}

/** Makes a data file, as a service writes it. Rejects if any of its files exists. */
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
      if (disk.stat(there) !== undefined) throw new Error(`${there} exists already`);
    }
    const assertLockHeld = createLockAssertion(disk, paths, lock);
    const deps = { disk, paths, memory: systemMemory, assertLockHeld };
    await writeSnapshot(deps, undefined, content);
    await disk.syncDirectory(dirname(paths.snapshot));
  } finally {
    await lock.release();
  }
}
