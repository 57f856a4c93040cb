/**
 * The journal: the creates since the snapshot, one line for each commit (commit.ts).
 *
 * A commit is durable when its line is written whole and the file is synced, and, the first time,
 * the directory too: a new file's name is not durable by itself. One commit is under way at a time,
 * so a commit that was cut off is always the last line.
 *
 * A write that fails is taken back with truncate, and the next commit simply tries again. A sync
 * that fails is final: the system may have dropped the bytes and yet report success the next time.
 * The journal is then dead, and its owner has to bring everything into new files.
 */

import { dirname } from 'node:path';
import { decodeCommit, holdsLaterCommit, type Commit } from './commit.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk, DiskFile } from './disk.ts';
import { FileWindow } from './file-window.ts';

export class Journal {
  readonly #disk: Disk;
  readonly #path: string;
  #file: DiskFile | undefined;
  /** How many bytes of the file are whole commits. */
  #length: number;
  #isNameDurable: boolean;
  /** A truncate has to be durable before the next line goes where the old one was. */
  #isTruncateDurable = true;
  #isDead = false;

  /** A journal with no file yet; `file` and `length` are those of one that was read. */
  constructor(disk: Disk, path: string, file?: DiskFile, length = 0) {
    this.#disk = disk;
    this.#path = path;
    this.#file = file;
    this.#length = length;
    this.#isNameDurable = file !== undefined;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get lengthBytes(): number {
    return this.#length;
  }

  /** Makes the line durable. When it rejects, the line is not part of the journal. */
  async append(line: Buffer): Promise<void> {
    if (this.#isDead) throw new Error('An earlier sync of the journal failed');
    this.#file ??= await this.#disk.open(this.#path, 'create');
    if (!this.#isTruncateDurable) await this.#sync(this.#file);
    this.#isTruncateDurable = true;
    try {
      for (let at = 0; at < line.length;) at += this.#file.writeNow(line, at, this.#length + at);
    } catch (error) {
      await this.#takeBack(this.#file);
      throw error;
    }
    await this.#sync(this.#file);
    this.#length += line.length;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #sync(file: DiskFile): Promise<void> {
    try {
      await file.sync();
      if (!this.#isNameDurable) await this.#disk.syncDirectory(dirname(this.#path));
      this.#isNameDurable = true;
    } catch (error) {
      this.#isDead = true;
      await this.#takeBack(file);
      throw error;
    }
  }

  /** Cuts the file back, so that a later start does not read what was never answered. */
  async #takeBack(file: DiskFile): Promise<void> {
    this.#isTruncateDurable = false;
    await file.truncate(this.#length).catch(() => {
      this.#isDead = true;
    });
  }
}

/** What a journal's file was found to hold. */
export interface JournalContent {
  /** How many bytes are whole commits. */
  readonly lengthBytes: number;
  /** Where the last of them starts. */
  readonly lastOffset: number;
  /** What follows them is a commit that was cut off, and so never answered. */
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
      const tail = await readTail(window, at);
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

const LINE_FEED = 0x0a;
const SECTOR_BYTES = 512;

async function readTail(window: FileWindow, at: number): Promise<Buffer> {
  await window.fill(at);
  while (!window.atEnd) await window.fill(0);
  return window.bytes;
}

/**
 * True when the rest of a journal, which begins with no whole commit, is what a crash leaves of one
 * commit: its first part only, or all of it with some sectors still zero because they never got to
 * the disk. All else is damage to something that may have been answered: a changed byte, a line
 * feed that became another byte, a line with whole commits behind it.
 */
function isTorn(tail: Buffer, offset: number): boolean {
  if (holdsLaterCommit(tail)) return false;
  const lineFeed = tail.indexOf(LINE_FEED);
  if (lineFeed === -1) {
    // All but the line feed is there: only a sector of its own could have been lost.
    const isWhole = decodeCommit(tail.subarray(0, -1)) !== undefined;
    return !isWhole || hasZeroSectors(tail, offset);
  }
  return isZero(tail.subarray(lineFeed + 1)) && hasZeroSectors(tail.subarray(0, lineFeed), offset);
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
