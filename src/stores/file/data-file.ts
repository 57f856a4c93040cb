/**
 * The data file: the Pets array of the interface, and a checksum line.
 *
 *     [␊
 *     {"id":1,"name":"Rex","categoryId":7},␊
 *     {"id":2,"name":"Tom","categoryId":7,"status":"sold"}␊
 *     ]␊
 *     ␠␉␠␠␉…␊      checksum line: 32 spaces and tabs
 *
 * An empty data file also has 32 random spaces and tabs between its brackets. The CRC-32 of a
 * data file is the id that its journal names, so even those of new data files differ.
 *
 * JSON does not detect a changed letter in a name. The checksum line does, and every JSON reader
 * skips it: it is the CRC-32 of all bytes through the closing bracket as whitespace, the highest
 * bit first, a tab for 1. A file without it is as valid, but not protected. So an operator can
 * replace the data file by any JSON array of pets, in any layout, without spaces after its bracket.
 * A file with one pet a line, as above, is read by its lines, most of them by the
 * fast path (table/pet-scanner.ts). Any other file is read as one text by parsePets.
 */

import zlib from 'node:zlib';
import { CLOSE_BRACKET } from '../../base/ascii.ts';
import type { Memory } from '../../base/system.ts';
import {
  InvalidPetError,
  MAX_PET_BYTES,
  parsePets,
  petsIn,
  PET_SEPARATOR,
} from '../../model/pet-text.ts';
import { stringifyPet, type Pet } from '../../model/pet.ts';
import { ScannedPets, scanPets } from '../table/pet-scanner.ts';
import { type PetTable } from '../table/pet-table.ts';
import type { DiskFile } from './disk.ts';
import type { DataFileId } from './journal-line.ts';
import { assertUtf8, DamagedFileError, readItems, readStart, type Unread } from './read-file.ts';

/** The CRC-32 of a data file through its closing bracket, and how many bytes it covers. */
export interface ArraySum {
  crc: number;
  arrayBytes: number;
}

/**
 * Yields the text of a data file with all pets, and counts its array, whose sum is 0 at first.
 * An empty one has the 32 random bits.
 */
export function* dataFileText(
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
 * Returns the CRC-32 of a data file that has the pets of the table up to an id, through its closing
 * bracket. An empty data file has random blanks, so it has no such CRC.
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

/** What is known of a data file, in addition to its pets. */
export interface ReadDataFile extends DataFileId {
  /** How many bytes of the file its array has, and their CRC-32. */
  readonly arrayBytes: number;
  readonly arrayCrc: number;
  readonly hasChecksum: boolean;
}

/** How many bytes a file in another layout may have: they become one string. */
const MAX_OTHER_BYTES: number = 256 << 20;
const MAX_MISTAKES = 20;
/** A pet with what is before and after it. */
const MAX_LINE_BYTES: number = MAX_PET_BYTES + 4;

/**
 * Reads the pets of a data file into the table, which must be empty. Rejects with DamagedFileError.
 */
export async function readDataFile(
  path: string,
  file: DiskFile,
  pets: PetTable,
  memory: Memory,
): Promise<ReadDataFile> {
  const run = new ScannedPets();
  let isCanonical = true;
  let crc = 0;
  let unread = await readItems(file, memory, MAX_LINE_BYTES, (bytes, position) => {
    const lines = bytes.subarray(
      0,
      readLines(bytes, pets, run, () => (isCanonical = false)),
    );
    assertUtf8(path, lines, position);
    crc = zlib.crc32(lines, crc);
    return lines.length;
  });
  const isEnd = /^[ \t\r\n]*\][ \t\r\n]*$/.test(unread.bytes.toString('latin1'));
  if (unread.position === 0 || !unread.atEnd || !isEnd) {
    unread = await readOther(path, file, pets, memory, unread.position);
    crc = 0;
  }
  const { bytes, position } = unread;
  const end = bytes.lastIndexOf(CLOSE_BRACKET) + 1;
  crc = zlib.crc32(bytes.subarray(0, end), crc);
  const after = bytes.toString('latin1', end);
  const hasChecksum = after === encodeChecksum(crc);
  if (!hasChecksum && looksLikeChecksum(after)) {
    const damage =
      'Its content does not match its checksum line. If it was changed on purpose, remove the ' +
      'whitespace after the closing bracket';
    throw new DamagedFileError(path, damage);
  }
  const { lastId } = pets;
  isCanonical &&= position > 0 && bytes.toString('latin1', 0, end) === '\n]';
  // An editor may have changed the layout: the same pets are the same data file.
  const isOwn = hasChecksum || isCanonical || lastId === 0n;
  const ownCrc = isOwn ? crc : crcOfPets(pets, lastId);
  return { crc: ownCrc, arrayCrc: crc, arrayBytes: position + end, lastId, hasChecksum };
}

/**
 * Reads the pets with which the bytes begin, one a line. Returns where they end. Calls `onOther`
 * for a pet that may be written in another way than the store's.
 */
function readLines(bytes: Buffer, pets: PetTable, run: ScannedPets, onOther: () => void): number {
  const text = bytes.toString('latin1');
  for (let at = 0; ;) {
    const before = pets.length === 0 ? '[\n' : PET_SEPARATOR;
    if (!text.startsWith(before, at)) return at;
    const start = at + before.length;
    const scannedEnd = scanPets(text, start, PET_SEPARATOR, run);
    if (run.length > 0 && isAscending(run, pets.lastId)) {
      pets.appendScanned(bytes, run);
      at = scannedEnd;
    } else {
      const lineEnd = text.indexOf('\n', start);
      const end = text[lineEnd - 1] === ',' ? lineEnd - 1 : lineEnd;
      const found = lineEnd === -1 ? [] : petsIn(`[${bytes.toString('utf8', start, end)}]`);
      if (found.length !== 1 || appendOrTell(pets, found[0]!) !== undefined) return at;
      onOther();
      at = end;
    }
  }
}

/**
 * Reads a file in another layout. The table has the pets of its lines up to `position`, which were
 * read already. Rejects with all that is wrong.
 */
async function readOther(
  path: string,
  file: DiskFile,
  pets: PetTable,
  memory: Memory,
  position: number,
): Promise<Unread> {
  if (file.stat().sizeBytes > MAX_OTHER_BYTES) {
    const most = `${MAX_OTHER_BYTES} bytes`;
    const damage = `It has more than ${most}, and from here on it is not as this service writes it`;
    throw new DamagedFileError(path, damage, position);
  }
  const bytes = await readStart(file, memory, MAX_OTHER_BYTES);
  if (bytes.length === 0) throw new DamagedFileError(path, 'The file is empty', 0);
  assertArray(path, bytes);
  assertUtf8(path, bytes, 0);
  const mistakes = appendAll(pets, bytes.toString());
  if (mistakes.length === 0) return { bytes, position: 0, atEnd: true };
  if (mistakes.length > MAX_MISTAKES) {
    mistakes.splice(MAX_MISTAKES, Infinity, `and ${mistakes.length - MAX_MISTAKES} more`);
  }
  // A file that was written by hand ends with its array, and has no checksum line.
  const after = bytes.toString('latin1', bytes.lastIndexOf(CLOSE_BRACKET) + 1);
  if (position > 0 && !/^\s{0,7}$/.test(after)) {
    throw new DamagedFileError(path, mistakes.join('; '), position + PET_SEPARATOR.length);
  }
  const list = mistakes.join('\n  ');
  throw new Error(`${path} is not a list of pets. It was left as it is:\n  ${list}`);
}

/** Adds the pets of an array of which the table may have the first. Returns all that is wrong. */
function appendAll(pets: PetTable, text: string): string[] {
  let found: ReturnType<typeof parsePets>;
  try {
    found = parsePets(text);
  } catch (error) {
    if (error instanceof SyntaxError) return [`it is not valid JSON: ${error.message}`];
    throw error;
  }
  const known = pets.length;
  return found.slice(known).flatMap((pet, index) => {
    const mistake = appendOrTell(pets, pet);
    return mistake === undefined ? [] : `pet ${known + index + 1}: ${mistake}`;
  });
}

/** Adds the pet, or returns why it cannot. */
function appendOrTell(pets: PetTable, pet: Pet | InvalidPetError): string | undefined {
  if (pet instanceof InvalidPetError) return pet.message;
  const { lastId } = pets;
  if (pet.id <= lastId) {
    return `id ${pet.id} does not come after ${lastId}: ids must be ascending`;
  }
  const text = stringifyPet(pet);
  if (Buffer.byteLength(text) > MAX_PET_BYTES) return `A pet has at most ${MAX_PET_BYTES} bytes`;
  pets.append({ id: pet.id, text, status: pet.status });
  return undefined;
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

/** True for whitespace that no editor leaves after a bracket: a checksum line, or a part of one. */
function looksLikeChecksum(text: string): boolean {
  return /\t| {8}/.test(text);
}
