/**
 * Data files that no store uses: check one, copy one, or make one of other pets. Nothing is changed
 * in its place, and nothing overwritten, except for a backup that is to be replaced.
 */

import { randomInt } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/logger.ts';
import { systemClock } from '../base/system.ts';
import { unfinishedPath } from './data-file.ts';
import { attributesOf, isSameFile, isUnlocked, syncFolders, withFile, type Disk } from './disk.ts';
import { writeFile } from './format.ts';
import { DamagedFileError } from './read-array.ts';
import { readDataFile, readProvenCommits, type DataFileContent } from './read-data-file.ts';
import { replaceFile } from './replace-file.ts';
import { assertNoPetsBeside, assertNoSavedFile } from './start.ts';
import type { Tables } from './tables.ts';

const DEPS = { clock: systemClock };

/** A running service may replace the file, or roll a commit back, while it is read. */
const RETRY_MS = 100;
const MAX_TRIES = 5;

/** What a start would find, and whether a process has locked the file. */
type CheckedFile = DataFileContent & { readonly isInUse: boolean };

/**
 * Reads a data file, and changes nothing, whether or not a service uses it. Rejects with the first
 * thing that is wrong. The end of a file in use may be torn: a commit is being written.
 */
export async function checkDataFile(
  disk: Disk,
  path: string,
  givesIds = false,
): Promise<CheckedFile> {
  const file = await existing(disk, path);
  await assertNoPetsBeside({ ...DEPS, disk, path: file });
  for (let tries = 1; ; tries += 1) {
    // Where no file can be locked, no service starts.
    const isInUse = !(await isUnlocked(disk, file).catch(() => true));
    try {
      const read = withFile(disk, file, (open) => readDataFile(file, open, DEPS, givesIds));
      return { ...(await read), isInUse };
    } catch (error) {
      if (!isInUse || tries === MAX_TRIES) throw error;
      await sleep(RETRY_MS);
    }
  }
}

/** Reads a data file that no service may use: it would go on to add pets. */
export function loadDataFile(disk: Disk, path: string, givesIds = false): Promise<Tables> {
  return withUnusedFile(disk, path, (tables) => Promise.resolve(tables), givesIds);
}

/** Calls `work` with the content of a data file that no service may use before `work` has ended. */
export async function withUnusedFile<T>(
  disk: Disk,
  path: string,
  work: (tables: Tables) => Promise<T>,
  givesIds = false,
): Promise<T> {
  return withFile(disk, await existing(disk, path), async (file) => {
    // Where no file can be locked, no service starts.
    if (!(await file.lock('shared').catch(() => true))) throw inUse(path);
    const content = await checkDataFile(disk, path, givesIds);
    assertWhole(path, content);
    return work(content);
  });
}

function inUse(path: string): Error {
  return new Error(`${path} is in use: stop the service first`);
}

/** Throws if the end of the file is not complete: the file was cut, or its service not stopped. */
export function assertWhole(path: string, content: DataFileContent): void {
  if (content.form === 'array' || content.end === 'whole') return;
  const { sizeBytes, chain, end } = content;
  const what =
    end === 'torn'
      ? `behind byte ${chain.end}, ${sizeBytes - chain.end} bytes are a commit that is not complete`
      : `its end is missing behind byte ${chain.end - 1}`;
  throw new DamagedFileError(
    path,
    what,
    'A crash may have left this, and a start mends it; if the file is a copy, the copy is ' +
      'incomplete. The command import --intact takes out the pets before it',
  );
}

/** Resolves with the pets of all commits that their marks prove, of a file that no service uses. */
export async function loadProvenCommits(
  disk: Disk,
  path: string,
  onGap: (start: number, end: number) => void,
): Promise<Tables> {
  const file = await existing(disk, path);
  if (!(await isUnlocked(disk, file))) throw inUse(path);
  return withFile(disk, file, (open) => readProvenCommits(file, open, DEPS, onGap));
}

/** Writes the commits of a data file, which may be in use, to another file. Resolves with them. */
export async function backUp(
  disk: Disk,
  path: string,
  to: string,
  mayReplace: boolean,
): Promise<Tables> {
  const from = await existing(disk, path);
  const target = await disk.resolve(to).catch((error: unknown) => {
    throw new Error(`${to} cannot be made: ${messageOf(error)}`);
  });
  const there = disk.stat(target);
  if (isSameFile(there, disk.stat(from)) || isDerived(target, from)) {
    throw new Error(`${to} is the data file, or has a name that belongs to it: name another file`);
  }
  if (there !== undefined) {
    if (!mayReplace) throw new Error(`${to} exists already: see --replace`);
    if (!(await isUnlocked(disk, target))) throw new Error(`${to} is in use by another process`);
  }
  const content = await checkDataFile(disk, path);
  if (!content.isInUse) assertWhole(path, content);
  if (there !== undefined && there.sizeBytes > 0) {
    // Pets are only added. What cannot be read may be the last copy of some.
    const earlier = await loadDataFile(disk, target).catch((error: unknown) => {
      throw new Error(`${to} may have greater ids: name another file. ${messageOf(error)}`);
    });
    const { lastId } = earlier.pets;
    if (lastId > content.pets.lastId) {
      throw new Error(
        `${to} has pets up to the id ${lastId}, and ${path} has not: name another file`,
      );
    }
  }
  await writeNewFile(disk, target, content, mayReplace);
  return content;
}

/** Makes a data file with these pets and keys. Rejects if there is one. */
export async function makeDataFile(disk: Disk, path: string, tables: Tables): Promise<void> {
  await disk.makeDirectory(dirname(path));
  const target = await disk.resolve(path);
  for (const there of [target, `${target}.journal`]) {
    if (disk.stat(there) === undefined) continue;
    throw new Error(`${there} exists already: move it away, or name another file`);
  }
  await writeNewFile(disk, target, tables, false);
}

async function writeNewFile(
  disk: Disk,
  path: string,
  tables: Tables,
  mayReplace: boolean,
): Promise<void> {
  const file = await replaceFile(disk, {
    path,
    unfinished: unfinishedPath(path, randomInt(2 ** 32)),
    attributes: attributesOf(disk, path),
    by: mayReplace ? 'rename' : 'link or rename',
    write: async (append) => void (await writeFile(tables, 'clean', append)),
  });
  await file.close();
  await syncFolders(disk, path);
}

/** True for the names of the files beside a data file. */
function isDerived(path: string, dataFile: string): boolean {
  const name = basename(dataFile);
  const end = basename(path).slice(name.length);
  const isBeside = dirname(path) === dirname(dataFile) && basename(path).startsWith(name);
  return isBeside && /^\.(unfinished-|saved-|lock$|journal)/.test(end);
}

/**
 * Resolves with the path of a file, with symbolic links followed. Rejects if there is none, and
 * like a start if its pets are in a saved file.
 */
async function existing(disk: Disk, path: string): Promise<string> {
  const file = await disk.resolve(path).catch(() => path);
  if (disk.stat(file) !== undefined) return file;
  const isFolderThere = disk.stat(dirname(file))?.kind === 'directory';
  if (isFolderThere) await assertNoSavedFile({ ...DEPS, disk, path: file });
  throw new Error(`There is no data file ${path}`);
}
