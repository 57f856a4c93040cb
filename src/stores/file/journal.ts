/**
 * The journal: a write-ahead log of the creates since the data file, one line for each commit
 * (journal-line.ts). Its header, its keys and its complete lines are durable. One line is written
 * at a time, so a torn line is always the last one.
 *
 * A failed write is rolled back: the file is truncated and synced before anything else happens.
 * Only then is it certain that no part of the line will ever appear. If that fails, or a sync
 * fails, the line is in doubt. The file must not be synced again, because a later fsync may report
 * success although the data is lost: store-files.ts writes a new journal from memory.
 */

import { type DiskFile, type FileStat, writeAll } from './disk.ts';
import { encodeLine, MAX_HEADER_LENGTH, type DataFileId } from './journal-line.ts';
import { readAll } from './read-file.ts';
import type { StoreDeps } from './store-deps.ts';

/** The outcome of a write. */
export type Written =
  | { readonly kind: 'durable' }
  /** No part of the line is in the file, and none will appear. */
  | { readonly kind: 'rolled back'; readonly cause: unknown }
  /** The line may appear, now or after the next start: nothing may be written after it. */
  | { readonly kind: 'in doubt'; readonly cause: unknown };

/** What a journal has when it is taken into use. */
export interface JournalLines {
  /** The data file that its header names. */
  readonly dataFile: DataFileId;
  /** How many bytes are complete lines, and their CRC-32. */
  readonly lengthBytes: number;
  readonly crc: number;
}

/** A longer line is written without blocking the event loop. */
const LONG_LINE_BYTES: number = 64 << 10;

export class Journal {
  readonly dataFile: DataFileId;
  /** The file. Its size here is that of the time when it was taken into use. */
  readonly entry: FileStat;
  /** True once its folder is synced: a power failure cannot bring back an earlier journal. */
  isNameDurable = false;
  readonly #deps: StoreDeps;
  readonly #file: DiskFile;
  #lengthBytes: number;
  /** The length with the line that is being written, or that may be there in part. */
  #mostBytes: number;
  #crc: number;
  #closing: Promise<void> | undefined;

  constructor(deps: StoreDeps, file: DiskFile, { dataFile, lengthBytes, crc }: JournalLines) {
    this.#deps = deps;
    this.#file = file;
    this.entry = file.stat();
    this.dataFile = dataFile;
    this.#lengthBytes = lengthBytes;
    this.#mostBytes = lengthBytes;
    this.#crc = crc;
  }

  /** How many bytes are complete lines, all of them durable. */
  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  /** True if this process alone can have made the file this long. */
  mayHave(sizeBytes: number): boolean {
    return sizeBytes >= this.#lengthBytes && sizeBytes <= this.#mostBytes;
  }

  /**
   * Writes a line with this text and makes it durable. `assertIntact` throws if the lock or the
   * journal is not this store's any more; it is called before a truncation. Rejects if memory
   * fails, before anything is written.
   */
  async write(text: string, assertIntact: () => void): Promise<Written> {
    const { bytes, crc } = encodeLine(this.#deps.memory, text, this.#crc);
    this.#mostBytes = this.#lengthBytes + bytes.length;
    try {
      const write = bytes.length > LONG_LINE_BYTES ? 'write' : 'writeNow';
      await writeAll(this.#file, bytes, this.#lengthBytes, write);
    } catch (cause) {
      return this.#rollBack(cause, assertIntact);
    }
    try {
      await this.#sync();
    } catch (cause) {
      return { kind: 'in doubt', cause };
    }
    this.#lengthBytes = this.#mostBytes;
    this.#crc = crc;
    return { kind: 'durable' };
  }

  /**
   * Makes the complete lines of a journal that a start found durable in their place, and cuts off
   * a torn line after them. If the last process was killed after a failed fsync, the page cache may
   * show bytes that are not on disk and will not be written, and the next fsync would falsely
   * succeed. No line follows one whose sync failed, so only the last line, at `lastOffset`, can be
   * affected: it is written again. Releases before 2.0 wrote the header with the first line.
   */
  async rewriteLastLine(lastOffset: number): Promise<void> {
    const start = lastOffset <= MAX_HEADER_LENGTH ? 0 : lastOffset;
    const bytes = this.#deps.memory.bytes(this.#lengthBytes - start);
    await readAll(this.#file, bytes, start);
    await writeAll(this.#file, bytes, start);
    await this.#file.truncate(this.#lengthBytes);
    await this.#file.sync();
  }

  /** Closes the file, once. */
  async close(): Promise<void> {
    this.#closing ??= this.#file.close().catch(() => undefined);
    await this.#closing;
  }

  /** Truncates the file to its complete lines, durably. */
  async #rollBack(cause: unknown, assertIntact: () => void): Promise<Written> {
    try {
      assertIntact();
      await this.#file.truncate(this.#lengthBytes);
      await this.#sync();
      this.#mostBytes = this.#lengthBytes;
      return { kind: 'rolled back', cause };
    } catch {
      return { kind: 'in doubt', cause };
    }
  }

  async #sync(): Promise<void> {
    const startedAt = performance.now();
    await this.#file.sync();
    this.#deps.syncSeconds.observe((performance.now() - startedAt) / 1000);
  }
}
