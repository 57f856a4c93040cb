/**
 * Reading a journal: what it holds, and how that stands to the snapshot beside it.
 *
 *     nothing, zeros, or a first write that was cut off   nothing: it may go
 *     a header that names this snapshot                   its commits follow on: they are applied
 *     a header that names another one                     fine if the snapshot has all its pets: a
 *                                                         checkpoint was cut off before its end
 *     anything else                                       DamagedFileError
 *
 * Behind the last whole line only the beginning of one more may lie (torn-tail.ts).
 */

import { isUtf8 } from 'node:buffer';
import zlib from 'node:zlib';
import type { Memory } from '../../base/memory.ts';
import { commitStart, decodeCommit, type Commit, type CommittedKey } from '../commits/commit.ts';
import { MAX_COMMIT_BYTES } from '../commits/commit-queue.ts';
import { scanCommit } from '../commits/commit-scanner.ts';
import { MAX_IDEMPOTENCY_KEYS } from '../idempotency/key-table.ts';
import { ScannedPets, scannedBytes } from '../table/pet-scanner.ts';
import type { PetTable } from '../table/pet-table.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { DiskFile } from './disk.ts';
import { FileWindow } from './file-window.ts';
import {
  isFramed,
  isIntact,
  lengthAt,
  MAX_HEADER_LENGTH,
  PREFIX_LENGTH,
  readHeaderText,
  type SnapshotId,
} from './journal-line.ts';
import { isTornBeginning, isTornLine } from './torn-tail.ts';

export interface JournalContent {
  /** What is to be done with it. */
  readonly kind: 'nothing' | 'follows' | 'passed over';
  /** How many bytes are whole lines. */
  readonly lengthBytes: number;
  /** CRC-32 of those. */
  readonly crc: number;
  /** Where the last of them starts. */
  readonly lastOffset: number;
  /** What follows them: the beginning of a line that was never answered. */
  readonly tornBytes: number;
  /** The idempotency keys of its commits, the newest of them where there are very many. */
  readonly keys: readonly CommittedKey[];
}

/** No line of ours is longer. */
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
  /** Where the next line starts in the window. */
  #at = 0;
  /** CRC-32 of the file up to there. */
  #crc = 0;
  #lastOffset = 0;
  /** The last id of the commits so far. */
  #lastId = 0n;
  #isPassedOver = false;
  /** The newest ones, at least as many as are kept. */
  #keys: CommittedKey[] = [];

  constructor(path: string, window: FileWindow, snapshot: SnapshotId, pets: PetTable) {
    this.#path = path;
    this.#window = window;
    this.#snapshot = snapshot;
    this.#pets = pets;
  }

  async read(): Promise<JournalContent> {
    if (!(await this.#readHeader())) {
      const tornBytes = this.#window.bytes.length;
      return { kind: 'nothing', lengthBytes: 0, crc: 0, lastOffset: 0, tornBytes, keys: [] };
    }
    for (;;) {
      const end = this.#lastWholeLine();
      if (end === undefined) {
        const isAllThere = this.#window.atEnd || this.#lineIsTooLong();
        if (isAllThere) break;
        await this.#window.fill(this.#at);
        this.#at = 0;
        continue;
      }
      const intactEnd = this.#intactEnd(end);
      this.#applyLines(intactEnd);
      if (intactEnd <= end) break;
    }
    return this.#finish();
  }

  /** Where the line starts that is the last of those whole in the window; undefined for none. */
  #lastWholeLine(): number | undefined {
    const { bytes } = this.#window;
    let last: number | undefined;
    for (let at = this.#at; ;) {
      const length = lengthAt(bytes, at);
      if (length === undefined || at + length > bytes.length) return last;
      if (!isFramed(bytes, at, length)) return last;
      last = at;
      at += length;
    }
  }

  #lineIsTooLong(): boolean {
    const length = lengthAt(this.#window.bytes, this.#at);
    return this.#window.isFull || length === undefined || length > MAX_LINE_BYTES;
  }

  /**
   * The end of the lines whose CRCs are right. That of the last line vouches for all before it;
   * only if it is wrong they are looked at one by one.
   */
  #intactEnd(last: number): number {
    const { bytes } = this.#window;
    const lastLength = lengthAt(bytes, last) ?? 0;
    const crcBefore = zlib.crc32(bytes.subarray(this.#at, last), this.#crc);
    if (isIntact(bytes, last, lastLength, crcBefore)) return last + lastLength;
    let crc = this.#crc;
    for (let at = this.#at; ;) {
      const length = lengthAt(bytes, at) ?? 0;
      if (!isIntact(bytes, at, length, crc)) return at;
      crc = zlib.crc32(bytes.subarray(at, at + length), crc);
      at += length;
    }
  }

  /** Applies the commits of the lines up to `end`. */
  #applyLines(end: number): void {
    const { bytes } = this.#window;
    const scanned = scannedBytes(bytes);
    if (!isUtf8(bytes.subarray(this.#at, end))) throw this.#noCommit(this.#at);
    this.#crc = zlib.crc32(bytes.subarray(this.#at, end), this.#crc);
    const run = this.#run;
    run.length = 0;
    while (this.#at < end) {
      const at = this.#at;
      const length = lengthAt(bytes, at) ?? 0;
      const [start, textEnd] = [at + PREFIX_LENGTH, at + length - 1];
      const commit = this.#isPassedOver
        ? undefined
        : scanCommit(scanned, start, textEnd, this.#lastId, run);
      if (commit === undefined) {
        this.#pets.appendScanned(bytes, run);
        run.length = 0;
        this.#applyCommit(decodeCommit(bytes.subarray(start, textEnd)), at);
      } else {
        this.#lastId = commit.lastId;
        this.#addKeys(commit.keys);
      }
      if (run.length > ScannedPets.maxLength / 2) {
        this.#pets.appendScanned(bytes, run);
        run.length = 0;
      }
      this.#lastOffset = this.#window.position + at;
      this.#at += length;
    }
    this.#pets.appendScanned(bytes, run);
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
      if (!this.#isPassedOver) this.#pets.append(pet);
      else if (this.#pets.get(pet.id)?.text !== pet.text) throw this.#otherSnapshot(pet.id, at);
    }
  }

  /** A journal may have millions of them: of those only the newest are needed. */
  #addKeys(keys: readonly CommittedKey[]): void {
    for (const key of keys) this.#keys.push(key);
    if (this.#keys.length >= 2 * MAX_IDEMPOTENCY_KEYS)
      this.#keys = this.#keys.slice(-MAX_IDEMPOTENCY_KEYS);
  }

  /** Reads the header; false where there is none, nor anything else that counts. */
  async #readHeader(): Promise<boolean> {
    const { bytes } = this.#window;
    const length = lengthAt(bytes, 0);
    const isLine =
      length !== undefined &&
      length <= MAX_HEADER_LENGTH &&
      length <= bytes.length &&
      isFramed(bytes, 0, length) &&
      isIntact(bytes, 0, length, 0);
    const named = isLine
      ? readHeaderText(bytes.toString('latin1', PREFIX_LENGTH, length - 1))
      : undefined;
    if (named !== undefined && length !== undefined) {
      this.#isPassedOver = !isSame(named, this.#snapshot);
      this.#lastId = named.lastId;
      this.#crc = zlib.crc32(bytes.subarray(0, length));
      this.#at = length;
      return true;
    }
    while (!this.#window.atEnd && !this.#window.isFull) await this.#window.fill(0);
    if (this.#window.atEnd && isTornBeginning(this.#window.bytes)) return false;
    throw new DamagedFileError({
      path: this.#path,
      offset: 0,
      complaint: 'It does not begin like a journal of this version',
      advice:
        'Put it back where it came from; or, if another version wrote it, stop that version ' +
        'cleanly first, which brings its pets into the data file',
    });
  }

  async #finish(): Promise<JournalContent> {
    const tail = await this.#readTail();
    const lengthBytes = this.#window.position;
    const next = `${commitStart(this.#lastId)}{"id":${this.#lastId + 1n},`;
    if (tail === undefined || !isTornLine(tail, lengthBytes, next)) {
      throw this.#damage(0, 'This line of the journal is no whole commit');
    }
    return {
      kind: this.#isPassedOver ? 'passed over' : 'follows',
      lengthBytes,
      crc: this.#crc,
      lastOffset: this.#lastOffset,
      tornBytes: tail.length,
      keys: this.#keys.slice(-MAX_IDEMPOTENCY_KEYS),
    };
  }

  /** What is behind the lines; undefined where that is more than any line. */
  async #readTail(): Promise<Buffer | undefined> {
    await this.#window.fill(this.#at);
    this.#at = 0;
    while (!this.#window.atEnd && !this.#window.isFull) await this.#window.fill(0);
    return this.#window.atEnd ? this.#window.bytes : undefined;
  }

  #noCommit(at: number): DamagedFileError {
    return this.#damage(at, 'This line of the journal is no commit of this version');
  }

  #otherSnapshot(id: bigint, at: number): DamagedFileError {
    return this.#damage(
      at,
      `The journal follows another snapshot than the one beside it, which has not its pet ${id}, ` +
        'or not like this',
    );
  }

  #damage(at: number, complaint: string): DamagedFileError {
    return new DamagedFileError({
      path: this.#path,
      offset: this.#window.position + at,
      complaint,
      advice:
        'Restore the data file and its journal from one back-up; or move the journal away, as ' +
        'evidence, and start without the pets that only it has',
    });
  }
}

function isSame(one: SnapshotId, other: SnapshotId): boolean {
  return one.crc === other.crc && one.lastId === other.lastId;
}
