/**
 * The file store: a PetStore that loses nothing, in four files.
 *
 *     pets.json          the snapshot, replaced as a whole at a checkpoint
 *     pets.json.keys     the idempotency keys of that checkpoint (../keys/key-table.ts)
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
import { skipSpace } from '../../base/json.ts';
import { messageOf, safeLog, silent, type Log } from '../../base/log.ts';
import { systemMemory, type Memory } from '../../base/memory.ts';
import type { KeyTable } from '../keys/key-table.ts';
import type { PetTable } from '../table/pet-table.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk } from './disk.ts';
import { JournaledStore, type FileStore } from './journaled-store.ts';
import { withLine } from './line-of.ts';
import { nodeDisk } from './node-disk.ts';
import { fileAt, withFile } from './read-file.ts';
import { recover, type Recovered } from './recovery.ts';
import { lockGuard, takeLock } from './store-lock.ts';
import { storePaths } from './store-paths.ts';

export type { FileStore, StoreStats } from './journaled-store.ts';

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
}

/** Opens the store. Rejects, with snapshot and journal as they were, when they are damaged or in use. */
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
  const lock = await takeLock(disk, paths);
  const { randomBits } = options;
  const place = { disk, paths, memory, randomBits, guard: lockGuard(disk, paths, lock) };
  const { now = () => performance.now(), timeOfDay = Date.now } = options;
  const clock = { now, timeOfDay };
  let recovered: Recovered | undefined;
  try {
    const { pets, keys } = options;
    recovered = await recover({ ...place, pets, keys, log, longJournalBytes, clock });
    const store = new JournaledStore({ ...place, lock, log, ...clock }, recovered);
    // The first snapshot of an empty store shows at once whether the place can be written to.
    if (recovered.snapshot === undefined) {
      await syncFolders(disk, dirname(paths.snapshot));
      await store.writeFirstSnapshot();
    }
    return store;
  } catch (error) {
    await recovered?.journal?.file.close().catch(() => undefined);
    await lock.release();
    throw await withLine(disk, error);
  }
}

/** A journal longer than this is worth a checkpoint when the store opens. */
const LONG_JOURNAL_BYTES: number = 64 << 20;

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
