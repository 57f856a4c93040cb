/**
 * Reads a data file and its journal: for a start (recovery.ts), for a check, for an import. A start
 * and an import are refused beside a saved file with pets that the two lack.
 */

import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { messageOf } from '../../base/logger.ts';
import { systemMemory } from '../../base/system.ts';
import { hex } from '../commit.ts';
import { flat, type KeyEntry } from '../table/idempotency-keys.ts';
import { PetTable } from '../table/pet-table.ts';
import type { Disk, DiskFile, FileStat } from './disk.ts';
import { isIntact, type DataFileId } from './journal-line.ts';
import { readJournal, type JournalContent } from './journal-reader.ts';
import { takeLock } from './lock.ts';
import { DamagedFileError, fileAt, readStart, withFile, withFileIfPresent } from './read-file.ts';
import { crcOfPets, readDataFile, type ReadDataFile } from './data-file.ts';
import { SAVED, storePaths, type StoreDeps, type StorePaths } from './store-deps.ts';
import type { PetsFile } from './store-files.ts';

/** The table is empty: it is for the pets of data file and journal. */
type DataFileDeps = Pick<StoreDeps, 'disk' | 'paths' | 'memory' | 'pets'>;

export interface StoredData {
  readonly dataFile: (PetsFile & ReadDataFile) | undefined;
  /** How many pets the data file has. */
  readonly dataFilePets: number;
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
 * Reads the pets of data file and journal into the table, and the keys. `afterReading` is called
 * with the data file's file. Rejects with DamagedFileError.
 *
 * The journal is opened before the data file is read: if a running service makes a checkpoint in
 * between, the old journal is still readable, and the new data file has its pets.
 */
export async function readStoredData(
  deps: DataFileDeps,
  afterReading: (file: DiskFile) => Promise<void> = async () => undefined,
): Promise<StoredData> {
  const { disk, paths, memory, pets } = deps;
  const read = async (journalFile?: DiskFile): Promise<StoredData> => {
    const dataFile = await withFileIfPresent(disk, paths.dataFile, async (file) => {
      const entry = file.stat();
      const found = await readDataFile(paths.dataFile, file, pets, memory);
      await afterReading(file);
      return { ...found, entry, isNameDurable: false };
    });
    const dataFilePets = pets.length;
    const journal = journalFile && (await followJournal(deps, dataFile, journalFile));
    const old = await readOldKeys(deps, dataFile);
    const named = journal?.named;
    const lostAfter = named !== undefined && named.lastId > pets.lastId ? named.lastId : undefined;
    // An obsolete journal's keys are those of its data file's pets, if this one begins with it.
    const isBeside = named !== undefined && journal?.kind !== 'follows';
    const hasDataFileKeys = !isBeside || crcOfPets(pets, named.lastId) === named.crc;
    const [older, newer] = [journal?.dataFileKeys ?? [], journal?.keys ?? []];
    const all = [...(hasDataFileKeys ? older : []), ...old.keys, ...newer];
    const keys = all.sort((a, b) => (a.id < b.id ? -1 : 1));
    const droppedKeys = old.droppedCount + (hasDataFileKeys ? 0 : older.length);
    const journalEntry = journalFile?.stat();
    return { dataFile, dataFilePets, journal, journalEntry, keys, droppedKeys, lostAfter };
  };
  return (await withFileIfPresent(disk, paths.journal, read)) ?? read();
}

/**
 * The first data file is made before the first journal: a journal without a data file must have no
 * complete line.
 */
async function followJournal(
  { paths, memory, pets }: DataFileDeps,
  dataFile: DataFileId | undefined,
  file: DiskFile,
): Promise<JournalContent> {
  const id = dataFile ?? { crc: 0, lastId: 0n };
  const reading = readJournal(paths.journal, file, id, pets, memory);
  if (dataFile !== undefined) return reading;
  const content = await reading.catch((error: unknown) => {
    if (!(error instanceof DamagedFileError)) throw error;
    return undefined;
  });
  if (content?.kind === 'nothing') return content;
  throw new Error(
    `There is no data file ${paths.dataFile}, but its journal ${paths.journal} exists. Nothing ` +
      'was changed. Restore both from one backup; or move the journal away, as evidence, and ' +
      'start with no pets',
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
  dataFile: DataFileId | undefined,
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
    const pet = id <= (dataFile?.lastId ?? 0n) ? pets.get(id) : undefined;
    const isStored = pet !== undefined && hex(zlib.crc32(pet.text)) === crc;
    return isStored ? { key: flat(key!), id, expiresAt: Number(expiresAt) } : [];
  });
  return { keys, droppedCount: entries.length - keys.length };
}

const MAX_OLD_KEYS_BYTES = 10_000_000;
const OLD_KEY: RegExp = /\["([0-9a-f]{32})",([1-9][0-9]{0,18}),(-?[0-9]{1,16}),"([0-9a-f]{8})"\]/g;

/** Resolves with the paths of the files whose names continue like this, in their order. */
export async function filesBeside(
  { disk, paths: { dataFile } }: Pick<DataFileDeps, 'disk' | 'paths'>,
  ending: RegExp,
): Promise<readonly string[]> {
  const [folder, start] = [dirname(dataFile), basename(dataFile)];
  const names = (await disk.list(folder)).filter(
    (name) => name.startsWith(start) && ending.test(name.slice(start.length)),
  );
  return names.sort().map((name) => join(folder, name));
}

/** Rejects unless the table has all pets of each saved file: otherwise they would be hidden. */
export async function assertHasSaved(deps: DataFileDeps): Promise<void> {
  const { disk, paths, pets, memory } = deps;
  for (const file of (await filesBeside(deps, SAVED)).toReversed()) {
    const saved = new PetTable(memory);
    await withFile(disk, file, (opened) => readDataFile(file, opened, saved, memory));
    if (crcOfPets(pets, saved.lastId) === crcOfPets(saved, saved.lastId)) continue;
    throw new Error(
      `${file} has pets that ${paths.dataFile} and its journal lack: ${RENAME_OR_MOVE}`,
    );
  }
}

const RENAME_OR_MOVE =
  'rename it to the data file, and move the journal away; or move it away, to start without it';

/** Returns what throws the error of an unreadable file, with the newest saved file first. */
export function withAdvice(
  deps: Pick<DataFileDeps, 'disk' | 'paths'>,
): (error: unknown) => Promise<never> {
  return async (error) => {
    const newest = (await filesBeside(deps, SAVED).catch(() => [])).at(-1);
    if (newest === undefined) throw error;
    const advice = `${newest} has all pets up to the time in its name: ${RENAME_OR_MOVE}`;
    throw new Error(`${advice}. ${messageOf(error)}`);
  };
}

/** What a data file has, for those who do not open a store. */
export interface WholeData extends StoredData {
  readonly dataFile: NonNullable<StoredData['dataFile']>;
  /** The pets of data file and journal. */
  readonly pets: PetTable;
}

async function readWhole(disk: Disk, paths: StorePaths): Promise<WholeData> {
  const pets = new PetTable();
  const content = await readStoredData({ disk, paths, memory: systemMemory, pets });
  const { dataFile, lostAfter } = content;
  if (dataFile === undefined) throw noDataFile(paths.dataFile);
  if (lostAfter !== undefined) {
    throw new Error(
      `${paths.dataFile} ends with pet ${dataFile.lastId}, but ${paths.journal} follows pet ` +
        `${lostAfter}: pets are missing. Restore both from one backup`,
    );
  }
  return { ...content, dataFile, pets };
}

/**
 * Checks a data file and its journal, and changes nothing, whether or not a service is using them.
 * Rejects with the first thing that is wrong, and its position.
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
 * Reads a data file for an import. Rejects if it is missing, damaged, beside a saved file with more
 * pets, or in use: a running service would go on to add pets that the import would miss.
 */
export async function loadStoredData(disk: Disk, path: string): Promise<WholeData> {
  // Rejects before a lock file is made.
  const paths = await pathsOf(disk, path);
  const lock = await takeLock(disk, paths);
  try {
    const whole = await readWhole(disk, paths);
    await assertHasSaved({ disk, paths, memory: systemMemory, pets: whole.pets });
    return whole;
  } finally {
    await lock.release();
  }
}

/** Resolves with the paths of a data file. Rejects if there is none. */
async function pathsOf(disk: Disk, path: string): Promise<StorePaths> {
  const dataFile = await disk.resolve(path).catch(() => path);
  if (fileAt(disk, dataFile) === undefined) throw noDataFile(path);
  return storePaths(dataFile);
}

function noDataFile(path: string): Error {
  return new Error(`There is no data file ${path}`);
}
