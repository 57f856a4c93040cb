/**
 * Reads a journal, and decides by its beginning what to do with it:
 *
 *     empty, or zeros                        `nothing`: it may be removed
 *     a header that names this snapshot      `follows`: its commits are applied
 *     a header that names another snapshot   `obsolete` if the snapshot has all its pets: a
 *                                            checkpoint was interrupted; else damaged
 *     anything else                          DamagedFileError
 *
 * Only a torn line may follow the last complete line (torn-tail.ts).
 */

import { isUtf8 } from 'node:buffer';
import zlib from 'node:zlib';
import type { Memory } from '../../base/system.ts';
import { commitStart, decodeCommit, decodeKeysLine, MAX_COMMIT_BYTES } from '../commit.ts';
import { scanCommit, type Commit } from '../commit.ts';
import { MAX_IDEMPOTENCY_KEYS, type KeyEntry } from '../table/idempotency-keys.ts';
import { ScannedBytes, ScannedPets } from '../table/pet-scanner.ts';
import type { PetTable } from '../table/pet-table.ts';
import type { DiskFile } from './disk.ts';
import {
  isIntact,
  isSameSnapshot,
  lengthAt,
  lineLengthAt,
  PREFIX_LENGTH,
  readHeader,
  type SnapshotId,
} from './journal-line.ts';
import { DamagedFileError, FileWindow } from './read-file.ts';
import { isTornLine } from './torn-tail.ts';

export interface JournalContent {
  readonly kind: 'nothing' | 'follows' | 'obsolete';
  /** How many bytes are complete lines, and their CRC-32. */
  readonly lengthBytes: number;
  readonly crc: number;
  /** The offset of the last complete line. */
  readonly lastOffset: number;
  /** The length of the torn line after them, which was never acknowledged. */
  readonly tornBytes: number;
  /** The snapshot that its header names; undefined without a header. */
  readonly named: SnapshotId | undefined;
  /** The idempotency keys of that snapshot's pets. */
  readonly snapshotKeys: readonly KeyEntry[];
  /** The newest idempotency keys of its commits. */
  readonly keys: readonly KeyEntry[];
}

/** The length of the longest line that the store writes. */
const MAX_LINE_BYTES: number = PREFIX_LENGTH + MAX_COMMIT_BYTES;

/**
 * Reads the journal, and adds the pets of its commits to the table, which has those of the
 * snapshot. Rejects with DamagedFileError.
 */
export async function readJournal(
  path: string,
  file: DiskFile,
  snapshot: SnapshotId,
  pets: PetTable,
  memory: Memory,
): Promise<JournalContent> {
  const window = new FileWindow(file, memory, MAX_LINE_BYTES);
  await window.fill(0);
  return new JournalReader(path, window, snapshot, pets).read();
}

class JournalReader {
  readonly #path: string;
  readonly #window: FileWindow;
  readonly #snapshot: SnapshotId;
  readonly #pets: PetTable;
  readonly #run: ScannedPets = new ScannedPets();
  /** The offset of the next line in the window. */
  #at = 0;
  /** CRC-32 of the file up to the next line. */
  #crc = 0;
  #lastOffset = 0;
  /** The last id of the commits that were read. */
  #lastId = 0n;
  #named: SnapshotId | undefined;
  #isObsolete = false;
  #snapshotKeys: readonly KeyEntry[] = [];
  /** The newest keys, at least as many as are returned. */
  #keys: KeyEntry[] = [];

  constructor(path: string, window: FileWindow, snapshot: SnapshotId, pets: PetTable) {
    this.#path = path;
    this.#window = window;
    this.#snapshot = snapshot;
    this.#pets = pets;
  }

  async read(): Promise<JournalContent> {
    if (!(await this.#readHeader())) return this.#content('nothing');
    for (;;) {
      const end = this.#intactEnd();
      const hasAll = this.#window.atEnd || (this.#at === 0 && this.#window.isFull);
      if (end > this.#at) this.#applyLines(end);
      else if (hasAll) return this.#finish();
      else {
        await this.#window.fill(this.#at);
        this.#at = 0;
      }
    }
  }

  /**
   * Returns the end of the intact lines in the window. The CRC of the last complete line covers all
   * lines before it; only if it is wrong, they are checked one by one.
   */
  #intactEnd(): number {
    const { bytes } = this.#window;
    let [last, end] = [this.#at, this.#at];
    for (;;) {
      const length = lineLengthAt(bytes, end);
      if (length === undefined) break;
      [last, end] = [end, end + length];
    }
    const crcBefore = zlib.crc32(bytes.subarray(this.#at, last), this.#crc);
    if (last === end || isIntact(bytes, last, end - last, crcBefore)) return end;
    let crc = this.#crc;
    for (let at = this.#at; ;) {
      const length = lineLengthAt(bytes, at) ?? 0;
      if (!isIntact(bytes, at, length, crc)) return at;
      crc = zlib.crc32(bytes.subarray(at, at + length), crc);
      at += length;
    }
  }

  /** Applies the commits of the lines up to `end`. */
  #applyLines(end: number): void {
    const { bytes } = this.#window;
    const scanned = new ScannedBytes(bytes);
    if (!isUtf8(bytes.subarray(this.#at, end))) throw this.#noCommit(this.#at);
    this.#crc = zlib.crc32(bytes.subarray(this.#at, end), this.#crc);
    while (this.#at < end) {
      const at = this.#at;
      const length = lengthAt(bytes, at) ?? 0;
      const [start, textEnd] = [at + PREFIX_LENGTH, at + length - 1];
      const isKeys = this.#lastOffset === 0 && this.#readKeysLine(start, textEnd);
      if (!isKeys && !this.#scanCommit(scanned, start, textEnd)) {
        this.#appendRun();
        this.#applyCommit(decodeCommit(bytes.subarray(start, textEnd)), at);
      }
      this.#lastOffset = this.#window.position + at;
      this.#at += length;
    }
    this.#appendRun();
  }

  /** Reads the line after the header if it has keys; else returns false. */
  #readKeysLine(start: number, end: number): boolean {
    const text = this.#window.bytes.toString('latin1', start, end);
    const keys = decodeKeysLine(text, this.#lastId);
    this.#snapshotKeys = keys ?? [];
    return keys !== undefined;
  }

  /** The fast path of `#applyCommit`. Returns false, and applies nothing, if it cannot be taken. */
  #scanCommit(scanned: ScannedBytes, start: number, end: number): boolean {
    if (this.#isObsolete) return false;
    const commit = scanCommit(scanned, start, end, this.#lastId, this.#run);
    if (commit === undefined) return false;
    this.#lastId = commit.lastId;
    this.#addKeys(commit.keys);
    if (this.#run.length > ScannedPets.maxLength / 2) this.#appendRun();
    return true;
  }

  #appendRun(): void {
    this.#pets.appendScanned(this.#window.bytes, this.#run);
    this.#run.length = 0;
  }

  #applyCommit(commit: Commit | undefined, at: number): void {
    if (commit === undefined) throw this.#noCommit(at);
    const { after, pets, keys } = commit;
    if (after !== this.#lastId) {
      throw this.#damage(
        at,
        `This commit follows pet ${after}, but the line before it ends with pet ${this.#lastId}`,
      );
    }
    this.#lastId = after + BigInt(pets.length);
    this.#addKeys(keys);
    for (const pet of pets) {
      if (!this.#isObsolete) this.#pets.append(pet);
      else if (this.#pets.get(pet.id)?.text !== pet.text) throw this.#otherSnapshot(pet.id, at);
    }
  }

  /** A journal may have millions of keys: only the newest are kept. */
  #addKeys(keys: readonly KeyEntry[]): void {
    for (const key of keys) this.#keys.push(key);
    if (this.#keys.length >= 2 * MAX_IDEMPOTENCY_KEYS)
      this.#keys = this.#keys.slice(-MAX_IDEMPOTENCY_KEYS);
  }

  /**
   * Reads the header. Resolves with false if there is only what the first write of an earlier
   * release may leave, which wrote the header together with a commit: nothing, or zeros.
   */
  async #readHeader(): Promise<boolean> {
    const { bytes } = this.#window;
    const named = readHeader(bytes);
    if (named !== undefined) {
      this.#named = named;
      this.#isObsolete = !isSameSnapshot(named, this.#snapshot);
      this.#lastId = named.lastId;
      this.#at = lineLengthAt(bytes, 0) ?? 0;
      this.#crc = zlib.crc32(bytes.subarray(0, this.#at));
      return true;
    }
    while (!this.#window.atEnd && !this.#window.isFull) await this.#window.fill(0);
    if (this.#window.atEnd && this.#window.bytes.every((byte) => byte === 0)) return false;
    const complaint =
      'It does not begin like a journal of this version. If another version wrote it, stop that ' +
      'version cleanly first, which brings its pets into the data file';
    throw new DamagedFileError(this.#path, complaint, 0);
  }

  #finish(): JournalContent {
    const { bytes, position, atEnd } = this.#window;
    const tail = bytes.subarray(this.#at);
    const next = `${commitStart(this.#lastId)}{"id":${this.#lastId + 1n},`;
    if (!atEnd || !isTornLine(tail, position + this.#at, next)) {
      throw this.#damage(
        this.#at,
        'This line of the journal is neither intact nor a torn last line',
      );
    }
    return this.#content(this.#isObsolete ? 'obsolete' : 'follows');
  }

  /** What was read. The rest of the window is the torn line. */
  #content(kind: JournalContent['kind']): JournalContent {
    const { bytes, position } = this.#window;
    return {
      kind,
      lengthBytes: position + this.#at,
      crc: this.#crc,
      lastOffset: this.#lastOffset,
      tornBytes: bytes.length - this.#at,
      named: this.#named,
      snapshotKeys: this.#snapshotKeys,
      keys: this.#keys.slice(-MAX_IDEMPOTENCY_KEYS),
    };
  }

  #noCommit(at: number): DamagedFileError {
    return this.#damage(at, 'This line of the journal is not a commit of this version');
  }

  #otherSnapshot(id: bigint, at: number): DamagedFileError {
    return this.#damage(
      at,
      `The journal follows another snapshot than the one next to it, whose pet ${id} is missing or ` +
        'different',
    );
  }

  #damage(at: number, complaint: string): DamagedFileError {
    return new DamagedFileError(this.#path, complaint, this.#window.position + at);
  }
}
