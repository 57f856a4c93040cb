/**
 * Recovery: what the files hold when a store opens, after whatever became of the last process.
 *
 *     snapshot   journal                                 then
 *     none       none                                    start empty
 *     there      none                                    load it
 *     there      one that follows it                     apply it
 *     there      one of another, whose pets it has       pass it over: a checkpoint was cut off
 *     any        a first write that was cut off          drop it: it was never answered
 *     any        whole lines, and one cut off            drop that one, and say so
 *     any        anything else                           refuse, naming file, byte and line
 *
 * A refusal changes neither. What was read is made durable before anybody can see it, since a
 * process that was killed may have left it in the system's cache only: the snapshot is synced, and
 * the journal is copied to a new file, so that we share none with a process that still hangs, nor
 * with a back-up that linked it.
 */

import { basename, dirname } from 'node:path';
import zlib from 'node:zlib';
import { messageOf, type Log } from '../../base/log.ts';
import type { Memory } from '../../base/memory.ts';
import type { CommittedKey } from '../commits/commit.ts';
import type { PetTable } from '../table/pet-table.ts';
import type { KnownSnapshot } from './checkpoint.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { DiskFile } from './disk.ts';
import { fitsPets, readIdempotencyFile } from './idempotency-file.ts';
import { readJournal, type JournalContent } from './journal-reader.ts';
import type { SnapshotId } from './journal-line.ts';
import { fileAt, withFile } from './read-file.ts';
import { removeFile } from './replace-file.ts';
import { readSnapshot } from './snapshot.ts';
import { isFilesLostError, StoreFiles, type StoreFilesDeps } from './store-files.ts';
import type { StorePaths } from './store-paths.ts';

export interface RecoveryDeps extends StoreFilesDeps {
  readonly log: Log;
}

export interface Recovered {
  readonly files: StoreFiles;
  /** Why the journal at its path, which is not needed, cannot be removed; undefined if it was. */
  readonly staleCause: string | undefined;
}

/**
 * Loads pets and keys into the empty tables, and makes durable what they were read from.
 *
 * The journal's file stays open, for the caller to close. Rejects with DamagedFileError, or with
 * the disk's own error; no file is open then.
 */
export async function recover(deps: RecoveryDeps): Promise<Recovered> {
  const { disk, paths, pets, log } = deps;
  await checkSavedFiles(deps);
  const loaded = await loadSnapshot(deps);
  const lastSnapshotId = pets.lastId;
  const content = await loadJournal(deps, loaded?.id);
  await loadKeys(deps, lastSnapshotId, content?.keys ?? []);
  deps.assertLockHeld();
  for (const path of [paths.tmp, paths.keysTmp]) {
    fileAt(disk, path);
    await removeFile(disk, path);
  }
  await expectNoMountPoint(deps);
  // The snapshot may have got its name from a process that was killed before that was durable: not
  // until then may its journal go.
  await disk.syncDirectory(dirname(paths.snapshot));
  const snapshot = loaded === undefined ? undefined : { ...loaded, isDurable: true };
  if (content === undefined) {
    const files = new StoreFiles(deps, snapshot, undefined);
    // The first snapshot of an empty store shows at once whether the place can be written to.
    if (snapshot === undefined) {
      await files.checkpoint();
      log('info', 'Made an empty data file', { file: paths.snapshot });
    }
    return { files, staleCause: undefined };
  }
  logContent(content, paths, log);
  const entry = disk.stat(paths.journal);
  const { lengthBytes, crc } = holdsCommits(content) ? content : { lengthBytes: 0, crc: 0 };
  const found = entry === undefined ? undefined : { entry, lengthBytes, crc };
  const files = new StoreFiles(deps, snapshot, found);
  try {
    return await renewFound(deps, files, content);
  } catch (error) {
    await files.journal.close().catch(() => undefined);
    throw error;
  }
}

/** Makes what was read of the journal durable. Rejects if that is impossible. */
async function renewFound(
  { paths, log }: RecoveryDeps,
  files: StoreFiles,
  content: JournalContent,
): Promise<Recovered> {
  try {
    await files.renewJournal();
    return { files, staleCause: undefined };
  } catch (error) {
    if (isFilesLostError(error)) throw error;
    if (files.isSnapshotCurrent) return staleJournal(files, error, paths, log);
    const details = { file: paths.journal, cause: messageOf(error) };
    log('warn', 'Cannot copy the journal: syncing the existing file instead', details);
  }
  await files.rewriteLastLine(content.lastOffset);
  if (!files.isSnapshotCurrent) return { files, staleCause: undefined };
  // A checkpoint got its name after all: the journal is not needed any more.
  try {
    await files.renewJournal();
    return { files, staleCause: undefined };
  } catch (error) {
    return staleJournal(files, error, paths, log);
  }
}

function staleJournal(
  files: StoreFiles,
  error: unknown,
  { journal }: StorePaths,
  log: Log,
): Recovered {
  const cause = messageOf(error);
  const event = 'Cannot remove an obsolete journal: creates are refused until it can be removed';
  log('warn', event, { file: journal, cause });
  return { files, staleCause: `an obsolete journal cannot be removed: ${cause}` };
}

/**
 * Saved files were made when the store must not write its data file. Throws if there are only such
 * files: to begin an empty store beside them would hide them.
 */
async function checkSavedFiles({ disk, paths, log }: RecoveryDeps): Promise<void> {
  const folder = dirname(paths.snapshot);
  const start = basename(`${paths.snapshot}.saved-`);
  const names = (await disk.list(folder)).filter((name) => name.startsWith(start)).sort();
  const snapshot = disk.stat(paths.snapshot);
  for (const name of names) {
    const file = `${folder}/${name}`;
    const entry = disk.stat(file);
    if (name.endsWith('.part')) {
      log('warn', 'An unfinished saved file is beside the data file', { file });
    } else if (snapshot !== undefined && entry !== undefined) {
      if (entry.changedAt <= snapshot.changedAt) continue;
      const event = 'A saved file is newer than the data file: it may have pets that are not there';
      log('warn', event, { file, dataFile: paths.snapshot });
    } else if (disk.stat(paths.journal) === undefined) {
      throw new Error(
        `There is no data file ${paths.snapshot}, but ${file} has the pets that a service saved: ` +
          'rename it to the data file, or move it away to start with no pets',
      );
    }
  }
}

/**
 * Throws if the data file is a mount point by itself. Its lock and its journal would be in the
 * folder around it, which another container does not see; and no rename replaces it. A link tells:
 * it cannot leave a mount.
 */
async function expectNoMountPoint({ disk, paths }: RecoveryDeps): Promise<void> {
  if (disk.stat(paths.snapshot) === undefined) return;
  try {
    await disk.link(paths.snapshot, paths.tmp);
  } catch (error) {
    // Some file systems have no links.
    if ((error as { readonly code?: unknown }).code !== 'EXDEV') return;
    throw new Error(
      `${paths.snapshot} is a mount point by itself, beside which nothing can be kept: ` +
        'mount its folder',
    );
  }
  await removeFile(disk, paths.tmp);
}

/**
 * The journal's content, its pets added to those of the snapshot; undefined where there is none.
 */
async function loadJournal(
  { disk, paths, pets, memory }: RecoveryDeps,
  id: SnapshotId | undefined,
): Promise<JournalContent | undefined> {
  if (fileAt(disk, paths.journal) === undefined) return undefined;
  return withFile(disk, paths.journal, (file) => readJournalBeside(id, paths, file, pets, memory));
}

/** As `readJournal`; without a snapshot, the journal must have nothing that was ever answered. */
export async function readJournalBeside(
  id: SnapshotId | undefined,
  paths: StorePaths,
  file: DiskFile,
  pets: PetTable,
  memory: Memory,
): Promise<JournalContent> {
  if (id !== undefined) return readJournal(paths.journal, file, id, pets, memory);
  const none = { crc: 0, lastId: 0n };
  const content = await readJournal(paths.journal, file, none, pets, memory).catch(
    (error: unknown) => {
      throw error instanceof DamagedFileError ? missingSnapshot(paths) : error;
    },
  );
  if (content.kind !== 'nothing') throw missingSnapshot(paths);
  return content;
}

/** The first snapshot comes before the first journal. */
function missingSnapshot({ snapshot, journal }: StorePaths): DamagedFileError {
  return new DamagedFileError({
    path: snapshot,
    complaint: `It is not there, but its journal ${journal} is`,
    advice:
      'Restore both from one back-up; or move the journal away, as evidence, and start with no pets',
  });
}

/** The snapshot's pets added to the table, which must be empty; undefined where there is none. */
async function loadSnapshot({
  disk,
  paths,
  memory,
  log,
  pets,
}: RecoveryDeps): Promise<Omit<KnownSnapshot, 'isDurable'> | undefined> {
  if (fileAt(disk, paths.snapshot) === undefined) return undefined;
  return withFile(disk, paths.snapshot, async (file) => {
    const entry = file.stat();
    const { crc, arrayBytes, hasChecksum } = await readSnapshot(paths.snapshot, file, pets, memory);
    if (!hasChecksum) {
      log('info', 'The data file has no seal: a changed letter in it would not be noticed', {
        file: paths.snapshot,
      });
    }
    await file.sync();
    return { id: { crc, lastId: pets.lastId }, arrayBytes, entry };
  });
}

/**
 * The keys of the last checkpoint and those of the journal, as far as their pets are there. Each
 * has its 24 hours anew: the time of day may have been corrected since, so nobody knows its age.
 *
 * Of pets behind the snapshot the journal alone tells: a checkpoint that was cut off may have left
 * the key of a create in doubt, whose id went to another pet since.
 */
async function loadKeys(
  { disk, paths, memory, log, pets, keys }: RecoveryDeps,
  lastSnapshotId: bigint,
  committed: readonly CommittedKey[],
): Promise<void> {
  if (fileAt(disk, paths.keys) !== undefined) {
    const stored = await withFile(disk, paths.keys, async (file) => {
      const entries = await readIdempotencyFile(paths.keys, file, memory);
      await file.sync();
      return entries;
    });
    const fitting = stored.filter((entry) => fitsPets(entry, pets));
    for (const entry of fitting) if (entry.id <= lastSnapshotId) keys.add(entry);
    const dropped = stored.length - fitting.length;
    if (dropped > 0) {
      const details = { file: paths.keys, keys: dropped };
      log('warn', 'Dropped idempotency keys whose pets are not there, or not like this', details);
    }
  }
  for (const { key, id } of committed) {
    const pet = pets.get(id);
    if (pet !== undefined) keys.add({ key, id, petCrc: zlib.crc32(pet.text) });
  }
}

function holdsCommits({ kind, lastOffset }: JournalContent): boolean {
  return kind === 'follows' && lastOffset > 0;
}

function logContent(
  { kind, lengthBytes, tornBytes }: JournalContent,
  paths: StorePaths,
  log: Log,
): void {
  const file = paths.journal;
  if (tornBytes > 0) {
    const position = { file, offset: lengthBytes, bytes: tornBytes };
    log('warn', 'Dropped a commit that was cut off before it was answered', position);
  }
  if (kind === 'passed over') {
    log('info', 'Passed over a journal whose pets the data file has', { file });
  }
}
