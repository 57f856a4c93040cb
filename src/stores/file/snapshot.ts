/**
 * The snapshot: the data file, which is the Pets array of the interface, and a checksum line.
 *
 *     [␊
 *     {"id":1,"name":"Rex","categoryId":7},␊
 *     {"id":2,"name":"Tom","categoryId":7,"status":"sold"}␊
 *     ]␊
 *     ␠␉␠␠␉…␊      checksum line: 32 spaces and tabs
 *
 * An empty snapshot also has 32 random spaces and tabs between its brackets. The CRC-32 of a
 * snapshot is the id that its journal names, so even those of new data files differ.
 *
 * JSON does not detect a changed letter in a name. The checksum line does, and every JSON reader
 * skips it: it is the CRC-32 of all bytes through the closing bracket as whitespace, the highest
 * bit first, a tab for 1. A file without it is as valid, but not protected. So an operator can
 * replace the data file by any JSON array of pets, in any layout, without spaces after its bracket.
 * Pets in canonical form take a fast path (table/pet-scanner.ts), all others the parser
 * (parsePetAt).
 */

import zlib from 'node:zlib';
import { CLOSE_BRACKET, COMMA, OPEN_BRACKET } from '../../base/ascii.ts';
import type { Memory } from '../../base/memory.ts';
import { findInvalidUtf8 } from '../../base/utf8.ts';
import { InvalidPetError, MAX_PET_BYTES, parsePetAt, PET_SEPARATOR } from '../../model/pet-text.ts';
import { stringifyPet } from '../../model/pet.ts';
import { ScannedBytes, ScannedPets, scanPets } from '../table/pet-scanner.ts';
import { type PetTable } from '../table/pet-table.ts';
import type { DiskFile } from './disk.ts';
import type { SnapshotId } from './journal-line.ts';
import { DamagedFileError, FileWindow } from './read-file.ts';
import { randomBits } from './store-deps.ts';

/** The CRC-32 of a snapshot through its closing bracket, and how many bytes it covers. */
export interface ArraySum {
  crc: number;
  arrayBytes: number;
}

/**
 * Yields the text of a snapshot with all pets, and counts its array, whose sum is 0 at first.
 * `bits` returns the 32 bits of an empty one.
 */
export function* snapshotText(
  pets: PetTable,
  sum: ArraySum,
  bits: () => number = randomBits,
): Generator<Buffer> {
  for (const chunk of arrayOf(pets, pets.lastId, bits)) {
    sum.crc = zlib.crc32(chunk, sum.crc);
    sum.arrayBytes += chunk.length;
    yield chunk;
  }
  yield Buffer.from(encodeChecksum(sum.crc));
}

/**
 * Returns the CRC-32 of a snapshot that has the pets of the table up to an id, through its closing
 * bracket. An empty snapshot has random blanks, so it has no such CRC.
 */
export function crcOfPets(pets: PetTable, lastId: bigint): number {
  let crc = 0;
  for (const chunk of arrayOf(pets, lastId, randomBits)) crc = zlib.crc32(chunk, crc);
  return crc;
}

function* arrayOf(pets: PetTable, lastId: bigint, bits: () => number): Generator<Buffer> {
  let before = '[\n';
  for (const chunk of pets.chunks(lastId)) {
    yield Buffer.from(before);
    yield chunk;
    before = PET_SEPARATOR;
  }
  const isEmpty = before !== PET_SEPARATOR;
  yield Buffer.from(isEmpty ? `[\n${blanksOf(bits())}\n]` : '\n]');
}

/** What is known of a snapshot, in addition to its pets. */
export interface ReadSnapshot extends SnapshotId {
  /** How many bytes its CRC covers. */
  readonly arrayBytes: number;
  readonly hasChecksum: boolean;
}

/**
 * Reads the pets of a snapshot into the table, which must be empty. Rejects with DamagedFileError.
 */
export async function readSnapshot(
  path: string,
  file: DiskFile,
  pets: PetTable,
  memory: Memory,
): Promise<ReadSnapshot> {
  // A pet, and as much whitespace around it.
  const window = new FileWindow(file, memory, 2 * MAX_PET_BYTES);
  await window.fill(0);
  return new SnapshotReader(path, window, pets).read();
}

class SnapshotReader {
  readonly #path: string;
  readonly #window: FileWindow;
  readonly #pets: PetTable;
  readonly #run: ScannedPets = new ScannedPets();
  #expected: 'array' | 'first pet' | 'pet' | 'separator' | 'checksum' = 'array';
  #crc = 0;
  #arrayBytes = 0;
  /** What follows the closing bracket, up to the length of a checksum line. */
  #checksumText = '';

  constructor(path: string, window: FileWindow, pets: PetTable) {
    this.#path = path;
    this.#window = window;
    this.#pets = pets;
  }

  async read(): Promise<ReadSnapshot> {
    const window = this.#window;
    for (;;) {
      const used = this.#readItems();
      if (window.atEnd) return this.#finish(used);
      if (used === 0 && window.isFull) {
        throw this.#damage(0, `There is no end of a pet within ${window.bytes.length} bytes`);
      }
      await window.fill(used);
    }
  }

  /** Reads the complete items in the window, and returns the number of their bytes. */
  #readItems(): number {
    const { bytes } = this.#window;
    const scanned = new ScannedBytes(bytes);
    let at = 0;
    while (this.#expected !== 'checksum') {
      at = skipSpace(bytes, at);
      if (at === bytes.length) break;
      const end = this.#readItem(scanned, at);
      if (end === undefined) break;
      at = end;
    }
    const invalid = findInvalidUtf8(bytes.subarray(0, at));
    if (invalid !== undefined) throw this.#damage(invalid, 'Not UTF-8');
    this.#crc = zlib.crc32(bytes.subarray(0, at), this.#crc);
    this.#arrayBytes += at;
    return this.#expected === 'checksum' ? this.#readChecksum(at) : at;
  }

  /** Called at the file's end; `used` is what `#readItems` returned. */
  #finish(used: number): ReadSnapshot {
    if (this.#expected !== 'checksum') {
      const { bytes, position } = this.#window;
      const isEmpty = position + bytes.length === 0;
      const what = used < bytes.length ? 'The pet that begins here' : 'The array';
      throw this.#damage(used, isEmpty ? 'The file is empty' : `${what} has no end`);
    }
    const hasChecksum = this.#checksumText === encodeChecksum(this.#crc);
    if (!hasChecksum && looksLikeChecksum(this.#checksumText)) {
      const complaint =
        'Its content does not match its checksum line. If it was changed on purpose, remove the ' +
        'whitespace after the closing bracket';
      throw new DamagedFileError(this.#path, complaint);
    }
    const { lastId } = this.#pets;
    return { crc: this.#crc, lastId, arrayBytes: this.#arrayBytes, hasChecksum };
  }

  /** Returns the offset after the item at `at`, or undefined if the window ends before it does. */
  #readItem(scanned: ScannedBytes, at: number): number | undefined {
    const byte = scanned.bytes[at];
    const expected = this.#expected;
    if (expected === 'array') {
      expectArray(this.#path, scanned.bytes, at);
      this.#expected = 'first pet';
    } else if (byte === CLOSE_BRACKET && expected !== 'pet') {
      this.#expected = 'checksum';
    } else if (expected === 'separator') {
      if (byte !== COMMA) throw this.#damage(at, "Expected ',' or ']' after a pet");
      this.#expected = 'pet';
    } else {
      const end = this.#readPets(scanned, at);
      if (end !== undefined) this.#expected = 'separator';
      return end;
    }
    return at + 1;
  }

  /** Reads a pet by the parser, or several by the fast path. */
  #readPets(scanned: ScannedBytes, at: number): number | undefined {
    const run = this.#run;
    run.length = 0;
    const scannedEnd = scanPets(scanned, at, PET_SEPARATOR, run);
    if (run.length > 0 && isAscending(run, this.#pets.lastId)) {
      this.#pets.appendScanned(scanned.bytes, run);
      return scannedEnd;
    }
    const read = this.#parsePet(scanned.bytes, at);
    if (read === undefined) return undefined;
    const { id, status } = read.pet;
    const { lastId } = this.#pets;
    if (id <= lastId) {
      throw this.#damage(at, `id ${id} does not come after ${lastId}: ids must be ascending`);
    }
    this.#pets.append({ id, text: stringifyPet(read.pet), status });
    return read.end;
  }

  #parsePet(bytes: Buffer, at: number): ReturnType<typeof parsePetAt> {
    try {
      return parsePetAt(bytes, at);
    } catch (error) {
      // If memory fails, the file is not damaged.
      if (error instanceof InvalidPetError) throw this.#damage(at, error.message);
      if (!(error instanceof SyntaxError)) throw error;
      const message = error.message.replace(/\s+/g, ' ');
      throw this.#damage(at, `The pet that begins here is not valid JSON: ${message}`);
    }
  }

  #readChecksum(at: number): number {
    const { bytes } = this.#window;
    const end = skipSpace(bytes, at);
    if (end < bytes.length) throw this.#damage(end, 'Something follows the closing bracket');
    // A long rest is not a checksum line: it is enough to keep its beginning.
    if (this.#checksumText.length <= CHECKSUM_LENGTH) {
      this.#checksumText += bytes.toString('latin1', at, Math.min(end, at + 2 * CHECKSUM_LENGTH));
    }
    return end;
  }

  #damage(at: number, complaint: string): DamagedFileError {
    return new DamagedFileError(this.#path, complaint, this.#window.position + at);
  }
}

/** Returns the offset of the first byte from `at` on that is not JSON whitespace. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  while (SPACES.has(bytes[at])) at += 1;
  return at;
}

const SPACES: ReadonlySet<number | undefined> = new Set(Buffer.from(' \t\r\n'));

/** Throws an Error if no array begins at `at`, the first byte other than whitespace. */
export function expectArray(path: string, bytes: Buffer, at: number): void {
  if (bytes[at] === OPEN_BRACKET) return;
  throw new Error(
    `${path} is not a petstore data file, which is a JSON array of pets in UTF-8 without a byte ` +
      'order mark. It was left as it is. Name another file, or put it back from a backup',
  );
}

function isAscending({ ids, length }: ScannedPets, lastId: bigint): boolean {
  if (BigInt(ids[0]!) <= lastId) return false;
  for (let i = 1; i < length; i += 1) if (ids[i]! <= ids[i - 1]!) return false;
  return true;
}

/** The rest of the file after the closing bracket: the line's end, and the checksum line. */
function encodeChecksum(crc: number): string {
  return `\n${blanksOf(crc)}\n`;
}

/** 32 bits in whitespace, the highest first: a tab for 1. */
function blanksOf(bits: number): string {
  return bits.toString(2).padStart(32, '0').replaceAll('0', ' ').replaceAll('1', '\t');
}

const CHECKSUM_LENGTH: number = encodeChecksum(0).length;

/** True for whitespace that no editor leaves after a bracket: a checksum line, or a part of one. */
function looksLikeChecksum(text: string): boolean {
  const blanks = text.replace(/[\r\n]/g, '');
  return blanks.includes('\t') || (blanks.length >= 8 && blanks.length <= CHECKSUM_LENGTH);
}
