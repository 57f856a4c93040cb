/**
 * A start: locks the data file, reads it, and makes durable what was read before anybody sees it.
 *
 *     found                                         then
 *     locked by another process                     refused
 *     a saved file, beside it or without it         refused: an operator has to look
 *     a journal of release 2 with no commit         renamed, and its keys are forgotten
 *     any other journal of release 2                refused
 *     nothing                                       a file without pets is made
 *     commits up to a torn one, or the file's end   the torn one is dropped; the last one is
 *                                                   written again, and synced
 *     another array, another name of the file, or   a new file in the form of format.ts replaces it
 *     a file whose sync has failed
 *     damage, or anything else                      refused
 *
 * A refusal changes no pet.
 */

import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../base/logger.ts';
import { counted } from '../base/quote.ts';
import {
  CHANGED_WHILE_READ,
  createDataFile,
  DataFile,
  NotOursError,
  type StoreDeps,
} from './data-file.ts';
import {
  assertRegular,
  attributesOf,
  codeOf,
  isSameFile,
  isUnlocked,
  readAll,
  syncFolders,
  withFile,
  type DiskFile,
} from './disk.ts';
import { chainAtStart } from './format.ts';
import { readDataFile, type DataFileContent } from './read-data-file.ts';
import { emptyTables, type Tables } from './tables.ts';

/** What it takes to look at the files beside a data file. */
type BesideDeps = Pick<StoreDeps, 'disk' | 'path' | 'clock'>;

/** How the names of unfinished and of saved files continue after that of the data file. */
const UNFINISHED: RegExp = /^\.unfinished-[0-9a-f]{8}$/;
const SAVED: RegExp = /^\.saved-[0-9]{8}T[0-9]{9}Z$/;

/** The name of the file for all pets if the store must not write its data file any more. */
export function savedPath(path: string, at: Date): string {
  // 20261121T201500123Z: without colons, which Windows allows in no file name.
  return `${path}.saved-${at.toISOString().replace(/[-:.]/g, '')}`;
}

/** How often a start looks again if the file was removed or replaced while it took the lock. */
const MAX_LOOKS = 10;
/** How long a start waits for the lock: a check of the file takes it for a moment. */
const LOCK_TRIES = 10;
const LOCK_PAUSE_MS = 100;

export interface Opened {
  readonly file: DataFile;
  readonly tables: Tables;
}

/** Opens the data file. Rejects with the reason of a refusal, or with the disk's error. */
export async function openDataFile(deps: StoreDeps): Promise<Opened> {
  const { disk, path, logger } = deps;
  // Fails if the longest name of the store's files is too long for the file system.
  disk.stat(savedPath(path, new Date(0)));
  await assertNoPetsBeside(deps);
  let opened: Opened | undefined;
  for (let looks = 0; opened === undefined; looks += 1) {
    if (looks === MAX_LOOKS) throw new Error(`${path} ${UNKNOWN_FILE}`);
    const found = disk.stat(path);
    assertRegular(path, found);
    opened = found === undefined ? await makeFile(deps) : await openFound(deps);
  }
  try {
    // Only now: if there is no room for a new file, release 2 can still go on.
    const journal = await findOldJournal(deps);
    if (journal !== undefined) {
      await disk.rename(journal, `${journal}.old`);
      const event = 'Renamed the journal of release 2, whose idempotency keys are forgotten';
      logger('info', event, { file: `${journal}.old` });
    }
    if (!(await syncFolders(disk, path))) {
      const event = 'This file system syncs no folder: a power failure may undo a rename';
      logger('warn', event, { folder: dirname(path) });
    }
    // Some file systems give a file another number when it gets its name.
    if ((await opened.file.check()) !== 'ours') throw new Error(`${path} ${UNKNOWN_FILE}`);
    return opened;
  } catch (error) {
    await opened.file.close().catch(() => undefined);
    throw error;
  }
}

const UNKNOWN_FILE =
  'does not lead to the file that this start has opened or written, as it was. Another program ' +
  'changes or replaces it, or its file system does not say which file a path leads to: no store ' +
  'can be kept there';

/** Opens and locks the file at the path. Resolves with undefined if it is another one by then. */
async function openFound(deps: StoreDeps): Promise<Opened | undefined> {
  const { disk, path } = deps;
  const file = await disk.open(path, 'edit');
  try {
    await takeLock(deps, file);
    if (isSameFile(disk.stat(path), file.stat())) return await begin(deps, file);
    await file.close();
    return undefined;
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}

/** Waits for the lock for a second. Rejects if another process has it then. */
async function takeLock({ path, clock }: StoreDeps, file: DiskFile): Promise<void> {
  for (let tries = 0; tries < LOCK_TRIES; tries += 1) {
    if (await file.lock('exclusive')) return;
    await clock.sleep(LOCK_PAUSE_MS);
  }
  throw new Error(
    `${path} is in use already: another process, or another app of this one, has locked it`,
  );
}

/** Reads the locked file, and makes it durable, or puts a new one in its place. */
async function begin(deps: StoreDeps, locked: DiskFile): Promise<Opened> {
  const { path, logger } = deps;
  // Before it is read: what another process writes from then on is noticed.
  const known = locked.stat();
  const content = await readDataFile(path, locked, deps);
  await removeUnfinished(deps, locked);
  // That a file has more keys than are kept is no loss.
  content.keys.evicted = 0;
  const isCommits = content.form === 'commits';
  const found = new DataFile(deps, locked, isCommits ? content.chain : chainAtStart(), known);
  if (isCommits && content.word !== 'not synced' && locked.stat().links === 1) {
    try {
      await found.makeDurable(content.lastCommitAt);
      logContent(deps, content);
      return { file: found, tables: content };
    } catch (error) {
      if (error instanceof NotOursError) throw error;
      found.markNotSynced();
      const event = 'The data file cannot be made durable, and is replaced';
      logger('error', event, { cause: messageOf(error), file: path });
    }
  }
  const { mode, owner } = found.identity;
  const file = await createDataFile(deps, content, {
    by: 'rename',
    attributes: { mode, owner },
    async beforeName(newFile) {
      await takeLock(deps, newFile);
      if ((await found.check()) !== 'ours') throw new NotOursError(CHANGED_WHILE_READ);
    },
  });
  await found.close().catch(() => undefined);
  logContent(deps, content);
  if (file.identity.mode !== mode || !isDeepStrictEqual(file.identity.owner, owner)) {
    const event = 'The new data file has another mode or owner than the old one';
    logger('warn', event, { file: path });
  }
  return { file, tables: content };
}

/** Makes a file without pets, or resolves with undefined if another process has just made one. */
async function makeFile(deps: StoreDeps): Promise<Opened | undefined> {
  const { disk, path, logger } = deps;
  const tables = emptyTables(deps);
  try {
    const file = await createDataFile(deps, tables, {
      by: 'link or rename',
      attributes: attributesOf(disk, path),
      beforeName: (newFile) => takeLock(deps, newFile),
    });
    logger('info', 'Made a data file without pets', { file: path });
    return { file, tables };
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined;
    throw error;
  }
}

/** Rejects if a file beside the data file may have pets that it lacks. */
export async function assertNoPetsBeside(deps: BesideDeps): Promise<void> {
  await assertNoSavedFile(deps);
  await findOldJournal(deps);
}

/**
 * Removes what earlier processes have left, but no file that another process has locked, to give it
 * its name.
 */
async function removeUnfinished(deps: StoreDeps, locked: DiskFile): Promise<void> {
  const { disk, logger } = deps;
  for (const path of await filesBeside(deps, UNFINISHED)) {
    const entry = disk.stat(path);
    if (entry?.kind !== 'file') continue;
    try {
      // The data file itself has this name after a kill between its link and the removal.
      const isOwn = isSameFile(entry, locked.stat());
      if (!isOwn && !(await isUnlocked(disk, path))) continue;
      await disk.remove(path);
      logger('info', 'Removed an unfinished file of an earlier process', { file: path });
    } catch (error) {
      const details = { file: path, cause: messageOf(error) };
      logger('warn', 'An unfinished file of an earlier process cannot be removed', details);
    }
  }
}

/**
 * Release 2 kept the pets since the data file in a journal. After a clean stop it has no pet, only
 * idempotency keys. Resolves with its path, or undefined if there is none. Rejects if it has pets,
 * or if its data file is missing.
 */
async function findOldJournal({ disk, path }: BesideDeps): Promise<string | undefined> {
  const journal = `${path}.journal`;
  const entry = disk.stat(journal);
  if (entry === undefined) return undefined;
  if (disk.stat(path) === undefined) {
    throw new Error(
      `There is no data file ${path}, but ${journal} of release 2 exists. Nothing was changed. ` +
        'Put the data file back, or move the journal away, to start without pets',
    );
  }
  const lock = `${path}.lock`;
  if (disk.stat(lock)?.kind === 'file' && !(await isUnlocked(disk, lock))) {
    throw new Error(`${path} is in use already: release 2 has locked ${lock}. Stop it first`);
  }
  const text = await withFile(disk, journal, async (file) => {
    const bytes = Buffer.alloc(Math.min(entry.sizeBytes, MAX_OLD_JOURNAL_BYTES));
    await readAll(file, bytes, 0);
    return bytes.toString('latin1');
  });
  if (entry.sizeBytes <= MAX_OLD_JOURNAL_BYTES && JOURNAL_WITHOUT_PETS.test(text)) return journal;
  throw new Error(
    `${journal} of release 2 has pets, or is no journal that a clean stop leaves. Nothing was ` +
      'changed. Start release 2 once more and stop it cleanly, then start this release',
  );
}

/** A header, and at most one line with 100,000 keys. */
const MAX_OLD_JOURNAL_BYTES: number = 16 << 20;
const JOURNAL_WITHOUT_PETS =
  /^[0-9a-f]{8} [0-9a-f]{8} \{"journal":1,[^\n]*\}\n(?:[0-9a-f]{8} [0-9a-f]{8} \{"keys":[^\n]*\}\n)?$/;

/**
 * A saved file may have pets that the data file lacks, and the other way round: refuses a start.
 */
export async function assertNoSavedFile(deps: BesideDeps): Promise<void> {
  const saved = await filesBeside(deps, SAVED);
  if (saved.length === 0) return;
  const facts = [];
  for (const path of [deps.path, ...saved]) facts.push(await factsOf(deps, path));
  throw new Error(
    `Pets were saved to another file. Nothing was changed. ${facts.join('; ')}. ${CHOOSE}`,
  );
}

const CHOOSE =
  'Choose one of them, give it the name of the data file, and move the others away. A file that ' +
  'cannot be read has to be mended first, or replaced by a backup';

/** Resolves with what a file has, as a sentence. */
async function factsOf(deps: BesideDeps, path: string): Promise<string> {
  if (deps.disk.stat(path) === undefined) return `${path} does not exist`;
  try {
    const { pets } = await withFile(deps.disk, path, (file) => readDataFile(path, file, deps));
    return `${path} has ${counted(pets.length, 'pet')}, and the greatest id is ${pets.lastId}`;
  } catch (error) {
    return `${path} cannot be read: ${messageOf(error)}`;
  }
}

/** Resolves with the paths of the files whose names continue like this, in their order. */
async function filesBeside({ disk, path }: BesideDeps, ending: RegExp): Promise<readonly string[]> {
  const [folder, start] = [dirname(path), basename(path)];
  const names = (await disk.list(folder)).filter(
    (name) => name.startsWith(start) && ending.test(name.slice(start.length)),
  );
  return names.sort().map((name) => join(folder, name));
}

function logContent({ logger, path }: StoreDeps, content: DataFileContent): void {
  if (content.form === 'array') {
    const event = 'Took over an array of pets, and wrote it as a data file';
    logger('info', event, { file: path, pets: content.pets.length });
  } else if (content.end === 'torn') {
    logger('warn', 'Dropped a commit that was not complete, and so never acknowledged', {
      file: path,
      byte: content.chain.end,
      bytes: content.sizeBytes - content.chain.end,
      advice: IF_COPIED,
    });
  } else if (content.end === 'incomplete') {
    const details = { file: path, byte: content.chain.end, advice: IF_COPIED };
    logger('warn', 'Completed the end of the data file', details);
  }
}

const IF_COPIED = 'if this file was copied, the copy is incomplete';
