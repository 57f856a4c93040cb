/**
 * Recovery: what the files hold when a store opens, after whatever became of the last process.
 *
 *     snapshot   journal                                 then
 *     none       none                                    start empty
 *     there      none                                    load it
 *     any        commits whose pets it has               skip them: a checkpoint was cut off
 *     any        commits up to its last id, others       refuse: they do not belong together
 *     any        commits that follow on                  apply them
 *     any        commits that do not follow on           refuse: a snapshot of another day, or none
 *     any        a commit cut off at the end             drop it, and say so: it was never answered
 *     any        any other damage                        refuse, naming file and byte
 *
 * A refusal changes nothing. What was loaded is synced before anybody can see it: a process that
 * was killed may have left it in the system's cache only.
 */

import { dirname } from 'node:path';
import { messageOf, type Log } from '../base/log.ts';
import type { Disk, DiskFile } from './disk.ts';
import type { JournalFile } from './journal.ts';
import { commitsOnto, readJournal } from './journal-reader.ts';
import { PetTable } from './pet-table.ts';
import { readSnapshot } from './snapshot.ts';
import type { StorePaths } from './store-paths.ts';
import { writeAll } from './write-all.ts';

export interface Recovered {
  readonly pets: PetTable;
  /** Undefined where there was none. */
  readonly journal: JournalFile | undefined;
  /** Undefined where there was none. */
  readonly snapshotBytes: number | undefined;
}

/**
 * Loads the pets, syncs what they were read from, and removes what a checkpoint left behind.
 *
 * The journal's file stays open, for the caller to close. Rejects with DamagedFileError, or with
 * the disk's own error; no file is open then. What is told of goes to `log`.
 */
export async function recover(disk: Disk, paths: StorePaths, log: Log): Promise<Recovered> {
  const pets = new PetTable();
  const snapshotBytes = await loadSnapshot(disk, paths.snapshot, pets);
  const journal = await loadJournal(disk, paths.journal, pets, log);
  try {
    await disk.remove(paths.tmp);
    await disk.syncDirectory(dirname(paths.snapshot));
  } catch (error) {
    await journal?.file.close().catch(() => undefined);
    throw error;
  }
  return { pets, journal, snapshotBytes };
}

async function loadSnapshot(disk: Disk, path: string, pets: PetTable): Promise<number | undefined> {
  const sizeBytes = await fileSize(disk, path);
  if (sizeBytes === undefined) return undefined;
  const file = await disk.open(path, 'read');
  try {
    await readSnapshot(path, file, pets);
    await file.sync();
  } finally {
    await file.close();
  }
  return sizeBytes;
}

async function loadJournal(
  disk: Disk,
  path: string,
  pets: PetTable,
  log: Log,
): Promise<JournalFile | undefined> {
  if ((await fileSize(disk, path)) === undefined) return undefined;
  const file = await disk.open(path, 'edit');
  try {
    const content = await readJournal(path, file, commitsOnto(path, pets));
    const { lengthBytes, lastOffset, tornBytes } = content;
    if (tornBytes > 0) {
      await file.truncate(lengthBytes);
      const place = { file: path, offset: lengthBytes, bytes: tornBytes };
      log('warn', 'Dropped a commit that was cut off before it was answered', place);
    }
    await writeAgain(file, lastOffset, lengthBytes).catch((error: unknown) => {
      // Seldom needed, and no reason to refuse a start: the disk may be full.
      log('warn', 'The last commit could not be written again', { cause: messageOf(error) });
    });
    await file.sync();
    return { file, lengthBytes };
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}

/**
 * Writes the file's bytes from `start` to `end` again, as they are.
 *
 * A process may have been killed after a sync failed and before it could take the commit back. The
 * system then goes on showing bytes that are not on the disk and that it will not write by itself,
 * and the next sync would falsely succeed. A journal dies with its first failed sync, so that only
 * its last commit can be such a one.
 */
async function writeAgain(file: DiskFile, start: number, end: number): Promise<void> {
  const bytes = Buffer.allocUnsafe(end - start);
  let filled = 0;
  for (let count = 1; count > 0; filled += count) {
    count = await file.read(bytes, filled, bytes.length - filled, start + filled);
  }
  await writeAll(file, bytes.subarray(0, filled), start);
}

/** The size in bytes, undefined when nothing is there; rejects when what is there is no file. */
export async function fileSize(disk: Disk, path: string): Promise<number | undefined> {
  const entry = await disk.stat(path);
  if (entry !== undefined && !entry.isFile) throw new Error(`${path} is not a file`);
  return entry?.sizeBytes;
}
