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
 * Pets as the store writes them are read one a line, most of them by the fast path
 * (table/pet-scanner.ts). From the first one in another layout on, parsePets reads the rest.
 */

import { isUtf8 } from 'node:buffer';
import zlib from 'node:zlib';
import { CLOSE_BRACKET, COMMA, LINE_FEED } from '../../base/ascii.ts';
import type { Memory } from '../../base/system.ts';
import {
  InvalidPetError,
  MAX_PET_BYTES,
  parsePet,
  parsePets,
  PET_SEPARATOR,
} from '../../model/pet-text.ts';
import { stringifyPet, type Pet } from '../../model/pet.ts';
import { ScannedBytes, ScannedPets, scanPets } from '../table/pet-scanner.ts';
import { type PetTable } from '../table/pet-table.ts';
import type { DiskFile } from './disk.ts';
import type { SnapshotId } from './journal-line.ts';
import { DamagedFileError, FileWindow } from './read-file.ts';

/** The CRC-32 of a snapshot through its closing bracket, and how many bytes it covers. */
export interface ArraySum {
  crc: number;
  arrayBytes: number;
}

/**
 * Yields the text of a snapshot with all pets, and counts its array, whose sum is 0 at first.
 * An empty one has the 32 random bits.
 */
export function* snapshotText(
  pets: PetTable,
  sum: ArraySum,
  randomBits: number,
): Generator<Buffer> {
  for (const chunk of arrayOf(pets, pets.lastId, randomBits)) {
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
  for (const chunk of arrayOf(pets, lastId, 0)) crc = zlib.crc32(chunk, crc);
  return crc;
}

function* arrayOf(pets: PetTable, lastId: bigint, bits: number): Generator<Buffer> {
  let before = '[\n';
  for (const chunk of pets.chunks(lastId)) {
    yield Buffer.from(before);
    yield chunk;
    before = PET_SEPARATOR;
  }
  const isEmpty = before !== PET_SEPARATOR;
  yield Buffer.from(isEmpty ? `[\n${blanksOf(bits)}\n]` : '\n]');
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
  const window = new FileWindow(file, memory, MAX_OTHER_BYTES);
  await window.fill(0);
  return new SnapshotReader(path, window, pets).read();
}

/** How many bytes of a snapshot may have another layout: they become one string. */
const MAX_OTHER_BYTES: number = 256 << 20;
const MAX_MISTAKES = 20;
/** The length of the texts before each pet: the bracket with a line feed, or the separator. */
const BEFORE_LENGTH = 2;

class SnapshotReader {
  readonly #path: string;
  readonly #window: FileWindow;
  readonly #pets: PetTable;
  readonly #run: ScannedPets = new ScannedPets();
  readonly #sum: ArraySum = { crc: 0, arrayBytes: 0 };

  constructor(path: string, window: FileWindow, pets: PetTable) {
    this.#path = path;
    this.#window = window;
    this.#pets = pets;
  }

  async read(): Promise<ReadSnapshot> {
    const window = this.#window;
    if (window.bytes.length === 0) throw this.#damage('The file is empty');
    assertArray(this.#path, window.bytes);
    await this.#readOwnLines();
    while (!window.atEnd && !window.isFull) await window.fill(0);
    return this.#readRest();
  }

  /** Reads the pets that are as the store writes them, one a line, and moves the window on. */
  async #readOwnLines(): Promise<void> {
    const window = this.#window;
    for (;;) {
      const scanned = new ScannedBytes(window.bytes);
      let at = 0;
      let end: number | undefined;
      while ((end = this.#readPets(scanned, at)) !== undefined) at = end;
      const isCut = !window.bytes.includes(LINE_FEED, at + BEFORE_LENGTH);
      const isTooLong = window.bytes.length - at > 2 * MAX_PET_BYTES;
      const isLast = !isCut || isTooLong || window.atEnd;
      this.#count(at);
      await window.fill(at);
      if (isLast) return;
    }
  }

  /** Returns the offset after the pets that it has read, or undefined if there are none. */
  #readPets(scanned: ScannedBytes, at: number): number | undefined {
    const { bytes } = scanned;
    const pets = this.#pets;
    const start = at + BEFORE_LENGTH;
    const before = pets.length === 0 ? '[\n' : PET_SEPARATOR;
    if (bytes.toString('latin1', at, start) !== before) return undefined;
    const run = this.#run;
    run.length = 0;
    const scannedEnd = scanPets(scanned, start, PET_SEPARATOR, run);
    if (run.length > 0 && isAscending(run, pets.lastId)) {
      pets.appendScanned(bytes, run);
      return scannedEnd;
    }
    const lineEnd = bytes.indexOf(LINE_FEED, start);
    const end = bytes[lineEnd - 1] === COMMA ? lineEnd - 1 : lineEnd;
    if (lineEnd === -1) return undefined;
    try {
      const mistake = this.#append(parsePet(bytes.toString('utf8', start, end)));
      return mistake === undefined ? end : undefined;
    } catch (error) {
      // If memory fails, the file is not damaged.
      if (error instanceof SyntaxError || error instanceof InvalidPetError) return undefined;
      throw error;
    }
  }

  /** Reads what is left, in whatever layout, and the checksum line. */
  #readRest(): ReadSnapshot {
    const { bytes, atEnd } = this.#window;
    if (!atEnd) {
      const most = `${MAX_OTHER_BYTES} bytes`;
      throw this.#damage(`From here on it is not as this service writes it for more than ${most}`);
    }
    this.#addPets(bytes.toString());
    const end = bytes.lastIndexOf(CLOSE_BRACKET) + 1;
    this.#count(end);
    const after = bytes.toString('latin1', end);
    const hasChecksum = after === encodeChecksum(this.#sum.crc);
    if (!hasChecksum && looksLikeChecksum(after)) {
      const complaint =
        'Its content does not match its checksum line. If it was changed on purpose, remove the ' +
        'whitespace after the closing bracket';
      throw new DamagedFileError(this.#path, complaint);
    }
    return { ...this.#sum, lastId: this.#pets.lastId, hasChecksum };
  }

  /** Adds the pets of an array, of which only the rest may be left. Throws all that is wrong. */
  #addPets(text: string): void {
    const pets = this.#pets;
    const mistakes: string[] = [];
    let index = pets.length;
    for (const pet of this.#parse(text)) {
      index += 1;
      const mistake = pet instanceof InvalidPetError ? pet.message : this.#append(pet);
      if (mistake !== undefined) mistakes.push(`pet ${index}: ${mistake}`);
    }
    if (mistakes.length === 0) return;
    const shown = mistakes.slice(0, MAX_MISTAKES);
    if (mistakes.length > MAX_MISTAKES) shown.push(`and ${mistakes.length - MAX_MISTAKES} more`);
    throw this.#mistakes(shown);
  }

  #parse(text: string): ReturnType<typeof parsePets> {
    // The braces stand for the pets before: only a comma or a bracket may follow.
    const hasPets = this.#pets.length > 0;
    try {
      return hasPets ? parsePets(`[{}${text}`).slice(1) : parsePets(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      // The engine shows, and counts, the text that it was given.
      const message = hasPets
        ? error.message.replace(/(, \.*"| in JSON at ).*$/s, '')
        : error.message;
      throw this.#mistakes([`it is not valid JSON: ${message}`]);
    }
  }

  /** Returns the error for who wrote the file by hand, or for a file of this store. */
  #mistakes(mistakes: readonly string[]): Error {
    if (this.#window.position > 0) return this.#damage(mistakes.join('; '), BEFORE_LENGTH);
    const list = mistakes.join('\n  ');
    return new Error(`${this.#path} is not a list of pets. It was left as it is:\n  ${list}`);
  }

  /** Adds the pet, or returns why it cannot. */
  #append(pet: Pet): string | undefined {
    const { lastId } = this.#pets;
    const text = stringifyPet(pet);
    if (pet.id <= lastId) {
      return `id ${pet.id} does not come after ${lastId}: ids must be ascending`;
    }
    if (Buffer.byteLength(text) > MAX_PET_BYTES) return `A pet has at most ${MAX_PET_BYTES} bytes`;
    this.#pets.append({ id: pet.id, text, status: pet.status });
    return undefined;
  }

  /** Adds the first bytes of the window to the sum. */
  #count(length: number): void {
    const bytes = this.#window.bytes.subarray(0, length);
    const invalid = findInvalidUtf8(bytes);
    if (invalid !== undefined) throw this.#damage('Not UTF-8', invalid);
    this.#sum.crc = zlib.crc32(bytes, this.#sum.crc);
    this.#sum.arrayBytes += length;
  }

  #damage(complaint: string, at = 0): DamagedFileError {
    return new DamagedFileError(this.#path, complaint, this.#window.position + at);
  }
}

/** Throws an Error if the bytes, with which a file begins, are not the start of an array. */
export function assertArray(path: string, bytes: Buffer): void {
  if (/^[ \t\r\n]*(\[|$)/.test(bytes.toString('latin1'))) return;
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

/** Returns the offset of the first byte that is not valid UTF-8, or undefined if all are. */
function findInvalidUtf8(bytes: Buffer): number | undefined {
  if (isUtf8(bytes)) return undefined;
  // Decoding replaces each broken character with U+FFFD, so the first difference is the error.
  const decoded = Buffer.from(bytes.toString('utf8'));
  let offset = 0;
  while (bytes[offset] === decoded[offset]) offset += 1;
  // U+FFFD may begin with the same bytes as the broken character.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  return offset;
}
