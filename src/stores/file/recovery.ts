/**
 * Recovery: what a store does with the files that it finds when it opens.
 *
 *     data file  journal                                  then
 *     none       none, or nothing but zeros               start empty
 *     exists     none                                     load the data file
 *     exists     follows the data file                    apply the journal
 *     exists     obsolete: follows an earlier data file,  ignore it, except for its keys: a
 *                and all its pets are in this one         checkpoint was interrupted
 *     exists     nothing, or zeros                        drop it: it was never acknowledged
 *     exists     complete lines and a torn one            drop the torn line, and log it
 *     any        anything else                            refuse
 *
 * A start is also refused beside a saved file with pets that data file and journal lack. A refusal
 * changes no pet and no key in the files.
 *
 * What was read is made durable before any client can see it, since a killed process may have left
 * it in the page cache only. The data file is synced (except on Windows, which syncs no file that
 * is open for reading only). The journal is made durable in its place, unless a backup shares it by
 * a hard link, and then written anew from memory, as in a running store, so that this store shares
 * no file with a process that still hangs. If there is no room for a new one, it stays in use; if
 * it cannot be made durable either, the start is refused.
 */

import { dirname } from 'node:path';
import { messageOf } from '../../base/logger.ts';
import { assertHasSaved, filesBeside, readStoredData, withAdvice } from './stored-data.ts';
import type { StoredData } from './stored-data.ts';
import { ReadOnlyError } from './lock.ts';
import { removeFile } from './disk.ts';
import { UNFINISHED, type StoreDeps } from './store-deps.ts';
import { StoreFiles } from './store-files.ts';

/**
 * Loads pets and keys into the empty tables, and makes durable what it has read. Rejects with the
 * reason of a refusal, or with the disk's error; no file is open then.
 */
export async function recover(deps: StoreDeps): Promise<StoreFiles> {
  const { disk, paths, logger, lock } = deps;
  const data = await readStoredData(deps, (file) => file.sync()).catch(withAdvice(deps));
  await assertHasSaved(deps);
  logContent(deps, data);
  for (const entry of data.keys) deps.keys.add(entry);
  lock.assertHeld();
  for (const file of await filesBeside(deps, UNFINISHED)) {
    if (disk.stat(file)?.kind !== 'file') continue;
    await removeFile(disk, file);
    logger('info', 'Removed an unfinished file of an earlier process', { file });
  }
  await assertNoMountPoint(deps);
  // A killed process may have renamed the data file without syncing the folder.
  await disk.syncDirectory(dirname(paths.dataFile));
  const { dataFile, journalEntry } = data;
  const loaded = dataFile && { ...dataFile, isNameDurable: true };
  const files = new StoreFiles(deps, loaded, journalEntry);
  try {
    if (dataFile === undefined) {
      // This shows at once whether the folder can be written to.
      await files.writeDataFile();
      logger('info', 'Made an empty data file', { file: paths.dataFile });
    }
    await beginJournal(deps, files, data);
    return files;
  } catch (error) {
    await files.close();
    throw error;
  }
}

/**
 * Makes the found journal durable in its place, even without pets: the disk may still have a commit
 * in doubt, which the last process has cut off. Then writes a data file if most pets are in that
 * journal, so that not each start reads and writes them again. Then writes a new journal; if that
 * fails, continues with the found one.
 */
async function beginJournal(
  { disk, paths, logger, pets }: StoreDeps,
  files: StoreFiles,
  { dataFile, dataFilePets, journal }: StoredData,
): Promise<void> {
  const found = journal?.kind === 'follows' ? { ...journal, dataFile: dataFile! } : undefined;
  const syncFailure = await (found && files.syncFound(found, found.lastOffset).catch(errorOf));
  try {
    // Beside the new data file the found journal must be durable: it has the keys of its pets.
    if (pets.length > 2 * dataFilePets && syncFailure === undefined) {
      await files.writeDataFile().catch((error: unknown) => {
        const details = { file: paths.dataFile, cause: messageOf(error) };
        logger('warn', 'Cannot write a data file with the pets of the journal', details);
      });
    }
    await files.renew();
  } catch (error) {
    if (error instanceof ReadOnlyError) throw error;
    const details = { file: paths.journal, cause: messageOf(error) };
    if (syncFailure === undefined && (!found || files.durability() === 'data file')) {
      // Another file may be at a path.
      await files.recognizeDataFile();
      const event = 'Cannot write a journal: creates are refused until it can be written';
      return logger('warn', event, details);
    }
    const cause = syncFailure ?? (await files.useFound(found!).catch(errorOf));
    if (cause === undefined) {
      return logger('warn', 'Cannot write a new journal: the existing one stays in use', details);
    }
    const reasons = `${messageOf(error)}; ${messageOf(cause)}`;
    throw new Error(`${paths.journal} cannot be made durable: ${reasons}`);
  }
  // The new journal has its keys. If it cannot be removed, the next start reads it again.
  await removeFile(disk, paths.oldKeys).catch(() => undefined);
}

const errorOf = (error: unknown): unknown => error;

/**
 * Rejects if the data file is a mount point by itself. Its lock and its journal would be in the
 * parent folder, which another container does not see, and no rename can replace it. A hard link
 * shows it: link() to the parent folder then fails with EXDEV.
 */
async function assertNoMountPoint({ disk, paths, randomBits }: StoreDeps): Promise<void> {
  if (disk.stat(paths.dataFile) === undefined) return;
  const path = paths.unfinished(randomBits());
  try {
    await disk.link(paths.dataFile, path);
  } catch (error) {
    // Some file systems have no hard links.
    if ((error as { readonly code?: unknown }).code !== 'EXDEV') return;
    throw new Error(
      `${paths.dataFile} is a mount point by itself, beside which nothing can be kept: ` +
        'mount its folder',
    );
  }
  await removeFile(disk, path);
}

function logContent({ paths, logger }: StoreDeps, data: StoredData): void {
  const { dataFile, journal, droppedKeys, lostAfter } = data;
  const file = paths.journal;
  if (journal !== undefined && journal.tornBytes > 0) {
    const position = { file, offset: journal.lengthBytes, bytes: journal.tornBytes };
    logger('warn', 'Dropped a torn commit that was never acknowledged', position);
  }
  if (droppedKeys > 0) {
    const event = 'Dropped idempotency keys whose pets are missing or different';
    logger('warn', event, { dataFile: paths.dataFile, keys: droppedKeys });
  }
  if (lostAfter !== undefined) {
    const event = 'The data file ends before the last pet that its journal names: pets are missing';
    const ids = { lastId: dataFile?.lastId ?? 0n, lastIdOfJournal: lostAfter };
    logger('warn', event, { dataFile: paths.dataFile, ...ids });
  }
}
