/**
 * Reads a journal, and decides by its beginning what to do with it:
 *
 *     empty, or zeros                         `nothing`: it may be removed
 *     a header that names this data file      `follows`: its commits are applied
 *     a header that names another data file   `obsolete` if this one has all its pets: a checkpoint
 *                                             was interrupted; else damaged
 *     anything else                           DamagedFileError
 *
 * Only a torn line may follow the last complete line (torn-tail.ts).
 */

import zlib from 'node:zlib';
import type { Memory } from '../../base/system.ts';
import { commitStart, decodeCommit, decodeKeysLine, MAX_COMMIT_BYTES } from '../commit.ts';
import { scanCommit, type ScannedCommit } from '../commit.ts';
import { MAX_IDEMPOTENCY_KEYS, type KeyEntry } from '../table/idempotency-keys.ts';
import { ScannedPets } from '../table/pet-scanner.ts';
import type { PetTable } from '../table/pet-table.ts';
import type { DiskFile } from './disk.ts';
import {
  decodeHeader,
  isIntact,
  isSameDataFile,
  lineLengthAt,
  PREFIX_LENGTH,
  type DataFileId,
} from './journal-line.ts';
import { assertUtf8, DamagedFileError, readItems, type Unread } from './read-file.ts';
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
  /** The data file that its header names; undefined without a header. */
  readonly named: DataFileId | undefined;
  /** The idempotency keys of that data file's pets. */
  readonly dataFileKeys: readonly KeyEntry[];
  /** The newest idempotency keys of its commits. */
  readonly keys: readonly KeyEntry[];
}

/** The length of the longest line that the store writes. */
const MAX_LINE_BYTES: number = PREFIX_LENGTH + MAX_COMMIT_BYTES;

const NO_HEADER =
  'It does not begin like a journal of this version. If another version wrote it, stop that ' +
  'version cleanly first, which brings its pets into the data file';

/**
 * Reads the journal, and adds the pets of its commits to the table, which has those of the
 * data file. Rejects with DamagedFileError.
 */
export async function readJournal(
  path: string,
  file: DiskFile,
  dataFile: DataFileId,
  pets: PetTable,
  memory: Memory,
): Promise<JournalContent> {
  const reader = new JournalReader(path, dataFile, pets);
  const readLines = (bytes: Buffer, position: number): number => reader.readLines(bytes, position);
  return reader.finish(await readItems(file, memory, MAX_LINE_BYTES, readLines));
}

class JournalReader {
  readonly #path: string;
  readonly #dataFile: DataFileId;
  readonly #pets: PetTable;
  readonly #run: ScannedPets = new ScannedPets();
  #kind: JournalContent['kind'] = 'nothing';
  /** The CRC-32 of the lines that were read. */
  #crc = 0;
  /** The offset of the last line, and the last pet of the lines. */
  #lastOffset = 0;
  #lastId = 0n;
  #named: DataFileId | undefined;
  /** Undefined until the line after the header was read. */
  #dataFileKeys: readonly KeyEntry[] | undefined;
  /** The newest keys, at least as many as are returned. */
  #keys: KeyEntry[] = [];

  constructor(path: string, dataFile: DataFileId, pets: PetTable) {
    this.#path = path;
    this.#dataFile = dataFile;
    this.#pets = pets;
  }

  /** Reads the intact lines with which the bytes begin, and returns where they end. */
  readLines(bytes: Buffer, position: number): number {
    const text = bytes.toString('latin1');
    const lines = bytes.subarray(0, intactEnd(bytes, text, this.#crc));
    assertUtf8(this.#path, lines, position);
    this.#crc = zlib.crc32(lines, this.#crc);
    for (let at = 0; at < lines.length;) {
      this.#lastOffset = position + at;
      const end = text.indexOf('\n', at);
      this.#readLine(lines, text, at + PREFIX_LENGTH, end);
      at = end + 1;
    }
    return lines.length;
  }

  /** Reads the line whose text is from `start` to `end`. */
  #readLine(bytes: Buffer, text: string, start: number, end: number): void {
    if (this.#named === undefined) return this.#readHeader(text.slice(start, end));
    if (this.#dataFileKeys === undefined) {
      const keys = decodeKeysLine(text.slice(start, end), this.#lastId);
      this.#dataFileKeys = keys ?? [];
      if (keys !== undefined) return;
    }
    const { lastId, keys } =
      this.#scanCommit(bytes, text, start, end) ?? this.#applyCommit(bytes.subarray(start, end));
    this.#lastId = lastId;
    // A journal may have millions of keys: only the newest are kept.
    for (const key of keys) this.#keys.push(key);
    if (this.#keys.length >= 2 * MAX_IDEMPOTENCY_KEYS) {
      this.#keys = this.#keys.slice(-MAX_IDEMPOTENCY_KEYS);
    }
  }

  #readHeader(text: string): void {
    const named = decodeHeader(text);
    if (named === undefined) throw this.#damaged(NO_HEADER);
    this.#named = named;
    this.#lastId = named.lastId;
    this.#kind = isSameDataFile(this.#dataFile, named) ? 'follows' : 'obsolete';
  }

  /** The fast path of `#applyCommit`. Applies nothing, and returns undefined, if it cannot. */
  #scanCommit(bytes: Buffer, text: string, start: number, end: number): ScannedCommit | undefined {
    if (this.#kind === 'obsolete') return undefined;
    const commit = scanCommit(text, start, end, this.#lastId, this.#run);
    if (commit !== undefined) this.#pets.appendScanned(bytes, this.#run);
    return commit;
  }

  #applyCommit(text: Buffer): ScannedCommit {
    const commit = decodeCommit(text);
    if (commit?.after !== this.#lastId) {
      const damage = `This line of the journal is not a commit of this version`;
      throw this.#damaged(`${damage}, or does not follow pet ${this.#lastId}`);
    }
    for (const pet of commit.pets) {
      if (this.#kind === 'follows') this.#pets.append(pet);
      else if (this.#pets.get(pet.id)?.text !== pet.text) {
        throw this.#damaged(
          'The journal follows another data file than the one next to it, whose pet ' +
            `${pet.id} is missing or different`,
        );
      }
    }
    return { lastId: commit.pets.at(-1)!.id, keys: commit.keys };
  }

  /** Returns what was read. Throws if more than a torn line is left. */
  finish({ bytes, position, atEnd }: Unread): JournalContent {
    if (this.#named === undefined) {
      // The first write of an earlier release had the header and a commit.
      if (!atEnd || bytes.some((byte) => byte !== 0)) throw this.#damaged(NO_HEADER);
    } else {
      const next = `${commitStart(this.#lastId)}{"id":${this.#lastId + 1n},`;
      if (!atEnd || !isTornLine(bytes, position, next)) {
        const damage = 'This line of the journal is neither intact nor a torn last line';
        throw this.#damaged(damage, position);
      }
    }
    return {
      kind: this.#kind,
      lengthBytes: position,
      crc: this.#crc,
      lastOffset: this.#lastOffset,
      tornBytes: bytes.length,
      named: this.#named,
      dataFileKeys: this.#dataFileKeys ?? [],
      keys: this.#keys.slice(-MAX_IDEMPOTENCY_KEYS),
    };
  }

  #damaged(damage: string, offset = this.#lastOffset): DamagedFileError {
    return new DamagedFileError(this.#path, damage, offset);
  }
}

/**
 * Returns the end of the intact lines with which the bytes begin, for a file whose CRC is `crc` so
 * far. The CRC of the last complete line covers all lines before it; only if it is wrong, they are
 * checked one by one.
 */
function intactEnd(bytes: Buffer, text: string, crc: number): number {
  let [last, end] = [0, 0];
  for (let length; (length = lineLengthAt(text, end)) !== undefined;) {
    [last, end] = [end, end + length];
  }
  const crcBefore = zlib.crc32(bytes.subarray(0, last), crc);
  if (last === end || isIntact(bytes, last, end - last, crcBefore)) return end;
  for (let at = 0; ;) {
    const length = lineLengthAt(text, at) ?? 0;
    if (!isIntact(bytes, at, length, crc)) return at;
    crc = zlib.crc32(bytes.subarray(at, at + length), crc);
    at += length;
  }
}
