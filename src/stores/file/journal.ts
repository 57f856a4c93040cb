/**
 * The journal: a write-ahead log of the creates since the snapshot, one line for each commit
 * (journal-line.ts).
 *
 * A line is durable when it is written in full and the file is synced, and, for the first line, the
 * folder too: a new file's name is not durable by itself. One line is written at a time, so a torn
 * line is always the last one.
 *
 * A failed write is rolled back: the file is truncated and synced before anything else happens.
 * Only then is it certain that no part of the line will ever appear. If that fails, or a sync
 * fails, the line is in doubt. The file must not be synced again, because a later fsync may report
 * success although the data is lost: store-files.ts renews the journal.
 */

import { dirname } from 'node:path';
import { messageOf } from '../../base/log.ts';
import type { FileStat, DiskFile, FileAttributes } from './disk.ts';
import {
  encodeLine,
  headerText,
  MAX_HEADER_LENGTH,
  type EncodedLine,
  type SnapshotId,
} from './journal-line.ts';
import { pathState, type PathState } from './path-state.ts';
import { readAll, withFile } from './read-file.ts';
import { attributesOf, writeAll } from './replace-file.ts';
import type { StoreDeps } from './store-deps.ts';

/** The file of a journal, and its complete lines. */
export interface JournalFile {
  /** Undefined if it was not opened for writing. */
  readonly file?: DiskFile | undefined;
  readonly entry: FileStat;
  /** How many of its bytes are complete lines, and their CRC-32. */
  readonly lengthBytes: number;
  readonly crc: number;
}

/** The outcome of a write. */
export type Written =
  | { readonly kind: 'durable' }
  /** No part of the line is in the file, and none will appear. */
  | { readonly kind: 'rolled back'; readonly cause: unknown }
  /** The line may appear, now or after the next start: nothing may be written after it. */
  | { readonly kind: 'in doubt'; readonly cause: unknown };

/** A longer line is written without blocking the event loop. */
const LONG_LINE_BYTES: number = 64 << 10;

export class Journal {
  readonly #deps: StoreDeps;
  /** The snapshot that its header names. */
  readonly snapshot: SnapshotId;
  #file: DiskFile | undefined;
  #entry: FileStat | undefined;
  /** A copy that may have this journal's name although its rename reported failure. */
  #copy: FileStat | undefined;
  /** Why the file could not be synced. This is only for a file that a start has found. */
  syncError: Error | undefined;
  /** False once another program has changed the file: nothing of it may be copied. */
  isTrusted = true;
  /** How many bytes are complete lines, all of them durable, and their CRC-32. */
  lengthBytes: number;
  crc: number;

  /** A journal that follows the snapshot, without a file unless one was `found`. */
  constructor(deps: StoreDeps, snapshot: SnapshotId, found?: JournalFile) {
    this.#deps = deps;
    this.snapshot = snapshot;
    this.#file = found?.file;
    this.#entry = found?.entry;
    this.lengthBytes = found?.lengthBytes ?? 0;
    this.crc = found?.crc ?? 0;
  }

  /**
   * Returns what its path leads to. Without its own file, a free path or an empty file is
   * `same`. If `extra` is given, the file must have that many bytes after its complete lines.
   * Throws if the stat fails.
   */
  pathState(extra?: number): PathState {
    const { disk, paths } = this.#deps;
    if (this.#entry === undefined) {
      const there = disk.stat(paths.journal);
      return there === undefined || (there.isFile && there.sizeBytes === 0) ? 'same' : 'replaced';
    }
    const copy = this.#copy;
    if (copy !== undefined && pathState(disk, paths.journal, copy) === 'same') return 'same';
    const sizeBytes = extra === undefined ? undefined : this.lengthBytes + extra;
    return pathState(disk, paths.journal, this.#entry, sizeBytes);
  }

  /** From now on this file, too, counts as the journal if it is at the journal's path. */
  acceptCopy(entry: FileStat): void {
    this.#copy = entry;
  }

  /** Returns the bytes that `write` takes: a text's line, and before the first line the header. */
  encode(text: string): EncodedLine {
    const { memory } = this.#deps;
    if (this.lengthBytes > 0) return encodeLine(memory, text, this.crc);
    const header = encodeLine(memory, headerText(this.snapshot), 0);
    const line = encodeLine(memory, text, header.crc);
    const bytes = memory.bytes(header.bytes.length + line.bytes.length);
    header.bytes.copy(bytes);
    line.bytes.copy(bytes, header.bytes.length);
    return { bytes, crc: line.crc };
  }

  /**
   * Writes the line and makes it durable; the caller then has to `append` it. `assertOwned` throws
   * if the lock or the journal is not this store's any more. It is called before a write to a new
   * file, and before a truncation.
   */
  async write(line: EncodedLine, assertOwned: () => void): Promise<Written> {
    const { disk, paths } = this.#deps;
    const isNew = this.#file === undefined;
    try {
      this.#file ??= await this.#create();
      if (isNew) assertOwned();
    } catch (cause) {
      return { kind: 'rolled back', cause };
    }
    const file = this.#file;
    try {
      const write = line.bytes.length > LONG_LINE_BYTES ? 'write' : 'writeNow';
      await writeAll(file, line.bytes, this.lengthBytes, write);
    } catch (cause) {
      return this.#rollBack(file, cause, assertOwned);
    }
    try {
      await this.#sync(file);
      if (this.lengthBytes === 0) await disk.syncDirectory(dirname(paths.journal));
    } catch (cause) {
      return { kind: 'in doubt', cause };
    }
    return { kind: 'durable' };
  }

  /** Adds a durable line to the complete ones. */
  append({ bytes, crc }: EncodedLine): void {
    this.lengthBytes += bytes.length;
    this.crc = crc;
  }

  /**
   * Makes the complete lines of a journal that a start found durable in their place. If the last
   * process was killed after a failed fsync, the page cache may show bytes that are not on disk and
   * will not be written, and the next fsync would falsely succeed. No line follows one whose sync
   * failed, so only the last line, at `lastOffset`, can be affected: it is written again. If it is
   * the first line, so is the header, since `write` wrote both together.
   */
  async rewriteLastLine(lastOffset: number): Promise<void> {
    const { disk, paths, memory } = this.#deps;
    const file = (this.#file ??= await disk.open(paths.journal, 'edit'));
    const start = lastOffset <= MAX_HEADER_LENGTH ? 0 : lastOffset;
    const bytes = memory.bytes(this.lengthBytes - start);
    await readAll(file, bytes, start);
    await writeAll(file, bytes, start);
    await file.truncate(this.lengthBytes);
    await file.sync();
    await disk.syncDirectory(dirname(paths.journal));
  }

  /**
   * Cuts off, durably, what follows the complete lines of a journal that a start found; this must
   * precede a new snapshot. A process that was killed while it rolled a line back may have left
   * that line on the disk, though the page cache does not show it. After a power failure the
   * journal would have a pet that the snapshot lacks.
   */
  async cutFoundTail(): Promise<void> {
    if (this.#file !== undefined || this.lengthBytes === 0) return;
    if (this.syncError !== undefined) throw this.syncError;
    const { disk, paths } = this.#deps;
    const cut = async (file: DiskFile): Promise<void> => {
      await file.truncate(this.lengthBytes);
      await file.sync().catch((error: unknown) => {
        const message = `${paths.journal} cannot be synced: ${messageOf(error)}`;
        throw (this.syncError = new Error(message));
      });
    };
    await withFile(disk, paths.journal, cut, 'edit');
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #create(): Promise<DiskFile> {
    const { disk, paths } = this.#deps;
    const attributes = journalAttributes(this.#deps);
    // An empty file, which `pathState` accepts.
    if (disk.stat(paths.journal)?.sizeBytes === 0) await disk.remove(paths.journal);
    const file = await disk.open(paths.journal, 'create', attributes);
    this.#entry = file.stat();
    return file;
  }

  /** Truncates the file to its complete lines, durably. */
  async #rollBack(file: DiskFile, cause: unknown, assertOwned: () => void): Promise<Written> {
    try {
      assertOwned();
      await file.truncate(this.lengthBytes);
      await this.#sync(file);
      return { kind: 'rolled back', cause };
    } catch {
      return { kind: 'in doubt', cause };
    }
  }

  async #sync(file: DiskFile): Promise<void> {
    const startedAt = performance.now();
    await file.sync();
    this.#deps.syncSeconds.observe((performance.now() - startedAt) / 1000);
  }
}

/** Returns the snapshot's mode and owner, except that the owner may always read and write. */
export function journalAttributes({ disk, paths }: StoreDeps): FileAttributes {
  const { mode, owner } = attributesOf(disk, paths.snapshot);
  return { mode: mode === undefined ? undefined : mode | 0o600, owner };
}
