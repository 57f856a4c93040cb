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
 *
 * A file that grows has its new length to make durable too. So a line that needs more room takes a
 * reserve of zero bytes along in the same write, and the lines after it go over those: this took a
 * third off the time of a lone commit.
 */

import { dirname } from 'node:path';
import type { Histogram } from '../base/histogram.ts';
import type { Disk, DiskFile } from './disk.ts';
import type { StorePaths } from './store-paths.ts';

/** How much room a journal takes beyond its commits, when it needs more. */
export const JOURNAL_RESERVE_BYTES: number = 256 << 10;

/** A journal's file as it was read. */
export interface JournalFile {
  readonly file: DiskFile;
  /** How many of its bytes are whole commits. */
  readonly lengthBytes: number;
}

export class Journal {
  readonly #disk: Disk;
  readonly #paths: StorePaths;
  readonly #reserveBytes: number;
  readonly #syncSeconds: Histogram;
  #file: DiskFile | undefined;
  /** How many bytes of the file are whole commits. */
  #length: number;
  /** Up to here there is room that was written before. */
  #roomEnd: number;
  #isNameDurable: boolean;
  /** A truncate has to be durable before the next line goes where the old one was. */
  #isTruncateDurable = true;
  #isDead = false;

  /** A journal that was read, or one with no file yet. `syncSeconds` counts its syncs. */
  constructor(
    disk: Disk,
    paths: StorePaths,
    reserveBytes: number,
    syncSeconds: Histogram,
    found?: JournalFile,
  ) {
    this.#disk = disk;
    this.#paths = paths;
    this.#reserveBytes = reserveBytes;
    this.#syncSeconds = syncSeconds;
    this.#file = found?.file;
    this.#length = found?.lengthBytes ?? 0;
    this.#roomEnd = this.#length;
    this.#isNameDurable = found !== undefined;
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
    this.#file ??= await this.#create();
    if (!this.#isTruncateDurable) await this.#sync(this.#file);
    this.#isTruncateDurable = true;
    try {
      this.#write(this.#file, line);
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

  /** Whoever may not read the data file may not read its journal. */
  async #create(): Promise<DiskFile> {
    const { snapshot, journal } = this.#paths;
    const mode = (await this.#disk.stat(snapshot))?.mode;
    return this.#disk.open(journal, 'create', mode);
  }

  /** Writes all of the line; of the reserve, as much as the disk takes. */
  #write(file: DiskFile, line: Buffer): void {
    const hasRoom = this.#length + line.length <= this.#roomEnd;
    const bytes = hasRoom ? line : Buffer.concat([line], line.length + this.#reserveBytes);
    let at = 0;
    while (at < line.length) at += file.writeNow(bytes, at, this.#length + at);
    this.#roomEnd = Math.max(this.#roomEnd, this.#length + at);
  }

  async #sync(file: DiskFile): Promise<void> {
    const startedAt = performance.now();
    try {
      await file.sync();
      this.#syncSeconds.observe((performance.now() - startedAt) / 1000);
      if (!this.#isNameDurable) await this.#disk.syncDirectory(dirname(this.#paths.journal));
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
    this.#roomEnd = this.#length;
    await file.truncate(this.#length).catch(() => {
      this.#isDead = true;
    });
  }
}
