/**
 * Reads the lines of a data file, one pet each, through a window that moves over it.
 *
 * A file in the form of format.ts is proven by its marks, so its lines are only taken apart,
 * without an object for each pet. The lines of any other array are parsed.
 */

import zlib from 'node:zlib';
import type { Memory } from '../base/system.ts';
import { PET_STATUSES, stringifyPet, type PetStatus } from '../pets/pet.ts';
import { InvalidPetError, MAX_PET_BYTES, petsIn, type ParsedPet } from '../pets/pet-text.ts';
import type { Tables } from './tables.ts';
import type { DiskFile } from './disk.ts';
import { crcOfMark, KEY_MEMBER, LINE_BYTES, MARK_BYTES, MARK_LINE_BYTES } from './format.ts';

/** A part of a file. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The bytes that a reader has left unread. */
export interface Unread {
  readonly bytes: Buffer;
  /** The position of bytes[0] in the file. */
  readonly position: number;
  /** True if the range ends with them. */
  readonly atEnd: boolean;
}

/** A window's first length. Its text is in the young part of V8's heap, and is freed early. */
const WINDOW_BYTES: number = 1 << 16;

/**
 * Reads the items of a part of a file. `read` gets the next bytes and their position, reads the
 * items with which they begin, and returns how many bytes it has read. The window grows until it
 * holds a complete item of at most `maxBytes`: gigabytes without an item's end may follow a damaged
 * byte. Resolves with what is left when no item can be read.
 */
export async function readItems(
  file: Pick<DiskFile, 'read'>,
  { start, end }: Range,
  memory: Memory,
  maxBytes: number,
  read: (bytes: Buffer, position: number) => number,
): Promise<Unread> {
  let window = memory.bytes(WINDOW_BYTES);
  let bytes = window.subarray(0, 0);
  let position = start;
  let atEnd = false;
  for (;;) {
    const used = read(bytes, position);
    if (used === 0 && (atEnd || bytes.length >= maxBytes)) return { bytes, position, atEnd };
    position += used;
    const rest = bytes.subarray(used);
    let { length } = rest;
    if (length === window.length) window = memory.bytes(Math.min(2 * length, maxBytes + 1));
    rest.copy(window);
    while (length < window.length && !atEnd) {
      const most = Math.min(window.length - length, end - position - length);
      const count = most === 0 ? 0 : await file.read(window, length, most, position + length);
      atEnd = count === 0;
      length += count;
    }
    bytes = window.subarray(0, length);
  }
}

/** A pet with what is before and after it in its line. */
export const MAX_LINE_BYTES: number = MAX_PET_BYTES + LINE_BYTES;

/** Puts the pets of a file into the tables, in ascending order of id. */
export class PetReader {
  readonly #tables: Tables;
  readonly #keysEndAt: number;
  /** Where the commit of the last mark begins, and the position behind that mark. */
  lastCommitAt = 0;
  markedEnd = 0;
  /** True if a comma must be before the next pet of an array. */
  needsComma = false;

  /** The idempotency keys are found until `keysEndAt`. */
  constructor(tables: Tables, keysEndAt: number) {
    this.#tables = tables;
    this.#keysEndAt = keysEndAt;
  }

  /**
   * Reads the complete lines with which the bytes begin, as format.ts writes them, and returns
   * where they end. What it accepts need not be a pet: only the marks prove that.
   */
  readCommitted(bytes: Buffer, position: number): number {
    // A character for each byte: an index in the text is an offset in the bytes.
    const text = bytes.toString('latin1');
    for (let at = 0; ;) {
      const next = text.indexOf('\n', at) + 1;
      const first = text.charCodeAt(at) === COMMA ? at + 1 : at;
      const isMarked = text.charCodeAt(next - 2) !== BRACE;
      const close = isMarked ? next - 2 - MARK_BYTES : next - 2;
      const isPet = close > first && text.charCodeAt(close) === BRACE && text.startsWith(ID, first);
      if (next === 0 || !isPet || !this.#appendCommitted(bytes, text, first, close)) return at;
      if (isMarked) {
        this.lastCommitAt = this.markedEnd;
        this.markedEnd = position + next;
      }
      at = next;
    }
  }

  /** Adds the pet whose text is from `first` to the brace at `close`. */
  #appendCommitted(bytes: Buffer, text: string, first: number, close: number): boolean {
    const { pets, keys } = this.#tables;
    let id = 0;
    let at = first + ID.length;
    for (; at < close && text.charCodeAt(at) !== COMMA; at += 1) {
      id = id * 10 + (text.charCodeAt(at) - ZERO);
    }
    // Only an import has such ids, which are not exact as numbers.
    if (id > Number.MAX_SAFE_INTEGER)
      return this.#appendText(bytes.toString('utf8', first, close + 1));
    const exactId = BigInt(id);
    if (exactId <= pets.lastId) return false;
    const keyAt = close - KEY_MEMBER.length - KEY_DIGITS - 1;
    const hasKey = text.startsWith(KEY_MEMBER, keyAt);
    const end = hasKey ? keyAt : close;
    pets.appendBytes(bytes, first, end, exactId, STATUSES.get(text.charCodeAt(end - 2)));
    if (hasKey) keys.add(text.slice(close - KEY_DIGITS - 1, close - 1), exactId, this.#keysEndAt);
    return true;
  }

  /**
   * Reads the complete lines of any array with which the bytes begin, and returns where they end: a
   * pet each, with a comma before or behind it.
   */
  readLines(bytes: Buffer): number {
    for (let at = 0; ;) {
      const next = bytes.indexOf('\n', at) + 1;
      if (next === 0) return at;
      const line = LINE.exec(bytes.toString('utf8', at, next));
      const [, before, pet, behind] = line ?? [];
      if (pet === undefined || (before === ',') !== this.needsComma) return at;
      if (!this.#appendText(pet)) return at;
      this.needsComma = behind === '';
      at = next;
    }
  }

  /** Adds a pet, or returns why it cannot. */
  append(pet: ParsedPet | InvalidPetError): string | undefined {
    if (pet instanceof InvalidPetError) return pet.message;
    const { pets, keys } = this.#tables;
    const { id, status, more } = pet;
    if (id <= pets.lastId) {
      return `id ${id} does not come after ${pets.lastId}: ids must be ascending`;
    }
    const { idempotencyKey: key } = more;
    if (key !== undefined && !(typeof key === 'string' && KEY_HASH.test(key))) {
      return 'idempotencyKey must be 32 hex digits';
    }
    const text = stringifyPet(pet);
    if (Buffer.byteLength(text) > MAX_PET_BYTES) return `A pet has at most ${MAX_PET_BYTES} bytes`;
    pets.append({ id, text, status });
    if (key !== undefined) keys.add(key, id, this.#keysEndAt);
    return undefined;
  }

  #appendText(text: string): boolean {
    const [pet, ...others] = petsIn(`[${text}]`, FILE_MEMBERS);
    return pet !== undefined && others.length === 0 && this.append(pet) === undefined;
  }
}

/** The members that only a pet in a data file has. */
export const FILE_MEMBERS: readonly string[] = ['idempotencyKey'];

const ID = '{"id":';
const LINE = /^(,?)(\{[^]*\})[ \t]*(,?)\r?\n$/;
const KEY_DIGITS = 32;
const KEY_HASH = /^[0-9a-f]{32}$/;
const BRACE = 0x7d;
const COMMA = 0x2c;
const ZERO = 0x30;

/**
 * By the last letter, in which they differ. A pet without a status has a digit or a colon there.
 */
const STATUSES: ReadonlyMap<number, PetStatus> = new Map(
  PET_STATUSES.map((status) => [status.charCodeAt(status.length - 1), status]),
);

/** A commit of a file, as its marks show it, or several that are proven and follow each other. */
export interface FoundCommits extends Range {
  readonly lines: number;
  /** True if its own mark and the one before it prove it. */
  readonly isProven: boolean;
}

/**
 * Finds all commits of a file by their marks, of which the last one may lack its line feed. Each is
 * compared with its mark; its pets are not read. There may be millions, so those that are proven
 * and follow each other are one entry.
 */
export async function findCommits(
  file: DiskFile,
  range: Range,
  memory: Memory,
): Promise<readonly FoundCommits[]> {
  const commits: FoundCommits[] = [];
  let { start } = range;
  let lines = 0;
  let crc = 0;
  await readItems(file, range, memory, WINDOW_BYTES, (bytes, position) => {
    const text = bytes.toString('latin1');
    let at = 0;
    const takeUpTo = (end: number): void => {
      crc = zlib.crc32(bytes.subarray(at, end), crc);
      for (let feed = text.indexOf('\n', at); feed !== -1 && feed < end; lines += 1) {
        feed = text.indexOf('\n', feed + 1);
      }
      at = end;
    };
    const isLast = position + bytes.length === range.end;
    for (const mark of text.matchAll(isLast ? LAST_MARK : MARK)) {
      takeUpTo(mark.index + 1);
      const blanks = Buffer.from(`${mark[1]!}\n`);
      const end = position + at + MARK_LINE_BYTES;
      const isProven = crc === crcOfMark(blanks);
      const last = commits.at(-1);
      if (isProven && last?.isProven === true) {
        commits[commits.length - 1] = { ...last, end, lines: last.lines + lines + 1 };
      } else {
        commits.push({ start, end, lines: lines + 1, isProven });
      }
      [start, lines, crc] = [end, 0, zlib.crc32(blanks, crcOfMark(blanks))];
      at = Math.min(at + MARK_LINE_BYTES, bytes.length);
    }
    // A line may end, and a mark begin, at the end of these bytes.
    takeUpTo(Math.max(at, bytes.length - LINE_BYTES - MARK_LINE_BYTES));
    return at;
  });
  return commits;
}

/**
 * 32 blanks at the end of a line. Only the last commit may lack its line feed, after a crash: then
 * nothing but parts of the file's end follow, and the line must be a whole pet, since a client may
 * have put a brace and blanks into a name.
 */
const LINE_END = String.raw`,"categoryId":-?\d+(?:,"status":"[a-z]+")?(?:,"idempotencyKey":"\w+")?\}`;
const MARK: RegExp = /\}([ \t]{32})\n/g;
const LAST_MARK: RegExp = new RegExp(
  String.raw`\}([ \t]{32})(?:\n|(?<=${LINE_END}[ \t]{32})(?=[\]\n\0]*$))`,
  'g',
);
