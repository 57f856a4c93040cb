/**
 * Recovery: what a store does with the files that it finds when it opens.
 *
 *     snapshot   journal                                 then
 *     none       none, or a torn first write             start empty; refuse if a saved file exists
 *     exists     none                                    load the snapshot
 *     exists     follows the snapshot                    apply the journal
 *     exists     obsolete: follows an earlier snapshot,  remove it: a checkpoint was interrupted
 *                and all its pets are in this one
 *     exists     a torn first write                      drop it: it was never acknowledged
 *     exists     complete lines and a torn one           drop the torn line, and log it
 *     any        anything else                           refuse
 *
 * A refusal changes no pet and no key in the files. What was read is made durable before any client
 * can see it, since a killed process may have left it in the page cache only. The snapshot is
 * synced (except on Windows, which syncs no file that is open for reading only). The journal is
 * copied to a new file, so that this store shares no file with a process that still hangs, or with
 * a backup of hard links. A long one goes into a checkpoint; if both fail, it stays in use, and its
 * last line is written again.
 */

import { basename, dirname } from 'node:path';
import zlib from 'node:zlib';
import { messageOf } from '../../base/log.ts';
import { readDataFile, type DataFileContent } from './data-file.ts';
import type { JournalContent } from './journal-reader.ts';
import { ReadOnlyError } from './path-state.ts';
import { fileAt } from './read-file.ts';
import { removeFile } from './replace-file.ts';
import type { StoreDeps } from './store-deps.ts';
import { StoreFiles } from './store-files.ts';
import { clientMessage } from './write-failures.ts';

export interface Recovered {
  readonly files: StoreFiles;
  /** Why an obsolete journal cannot be removed; undefined if no such journal remains. */
  readonly obsoleteCause: string | undefined;
}

/**
 * Loads pets and keys into the empty tables, and makes durable what it has read. The caller has to
 * close the journal's file. Rejects with DamagedFileError or the disk's error; no file is open
 * then.
 */
export async function recover(deps: StoreDeps): Promise<Recovered> {
  const { disk, paths, log } = deps;
  const saved = await findSavedFile(deps);
  const data = await readDataFile(deps, (file) => file.sync());
  const { snapshot: loaded, journal: content } = data;
  if (loaded === undefined && saved !== undefined) throw onlySaved(paths.snapshot, saved);
  if (loaded?.hasChecksum === false) {
    const event = 'The data file has no checksum line: a changed letter in it would not be noticed';
    log('info', event, { file: paths.snapshot });
  }
  addKeys(deps, data);
  deps.lock.assertHeld();
  for (const path of [paths.tmp, paths.keysTmp]) {
    fileAt(disk, path);
    await removeFile(disk, path);
  }
  await expectNoMountPoint(deps);
  // A killed process may have renamed the snapshot without syncing the folder. The journal may be
  // removed only after the sync.
  await disk.syncDirectory(dirname(paths.snapshot));
  const snapshot = loaded && { ...loaded, isDurable: true };
  if (content !== undefined) logContent(deps, content);
  const entry = content && disk.stat(paths.journal);
  const hasCommits = content?.kind === 'follows' && content.lastOffset > 0;
  const { lengthBytes, crc } = hasCommits ? content : { lengthBytes: 0, crc: 0 };
  const files = new StoreFiles(deps, snapshot, entry && { entry, lengthBytes, crc });
  try {
    const obsoleteCause = await renewFound(deps, files, content);
    if (loaded === undefined) log('info', 'Made an empty data file', { file: paths.snapshot });
    return { files, obsoleteCause };
  } catch (error) {
    await files.journal.close().catch(() => undefined);
    throw error;
  }
}

/**
 * Makes durable what was read of the journal. Without files it makes the first snapshot, which
 * shows at once whether the folder can be written to. Resolves with why the journal cannot be
 * removed, though the snapshot has all its pets. Rejects if nothing can be made durable.
 */
async function renewFound(
  { paths, log }: StoreDeps,
  files: StoreFiles,
  content: JournalContent | undefined,
): Promise<string | undefined> {
  do {
    try {
      await files.renewJournal();
      return undefined;
    } catch (error) {
      if (error instanceof ReadOnlyError || content === undefined) throw error;
      const details = { file: paths.journal, cause: messageOf(error) };
      if (files.isSnapshotCurrent) {
        const event =
          'Cannot remove an obsolete journal: creates are refused until it can be removed';
        log('warn', event, details);
        return `an obsolete journal cannot be removed: ${clientMessage(error)}`;
      }
      // The journal has no line to keep. Without a snapshot, no start would read a line added now.
      if (files.journal.lengthBytes === 0) throw error;
      // After a failed sync there is no second one of the same file.
      if (files.journal.syncError !== undefined) throw files.journal.syncError;
      log('warn', 'Cannot copy the journal: syncing the existing file instead', details);
    }
    await files.rewriteLastLine(content.lastOffset);
    // A checkpoint that failed may have put its snapshot in place: then the next round only has to
    // remove the journal.
  } while (files.isSnapshotCurrent);
  return undefined;
}

/**
 * Looks for files that a store saved when it must not write its data file, and resolves with the
 * last complete one. Logs each that is unfinished or newer than the data file.
 */
async function findSavedFile({ disk, paths, log }: StoreDeps): Promise<string | undefined> {
  const folder = dirname(paths.snapshot);
  const start = basename(`${paths.snapshot}.saved-`);
  const names = (await disk.list(folder)).filter((name) => name.startsWith(start)).sort();
  const snapshot = disk.stat(paths.snapshot);
  let saved: string | undefined;
  for (const name of names) {
    const file = `${folder}/${name}`;
    const isPart = name.endsWith('.part');
    if (isPart) log('warn', 'An unfinished saved file is next to the data file', { file });
    else saved = file;
    const isOld =
      snapshot === undefined || (disk.stat(file)?.changedAt ?? 0n) <= snapshot.changedAt;
    if (isPart || isOld) continue;
    const event =
      'A saved file is newer than the data file: it may have pets that the data file lacks';
    log('warn', event, { file, dataFile: paths.snapshot });
  }
  return saved;
}

/** Returns the refusal of an empty store: it would hide the pets of the saved file next to it. */
function onlySaved(snapshot: string, saved: string): Error {
  return new Error(
    `There is no data file ${snapshot}, but ${saved} has the pets that a service saved: ` +
      'rename it to the data file, or move it away to start with no pets',
  );
}

/**
 * Rejects if the data file is a mount point by itself. Its lock and its journal would be in the
 * parent folder, which another container does not see, and no rename can replace it. A hard link
 * shows it: link() to the parent folder then fails with EXDEV.
 */
async function expectNoMountPoint({ disk, paths }: StoreDeps): Promise<void> {
  if (disk.stat(paths.snapshot) === undefined) return;
  try {
    await disk.link(paths.snapshot, paths.tmp);
  } catch (error) {
    // Some file systems have no hard links.
    if ((error as { readonly code?: unknown }).code !== 'EXDEV') return;
    throw new Error(
      `${paths.snapshot} is a mount point by itself, beside which nothing can be kept: ` +
        'mount its folder',
    );
  }
  await removeFile(disk, paths.tmp);
}

/**
 * Adds the keys of the last checkpoint and of the journal, if their pets are stored. Each gets a
 * new lifetime: the time of day may have been corrected since, so its age is unknown.
 *
 * The key of a pet that the snapshot lacks is taken from the journal only: a checkpoint that was
 * cut off may have left the key of a create in doubt, whose id went to another pet since.
 */
function addKeys(
  { paths, log, pets, keys: table }: StoreDeps,
  { snapshot, journal, keys, strayKeys }: DataFileContent,
): void {
  const lastSnapshotId = snapshot?.id.lastId ?? 0n;
  for (const entry of keys) if (entry.id <= lastSnapshotId) table.add(entry);
  if (strayKeys > 0) {
    const details = { file: paths.keys, keys: strayKeys };
    log('warn', 'Dropped idempotency keys whose pets are missing or different', details);
  }
  for (const { key, id } of journal?.keys ?? []) {
    const pet = pets.get(id);
    if (pet !== undefined) table.add({ key, id, petCrc: zlib.crc32(pet.text) });
  }
}

function logContent(
  { paths, log }: StoreDeps,
  { kind, lengthBytes, tornBytes }: JournalContent,
): void {
  const file = paths.journal;
  if (tornBytes > 0) {
    const position = { file, offset: lengthBytes, bytes: tornBytes };
    log('warn', 'Dropped a torn commit that was never acknowledged', position);
  }
  if (kind === 'obsolete') {
    log('info', 'Ignored a journal whose pets are all in the data file', { file });
  }
}
