/**
 * Reading a journal: its commits in order, and what a crash may have left behind them.
 */

import { LINE_FEED } from '../base/ascii.ts';
import { decodeCommit, holdsLaterCommit, type Commit } from './commit.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { DiskFile } from './disk.ts';
import { FileWindow } from './file-window.ts';
import type { PetTable } from './pet-table.ts';

/** What a journal's file was found to hold. */
export interface JournalContent {
  /** How many bytes are whole commits. */
  readonly lengthBytes: number;
  /** Where the last of them starts. */
  readonly lastOffset: number;
  /** What follows them is a commit that was cut off, and so never answered; zeros do not count. */
  readonly tornBytes: number;
}

/**
 * Reads the journal's commits in order, handing each to `apply` with its offset.
 *
 * Rejects with DamagedFileError at a line that is neither whole nor torn, and with what `apply`
 * throws.
 */
export async function readJournal(
  path: string,
  file: DiskFile,
  apply: (commit: Commit, offset: number) => void,
): Promise<JournalContent> {
  const window = new FileWindow(file);
  await window.fill(0);
  let lastOffset = 0;
  for (let at = 0; ;) {
    const lineFeed = window.bytes.indexOf(LINE_FEED, at);
    if (lineFeed === -1 && !window.atEnd) {
      await window.fill(at);
      at = 0;
      continue;
    }
    const offset = window.position + at;
    const commit = lineFeed === -1 ? undefined : decodeCommit(window.bytes.subarray(at, lineFeed));
    if (commit === undefined) {
      const tail = withoutZerosAtEnd(await readTail(window, at));
      if (isTorn(tail, offset)) {
        return { lengthBytes: offset, lastOffset, tornBytes: tail.length };
      }
      throw new DamagedFileError(path, offset, 'This line of the journal is no whole commit');
    }
    apply(commit, offset);
    lastOffset = offset;
    at = lineFeed + 1;
  }
}

/**
 * For `readJournal`: adds each commit's pets to `pets`, which are those of the snapshot.
 *
 * A commit that the snapshot has already, pet for pet, is passed over. Any other that does not
 * follow on is a DamagedFileError.
 */
export function commitsOnto(
  path: string,
  pets: PetTable,
): (commit: Commit, offset: number) => void {
  const snapshotLastId = pets.lastId;
  let journalLastId: bigint | undefined;
  return ({ after, pets: added }, offset) => {
    const isChained = journalLastId === undefined || after === journalLastId;
    journalLastId = after + BigInt(added.length);
    if (isChained && journalLastId <= snapshotLastId) {
      const missing = added.find(({ id, pet }) => pets.get(id) !== pet);
      if (missing === undefined) return;
      throw new DamagedFileError(
        path,
        offset,
        `This commit has a pet ${missing.id} that the snapshot has not, or not like this: ` +
          'they do not belong together, and which of them counts is not for the service to say',
      );
    }
    if (!isChained || after !== pets.lastId) {
      throw new DamagedFileError(
        path,
        offset,
        `This commit follows pet ${after}, but the pets before it end with ${pets.lastId}: ` +
          'the snapshot is missing or from another day, or a line was lost',
      );
    }
    for (const { id, pet, status } of added) pets.append(id, pet, status);
  };
}

const SECTOR_BYTES = 512;

async function readTail(window: FileWindow, at: number): Promise<Buffer> {
  await window.fill(at);
  while (!window.atEnd) await window.fill(0);
  return window.bytes;
}

/**
 * True when what follows the whole commits is what a crash leaves of one more, or nothing: its
 * first part only, or all of it with some sectors still zero because they never got to the disk, be
 * it the one with nothing but the line feed. All else is damage to something that may have been
 * answered: a changed byte, a line feed that became another byte, a line with whole commits behind
 * it.
 */
function isTorn(tail: Buffer, offset: number): boolean {
  if (holdsLaterCommit(tail)) return false;
  const lineFeed = tail.indexOf(LINE_FEED);
  // All but the line feed is there, and another byte in its place.
  if (lineFeed === -1) return decodeCommit(tail.subarray(0, -1)) === undefined;
  return lineFeed === tail.length - 1 && hasZeroSectors(tail.subarray(0, lineFeed), offset);
}

/** True when there are zero bytes, and all of them fill their part of a sector of the file. */
function hasZeroSectors(line: Buffer, offset: number): boolean {
  if (!line.includes(0)) return false;
  for (let start = 0; start < line.length;) {
    const end = start + SECTOR_BYTES - ((offset + start) % SECTOR_BYTES);
    const part = line.subarray(start, end);
    if (part.includes(0) && !isZero(part)) return false;
    start = end;
  }
  return true;
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

/** The zeros are the journal's reserve, or where a torn commit did not get to. */
function withoutZerosAtEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return bytes.subarray(0, end);
}
