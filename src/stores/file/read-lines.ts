/**
 * Reads the lines of a data file, one pet each, through a window that moves over it.
 *
 * One regular expression scans a line, without an object for each pet. It works on the bytes as
 * Latin-1, in which each byte is a character, so an index in the text is an offset in the bytes. It
 * accepts only what pet-text.ts writes, without an escape in the name; pet-text.ts decides of any
 * other line. (An object for each line makes a start three times as long.)
 */

import zlib from 'node:zlib';
import type { Memory } from '../../base/system.ts';
import { PET_STATUSES, stringifyPet, type PetStatus } from '../../model/pet.ts';
import { InvalidPetError, MAX_PET_BYTES, petsIn, type ParsedPet } from '../../model/pet-text.ts';
import type { DiskFile } from './disk.ts';
import { crcOfMark, KEY_MEMBER, LINE_BYTES, MARK_LINE_BYTES, type Tables } from './format.ts';

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

/** Puts pets into the tables, in ascending order of id, from lines or from values. */
export class PetReader {
  readonly #tables: Tables;
  readonly #keysEndAt: number;
  /** The last id as a number: exact for those that the regular expression accepts. */
  #lastId: number;
  /** True if the next line must begin with a comma. */
  needsComma = false;
  /** Where the commit of the last mark begins, and the position behind that mark. */
  lastCommitAt = 0;
  markedEnd = 0;

  /** The idempotency keys are found until `keysEndAt`. */
  constructor(tables: Tables, keysEndAt: number) {
    this.#tables = tables;
    this.#keysEndAt = keysEndAt;
    this.#lastId = Number(tables.pets.lastId);
  }

  /** Reads the complete lines with which the bytes begin, and returns where they end. */
  readLines(bytes: Buffer, position: number): number {
    const text = bytes.toString('latin1');
    for (let at = 0; ;) {
      LINE.lastIndex = at;
      const isScanned = LINE.test(text);
      const next = isScanned ? LINE.lastIndex : text.indexOf('\n', at) + 1;
      if (next === 0) return at;
      const close = text.lastIndexOf('}', next);
      const hasComma = text.charCodeAt(at) === COMMA;
      const first = hasComma ? at + 1 : at;
      if (hasComma !== this.needsComma) return at;
      const isRead = isScanned
        ? this.#appendScanned(bytes, text, first, close)
        : close > first && this.#appendOther(bytes.toString('utf8', first, close + 1));
      if (!isRead) return at;
      this.needsComma = !text.slice(close, next).includes(',');
      if (next - close === MARK_LINE_BYTES + 1) {
        this.lastCommitAt = this.markedEnd;
        this.markedEnd = position + next;
      }
      at = next;
    }
  }

  /** Adds a pet, or returns why it cannot. */
  append(pet: ParsedPet | InvalidPetError): string | undefined {
    if (pet instanceof InvalidPetError) return pet.message;
    const { pets } = this.#tables;
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
    if (key !== undefined) this.#addKey(key, id);
    this.#lastId = Number(id);
    return undefined;
  }

  /** Adds the pet whose text is from `first` to the brace at `close`. */
  #appendScanned(bytes: Buffer, text: string, first: number, close: number): boolean {
    let id = 0;
    for (let i = first + ID_OFFSET; text.charCodeAt(i) !== COMMA; i += 1) {
      id = id * 10 + text.charCodeAt(i) - ZERO;
    }
    if (id <= this.#lastId) return false;
    const keyAt = close - KEY_MEMBER.length - KEY_DIGITS - 1;
    const hasKey = text.startsWith(KEY_MEMBER, keyAt);
    const end = hasKey ? keyAt : close;
    const status = STATUSES.get(text.charCodeAt(end - 2));
    this.#tables.pets.appendScanned(bytes, first, end, id, status);
    if (hasKey) this.#addKey(text.slice(close - KEY_DIGITS - 1, close - 1), BigInt(id));
    this.#lastId = id;
    return true;
  }

  #appendOther(text: string): boolean {
    const [pet, ...others] = petsIn(`[${text}]`, FILE_MEMBERS);
    return pet !== undefined && others.length === 0 && this.append(pet) === undefined;
  }

  #addKey(key: string, id: bigint): void {
    this.#tables.keys.add(key, id, this.#keysEndAt);
  }
}

/** The members that only a pet in a data file has. */
export const FILE_MEMBERS: readonly string[] = ['idempotencyKey'];

const KEY_DIGITS = 32;
const KEY_HASH = /^[0-9a-f]{32}$/;

/** With ids of up to 15 digits, which are exact as numbers; 18 digits are always an int64. */
const LINE: RegExp = new RegExp(
  [
    String.raw`,?\{"id":[1-9][0-9]{0,14}`,
    String.raw`,"name":"[^"\\\x00-\x1f]*"`,
    ',"categoryId":(?:0|-?[1-9][0-9]{0,17})',
    `(?:,"status":"(?:${PET_STATUSES.join('|')})")?`,
    `(?:${KEY_MEMBER}[0-9a-f]{${KEY_DIGITS}}")?`,
    String.raw`\}[ \t]*,?\n`,
  ].join(''),
  'y',
);

const ID_OFFSET: number = '{"id":'.length;
const COMMA = 0x2c;
const ZERO = 0x30;

/** By the last letter, in which they differ. A pet without a status has a digit or a colon there. */
const STATUSES: ReadonlyMap<number, PetStatus> = new Map(
  PET_STATUSES.map((status) => [status.charCodeAt(status.length - 1), status]),
);

/** A commit of a file, as its marks show it. */
export interface FoundCommit extends Range {
  readonly lines: number;
  /** True if its own mark and the one before it prove it. */
  readonly isProven: boolean;
}

/**
 * Finds all commits of a file by their marks, of which the last one may lack its line feed. Each is
 * compared with its mark; its pets are not read.
 */
export async function findCommits(
  file: DiskFile,
  range: Range,
  memory: Memory,
): Promise<readonly FoundCommit[]> {
  const commits: FoundCommit[] = [];
  let { start } = range;
  let lines = 0;
  let crc = 0;
  await readItems(file, range, memory, WINDOW_BYTES, (bytes, position) => {
    const text = bytes.toString('latin1');
    const isLast = position + bytes.length === range.end;
    const mark = (isLast ? LAST_MARK : MARK).exec(text);
    // A mark may begin at the end of these bytes.
    const length = mark === null ? Math.max(0, bytes.length - MARK_LINE_BYTES) : mark.index + 1;
    const before = bytes.subarray(0, length);
    crc = zlib.crc32(before, crc);
    lines += text.slice(0, length).split('\n').length - 1;
    if (mark === null) return length;
    const blanks = Buffer.from(`${mark[1]!}\n`);
    const end = position + length + MARK_LINE_BYTES;
    commits.push({ start, end, lines: lines + 1, isProven: crc === crcOfMark(blanks) });
    [start, lines, crc] = [end, 0, zlib.crc32(blanks, crcOfMark(blanks))];
    return Math.min(length + MARK_LINE_BYTES, bytes.length);
  });
  return commits;
}

const MARK: RegExp = /\}([ \t]{32})[\n\0]/;
const LAST_MARK: RegExp = /\}([ \t]{32})(?:[\n\0]|$)/;
