/**
 * The file store: a PetStore that loses nothing, in four files.
 *
 *     pets.json          the snapshot, replaced as a whole at a checkpoint
 *     pets.json.keys     the idempotency keys of that checkpoint (../idempotency/key-table.ts)
 *     pets.json.journal  the creates since, one line for each commit, with their keys
 *     pets.json.lock     held while the store is open, never removed
 *
 * A create is answered when its line in the journal is synced, and seen by reads from then on. All
 * creates that arrive while a sync is under way share the next one (commits/commit-queue.ts). What
 * can be known of a create is told as it is: it is stored; or nothing of it is there, nor will be;
 * or, after a sync that failed, nobody can tell.
 */

import { dirname, resolve } from 'node:path';
import { OPEN_BRACKET } from '../../base/ascii.ts';
import { Histogram } from '../../base/histogram.ts';
import { skipSpace } from '../../base/json.ts';
import { messageOf, safeLog, silent, type Log } from '../../base/log.ts';
import { systemMemory, type Memory } from '../../base/memory.ts';
import { KeyTable } from '../idempotency/key-table.ts';
import { openLogStore, type LogStore } from '../log-store.ts';
import { PetTable } from '../table/pet-table.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk } from './disk.ts';
import { FileLog } from './file-log.ts';
import { withLine } from './line-number.ts';
import { nodeDisk } from './node-disk.ts';
import { fileAt, withFile } from './read-file.ts';
import { recover } from './recovery.ts';
import { systemClock, type StoreClock } from './store-clock.ts';
import { LONG_JOURNAL_BYTES } from './store-files.ts';
import { createLockAssertion, takeLock } from './store-lock.ts';
import { storePaths } from './store-paths.ts';

/** A PetStore over a FileLog. */
export type FileStore = LogStore<FileLog>;

export interface FileStoreOptions {
  /** The data file. Its folder is made; a symbolic link is followed first. */
  readonly path: string;
  readonly log?: Log | undefined;
  /** For tests: where the files are. */
  readonly disk?: Disk | undefined;
  /** For tests: where memory comes from. */
  readonly memory?: Memory | undefined;
  /** For tests: where the pets are put, an empty table. */
  readonly pets?: PetTable | undefined;
  /** For tests: where the keys are put, an empty table. */
  readonly keys?: KeyTable | undefined;
  /** For tests: from when on a journal is worth a checkpoint at a start, in bytes. */
  readonly longJournalBytes?: number | undefined;
  /** For tests: a clock in milliseconds that never goes back. */
  readonly now?: (() => number) | undefined;
  /** For tests: the random bits of an empty snapshot. */
  readonly randomBits?: (() => number) | undefined;
  /** For tests: the time of day in milliseconds since 1970. */
  readonly timeOfDay?: (() => number) | undefined;
  /** For tests: timers. */
  readonly every?: StoreClock['every'] | undefined;
  readonly sleep?: StoreClock['sleep'] | undefined;
}

/**
 * Opens the store. Rejects, with snapshot and journal as they were, if they are damaged or in use.
 */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const { disk = nodeDisk, memory = systemMemory, longJournalBytes = LONG_JOURNAL_BYTES } = options;
  const log = safeLog(options.log ?? silent);
  await disk.makeDirectory(dirname(options.path)).catch((error: unknown) => {
    throw new Error(`The folder of ${options.path} cannot be made: ${messageOf(error)}`);
  });
  const paths = storePaths(await disk.resolve(options.path));
  await expectArray(disk, paths.snapshot).catch(async (error: unknown) => {
    throw await withLine(disk, error);
  });
  const clock = clockOf(options);
  const { pets = new PetTable(memory), keys = new KeyTable(clock), randomBits } = options;
  const lock = await takeLock(disk, paths);
  const deps = {
    ...{ disk, paths, memory, randomBits, pets, keys, longJournalBytes, log, clock, lock },
    assertLockHeld: createLockAssertion(disk, paths, lock),
    syncSeconds: new Histogram(SYNC_BOUNDS),
  };
  return openLogStore({ pets, keys }, async (target) => {
    try {
      // The folders above may have been made just now.
      const isNew = fileAt(disk, paths.snapshot) === undefined;
      if (isNew) await syncFolders(disk, dirname(paths.snapshot));
      const { files, staleCause } = await recover(deps);
      return new FileLog({ ...deps, target }, files, staleCause);
    } catch (error) {
      await lock.release();
      throw await withLine(disk, error);
    }
  });
}

const SYNC_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
];

function clockOf(options: FileStoreOptions): StoreClock {
  return {
    now: options.now ?? systemClock.now,
    timeOfDay: options.timeOfDay ?? systemClock.timeOfDay,
    every: options.every ?? systemClock.every,
    sleep: options.sleep ?? systemClock.sleep,
  };
}

/** What is no data file at all is refused before a lock file is made beside it. */
async function expectArray(disk: Disk, path: string): Promise<void> {
  if (fileAt(disk, path) === undefined) return;
  const bytes = Buffer.alloc(4096);
  const length = await withFile(disk, path, (file) => file.read(bytes, 0, bytes.length, 0));
  const start = skipSpace(bytes.subarray(0, length), 0);
  if (start === length || bytes[start] === OPEN_BRACKET) return;
  throw new DamagedFileError({
    path,
    offset: start,
    complaint: 'It is no array of pets',
    advice: 'Name another file: a new one is made where there is none',
  });
}

/**
 * Makes the names of the folder and of those above it durable: they may have been made just now, or
 * by a process that was killed before it came to this. A folder that may not be read is not ours.
 */
async function syncFolders(disk: Disk, path: string): Promise<void> {
  for (let folder = resolve(path); folder !== dirname(folder); folder = dirname(folder)) {
    await disk.syncDirectory(dirname(folder)).catch((error: unknown) => {
      if (!['EACCES', 'EPERM'].includes(String((error as { code?: unknown }).code))) throw error;
    });
  }
}
