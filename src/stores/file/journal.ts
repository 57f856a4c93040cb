/**
 * The journal: the creates since the snapshot, one line for each commit (journal-line.ts).
 *
 * A line is durable when it is written whole and the file is synced, and, for the first one, the
 * directory too: a new file's name is not durable by itself. One line is under way at a time, so a
 * line that was cut off is always the last one.
 *
 * A write that fails is taken back, by a truncate that is synced before anything else happens: only
 * then is it true that nothing of it will ever appear. When that fails, or a sync does, the line is
 * in doubt: it may be on the disk or not, the system may report success the next time, and nobody
 * may sync the file again. What is to become of line and journal is for the store to decide.
 */

import { dirname } from 'node:path';
import type { Histogram } from '../../base/histogram.ts';
import type { Memory } from '../../base/memory.ts';
import type { Disk, DiskEntry, DiskFile, FileMaking } from './disk.ts';
import { encodeLine, headerText, type EncodedLine, type SnapshotId } from './journal-line.ts';
import { checkWritten } from './replace-file.ts';
import { standingOf, type Standing } from './same-file.ts';

/** A journal's file as a start found it, or made it. */
export interface OpenJournal {
  readonly file: DiskFile;
  /** How many of its bytes are whole lines, and the CRC-32 of those. */
  readonly lengthBytes: number;
  readonly crc: number;
}

/** What became of a line. */
export type Written =
  | { readonly kind: 'durable' }
  /** Nothing of it is there, and nothing of it will be. */
  | { readonly kind: 'taken back'; readonly cause: unknown }
  /** It may be there, now or after the next start: nothing may be written behind it. */
  | { readonly kind: 'in doubt'; readonly cause: unknown };

export interface JournalPlace {
  readonly disk: Disk;
  readonly path: string;
  readonly memory: Memory;
  /** Counts the syncs that succeed. */
  readonly syncSeconds: Histogram;
}

export class Journal {
  readonly #place: JournalPlace;
  readonly #snapshot: SnapshotId;
  #file: DiskFile | undefined;
  #entry: DiskEntry | undefined;
  #length: number;
  #crc: number;

  /** A journal that follows the snapshot: one that was found, or one with no file yet. */
  constructor(place: JournalPlace, snapshot: SnapshotId, found?: OpenJournal) {
    this.#place = place;
    this.#snapshot = snapshot;
    this.#file = found?.file;
    this.#entry = found?.file.look();
    this.#length = found?.lengthBytes ?? 0;
    this.#crc = found?.crc ?? 0;
  }

  /** Which file it is; undefined while it has none. */
  get entry(): DiskEntry | undefined {
    return this.#entry;
  }

  /** How many bytes are whole lines. */
  get lengthBytes(): number {
    return this.#length;
  }

  /** How its file stands to its name; 'ours' where there is no file, and none at the name. */
  standing(): Standing {
    const { disk, path } = this.#place;
    if (this.#entry !== undefined) return standingOf(disk, path, this.#entry);
    // An empty file is no journal of anybody's: one of ours that was made and reported as not.
    return (disk.look(path)?.sizeBytes ?? 0) === 0 ? 'ours' : 'another';
  }

  /** The bytes that `write` takes: the line of a text, behind the header where there is none yet. */
  encode(text: string): EncodedLine {
    const { memory } = this.#place;
    if (this.#length > 0) return encodeLine(memory, text, this.#crc);
    const header = encodeLine(memory, headerText(this.#snapshot), 0);
    const line = encodeLine(memory, text, header.crc);
    const bytes = memory.bytes(header.bytes.length + line.bytes.length);
    header.bytes.copy(bytes);
    line.bytes.copy(bytes, header.bytes.length);
    return { bytes, crc: line.crc };
  }

  /**
   * Writes the line and makes it durable. `making` is how a new file is made, and `isOurs` is asked
   * before each step that would harm a file that is not ours any more.
   */
  async write(
    { bytes, crc }: EncodedLine,
    making: () => FileMaking,
    isOurs: () => boolean,
  ): Promise<Written> {
    const isNew = this.#file === undefined;
    try {
      this.#file ??= await this.#create(making());
      if (isNew && !isOurs()) throw new Error('The journal is not ours any more');
    } catch (cause) {
      return { kind: 'taken back', cause };
    }
    const file = this.#file;
    try {
      for (let at = 0; at < bytes.length;) {
        at += checkWritten(file.writeNow(bytes, at, this.#length + at));
      }
    } catch (cause) {
      return this.#takeBack(file, cause, isOurs);
    }
    try {
      await this.#sync(file);
      if (isNew || this.#length === 0) await this.#syncName();
    } catch (cause) {
      return { kind: 'in doubt', cause };
    }
    this.#length += bytes.length;
    this.#crc = crc;
    return { kind: 'durable' };
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #create(making: FileMaking): Promise<DiskFile> {
    const { disk, path } = this.#place;
    // What `standing` takes for nobody's.
    if (disk.look(path)?.sizeBytes === 0) await disk.remove(path);
    const file = await disk.open(path, 'create', making);
    try {
      this.#entry = file.look();
      return file;
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  /** Cuts the file back to its whole lines, for good. */
  async #takeBack(file: DiskFile, cause: unknown, isOurs: () => boolean): Promise<Written> {
    try {
      if (!isOurs()) throw new Error('The journal is not ours any more');
      await file.truncate(this.#length);
      await this.#sync(file);
      return { kind: 'taken back', cause };
    } catch {
      return { kind: 'in doubt', cause };
    }
  }

  async #sync(file: DiskFile): Promise<void> {
    const startedAt = performance.now();
    await file.sync();
    this.#place.syncSeconds.observe((performance.now() - startedAt) / 1000);
  }

  async #syncName(): Promise<void> {
    await this.#place.disk.syncDirectory(dirname(this.#place.path));
  }
}
