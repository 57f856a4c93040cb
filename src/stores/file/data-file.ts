/** Reads a data file and its journal: for a start (recovery.ts), for a check, for an import. */

import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { systemMemory } from '../../base/system.ts';
import { hex } from '../commit.ts';
import type { KeyEntry } from '../table/idempotency-keys.ts';
import { PetTable } from '../table/pet-table.ts';
import type { Disk, DiskFile, FileStat } from './disk.ts';
import { isIntact, type SnapshotId } from './journal-line.ts';
import { readJournal, type JournalContent } from './journal-reader.ts';
import { takeLock } from './lock.ts';
import { DamagedFileError, fileAt, readStart, withFileIfPresent } from './read-file.ts';
import { crcOfPets, readSnapshot, type ReadSnapshot } from './snapshot.ts';
import { storePaths, type StoreDeps, type StorePaths } from './store-deps.ts';
import type { PetsFile } from './store-files.ts';

/** The table is empty: it is for the pets of snapshot and journal. */
type DataFileDeps = Pick<StoreDeps, 'disk' | 'paths' | 'memory' | 'pets'>;

export interface DataFileContent {
  readonly snapshot: (PetsFile & ReadSnapshot) | undefined;
  /** How many pets the snapshot has. */
  readonly snapshotPets: number;
  readonly journal: JournalContent | undefined;
  /** The file that has it: another one may be at its path by now. */
  readonly journalEntry: FileStat | undefined;
  /** The idempotency keys whose pets are stored, in ascending order of id. */
  readonly keys: readonly KeyEntry[];
  /** How many other keys were found. */
  readonly droppedKeys: number;
  /** The last id that the journal names, if the data file ends before it. */
  readonly lostAfter: bigint | undefined;
}

/**
 * Reads the pets of snapshot and journal into the table, and the keys. `afterReading` is called
 * with the snapshot's file. Rejects with DamagedFileError.
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
      return { ...found, entry, isNameDurable: false };
    });
    const snapshotPets = pets.length;
    const journal = journalFile && (await followJournal(deps, snapshot, journalFile));
    const old = await readOldKeys(deps, snapshot);
    const named = journal?.named;
    const lostAfter = named !== undefined && named.lastId > pets.lastId ? named.lastId : undefined;
    // An obsolete journal's keys are those of its snapshot's pets, if this one begins with it.
    const isBeside = named !== undefined && journal?.kind !== 'follows';
    const hasSnapshotKeys = !isBeside || crcOfPets(pets, named.lastId) === named.crc;
    const [older, newer] = [journal?.snapshotKeys ?? [], journal?.keys ?? []];
    const all = [...(hasSnapshotKeys ? older : []), ...old.keys, ...newer];
    const keys = all.sort((a, b) => (a.id < b.id ? -1 : 1));
    const droppedKeys = old.droppedCount + (hasSnapshotKeys ? 0 : older.length);
    const journalEntry = journalFile?.stat();
    return { snapshot, snapshotPets, journal, journalEntry, keys, droppedKeys, lostAfter };
  };
  return (await withFileIfPresent(disk, paths.journal, read)) ?? read();
}

/**
 * The first snapshot is made before the first journal: a journal without a snapshot must have no
 * complete line.
 */
async function followJournal(
  { paths, memory, pets }: DataFileDeps,
  snapshot: SnapshotId | undefined,
  file: DiskFile,
): Promise<JournalContent> {
  const id = snapshot ?? { crc: 0, lastId: 0n };
  const reading = readJournal(paths.journal, file, id, pets, memory);
  if (snapshot !== undefined) return reading;
  const content = await reading.catch((error: unknown) => {
    throw error instanceof DamagedFileError ? missingSnapshot(paths) : error;
  });
  if (content.kind !== 'nothing') throw missingSnapshot(paths);
  return content;
}

function missingSnapshot({ snapshot, journal }: StorePaths): Error {
  return new Error(
    `There is no data file ${snapshot}, but its journal ${journal} exists. Nothing was changed. ` +
      'Restore both from one backup; or move the journal away, as evidence, and start with no pets',
  );
}

/**
 * Reads `pets.json.keys`, in which releases 1.1 and 1.2 kept the idempotency keys of the data file.
 * An entry has the CRC-32 of its pet's text. A release after 2.x may remove this.
 *
 *     91dc63af 0000007b {"keys":1,"entries":[["9f86d081…c55ad015",8,1795356000000,"5b4e8c1a"],…]}
 */
async function readOldKeys(
  { disk, paths, pets, memory }: DataFileDeps,
  snapshot: SnapshotId | undefined,
): Promise<{ readonly keys: readonly KeyEntry[]; readonly droppedCount: number }> {
  const bytes = await withFileIfPresent(disk, paths.oldKeys, (file) =>
    readStart(file, memory, MAX_OLD_KEYS_BYTES),
  );
  if (bytes === undefined) return { keys: [], droppedCount: 0 };
  if (!isIntact(bytes, 0, bytes.length, 0)) {
    throw new DamagedFileError(paths.oldKeys, 'Its content does not match its length and CRC');
  }
  const entries = [...bytes.toString('latin1').matchAll(OLD_KEY)];
  const keys = entries.flatMap(([, key, digits, expiresAt, crc]) => {
    // A checkpoint that was cut off may have left keys of creates that were not stored.
    const id = BigInt(digits!);
    const pet = id <= (snapshot?.lastId ?? 0n) ? pets.get(id) : undefined;
    const isStored = pet !== undefined && hex(zlib.crc32(pet.text)) === crc;
    return isStored ? { key: key!, id, expiresAt: Number(expiresAt) } : [];
  });
  return { keys, droppedCount: entries.length - keys.length };
}

const MAX_OLD_KEYS_BYTES = 10_000_000;
const OLD_KEY: RegExp = /\["([0-9a-f]{32})",([1-9][0-9]{0,18}),(-?[0-9]{1,16}),"([0-9a-f]{8})"\]/g;

/** What a data file has, for those who do not open a store. */
export interface WholeData extends DataFileContent {
  readonly snapshot: NonNullable<DataFileContent['snapshot']>;
  /** The pets of data file and journal. */
  readonly pets: PetTable;
}

async function readWhole(disk: Disk, paths: StorePaths): Promise<WholeData> {
  const pets = new PetTable();
  const content = await readDataFile({ disk, paths, memory: systemMemory, pets });
  const { snapshot, lostAfter } = content;
  if (snapshot === undefined) throw noDataFile(paths.snapshot);
  if (lostAfter !== undefined) {
    throw new Error(
      `${paths.snapshot} ends with pet ${snapshot.lastId}, but ${paths.journal} follows pet ` +
        `${lostAfter}: pets are missing. Restore both from one backup`,
    );
  }
  return { ...content, snapshot, pets };
}

/**
 * Checks a data file and its journal, and changes nothing, whether or not a
 * service is using them. Rejects with the first thing that is wrong, and its position.
 */
export async function verifyData(disk: Disk, path: string): Promise<WholeData> {
  const paths = await pathsOf(disk, path);
  // A running service may write a line, or replace both files, during the check.
  for (let tries = 1; ; tries += 1) {
    try {
      return await readWhole(disk, paths);
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
      await sleep(RETRY_MS);
    }
  }
}

const RETRY_MS = 100;
const MAX_TRIES = 5;

/**
 * Reads a data file for an import. Rejects if it is missing, damaged, or in use: a running service
 * would go on to add pets that the import would miss.
 */
export async function loadDataFile(disk: Disk, path: string): Promise<WholeData> {
  // Rejects before a lock file is made.
  const paths = await pathsOf(disk, path);
  const lock = await takeLock(disk, paths);
  try {
    return await readWhole(disk, paths);
  } finally {
    await lock.release();
  }
}

/** Resolves with the paths of a data file. Rejects if there is none. */
async function pathsOf(disk: Disk, path: string): Promise<StorePaths> {
  const snapshot = await disk.resolve(path).catch(() => path);
  if (fileAt(disk, snapshot) === undefined) throw noDataFile(path);
  return storePaths(snapshot);
}

function noDataFile(path: string): Error {
  return new Error(`There is no data file ${path}`);
}
