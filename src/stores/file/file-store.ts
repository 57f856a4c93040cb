/**
 * The file store: a PetStore whose acknowledged pets outlive the process. Its files:
 *
 *     pets.json          the data file, replaced as a whole when the store closes, and by a start
 *                        that finds most pets in the journal
 *     pets.json.journal  the creates since, one line for each commit, and the idempotency keys
 *     pets.json.lock     held while the store is open, never removed
 *
 * A create resolves when its line in the journal is synced, and reads see it from then on. All
 * creates that arrive during a sync share the next one (commit-queue.ts). A create has one
 * of three outcomes: stored; refused, and nothing of it will ever appear; or, after a sync that
 * failed, unknown.
 */

import { randomInt } from 'node:crypto';
import { dirname } from 'node:path';
import { systemClock, systemMemory, type Clock, type Memory } from '../../base/system.ts';
import { Histogram } from '../../base/histogram.ts';
import { messageOf, safeLogger, silentLogger, type Logger } from '../../base/logger.ts';
import { IdempotencyKeys } from '../table/idempotency-keys.ts';
import { LogStore } from '../log-store.ts';
import { PetTable } from '../table/pet-table.ts';
import { type Disk, syncFolders } from './disk.ts';
import { FileLog } from './file-log.ts';
import { takeLock } from './lock.ts';
import { nodeDisk } from './node-disk.ts';
import { fileAt, readStart, withFileIfPresent } from './read-file.ts';
import { recover } from './recovery.ts';
import { withAdvice } from './stored-data.ts';
import { assertArray } from './data-file.ts';
import { storePaths, type StoreDeps } from './store-deps.ts';

/** A PetStore over a FileLog. */
export type FileStore = LogStore<FileLog>;

/** What tests replace: the clock, the disk, memory, the random bits, and the tables. */
type Replaced = Clock & Pick<StoreDeps, 'disk' | 'memory' | 'randomBits' | 'pets' | 'keys'>;

export interface FileStoreOptions extends Partial<Replaced> {
  /** The data file. A symbolic link is followed, and a missing folder is made. */
  readonly path: string;
  readonly log?: Logger | undefined;
}

/**
 * Opens the store. Rejects if its files are damaged or in use; data file and journal are unchanged.
 */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const { disk = nodeDisk, memory = systemMemory } = options;
  const logger = safeLogger(options.log ?? silentLogger);
  await disk.makeDirectory(dirname(options.path)).catch((error: unknown) => {
    throw new Error(`The folder of ${options.path} cannot be made: ${messageOf(error)}`);
  });
  const paths = storePaths(await disk.resolve(options.path));
  await assertDataFile(disk, paths.dataFile, memory).catch(withAdvice({ disk, paths }));
  const clock: Clock = { ...systemClock, ...options };
  const { pets = new PetTable(memory), keys = new IdempotencyKeys(clock) } = options;
  const { randomBits = () => randomInt(2 ** 32) } = options;
  const lock = await takeLock(disk, paths);
  const syncSeconds = new Histogram(SYNC_BOUNDS);
  const deps = { disk, paths, memory, randomBits, pets, keys, logger, clock, lock, syncSeconds };
  try {
    // Its parent folders may have been made a moment ago.
    if (fileAt(disk, paths.dataFile) === undefined) await syncFolders(disk, paths.dataFile);
    return new LogStore({ pets, keys }, new FileLog(deps, await recover(deps)));
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Makes a data file with these pets and keys. Rejects if any of its files exists. */
export async function exportDataFile(
  path: string,
  tables: Pick<StoreDeps, 'pets' | 'keys'>,
): Promise<void> {
  const { dataFile, journal, oldKeys } = storePaths(path);
  for (const there of [dataFile, journal, oldKeys]) {
    if (nodeDisk.stat(there) !== undefined) throw new Error(`${there} exists already`);
  }
  const store = await openFileStore({ path, ...tables });
  await store.close();
  const hasKeys = tables.keys.entries().next().done !== true;
  if (hasKeys && nodeDisk.stat(journal) === undefined) {
    throw new Error(`${dataFile} has the pets, but ${journal}, for the keys, could not be written`);
  }
}

const SYNC_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
];

/** Refuses a file of another kind before a lock file is made next to it. */
async function assertDataFile(disk: Disk, path: string, memory: Memory): Promise<void> {
  const start = await withFileIfPresent(disk, path, (file) => readStart(file, memory, 4096));
  if (start !== undefined) assertArray(path, start);
}
