/**
 * Reads a JSON array of pets in any layout and of any size, as release 1 or 2, a program or an
 * editor has written it: one pet after the other, each found by its braces.
 */

import { isUtf8 } from 'node:buffer';
import zlib from 'node:zlib';
import { stringifyPet } from '../pets/pet.ts';
import { InvalidPetError, MAX_PET_BYTES, parseFilePet, type FilePet } from '../pets/pet-text.ts';
import { readItems, type DiskFile } from './disk.ts';
import { blanksOf } from './format.ts';
import { KEY_LIFETIME_MS } from './idempotency-keys.ts';
import { emptyTables, type Tables, type TablesDeps } from './tables.ts';

/** A file, and what it takes to read it. */
export interface Source {
  readonly path: string;
  readonly file: DiskFile;
  readonly deps: TablesDeps;
  readonly sizeBytes: number;
}

/** A file is not what the store wrote. The store refuses it, and does not change it. */
export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';

  constructor(path: string, damage: string, advice: string) {
    super(`${path} is damaged: ${damage}. It was left as it is. ${advice}`);
  }
}

export const RESTORE = 'Put it back from a backup, or move it away to start without pets';
const MAX_MISTAKES = 20;

/** Reads an array that begins like this. Rejects with all that is wrong. */
export async function readArray(source: Source, start: Buffer, givesIds: boolean): Promise<Tables> {
  const { path, file, deps, sizeBytes } = source;
  if (start.length === 0) throw new DamagedFileError(path, 'it was cut, or a copy failed', RESTORE);
  if (!/^[ \t\r\n]*(\[|$)/.test(start.toString('latin1'))) {
    throw new Error(
      `${path} is not a petstore data file, which is a JSON array of pets in UTF-8 without a ` +
        'byte order mark. It was left as it is. Name another file, or put it back from a backup',
    );
  }
  const tables = emptyTables(deps);
  const keysEndAt = deps.clock.now() + KEY_LIFETIME_MS;
  const mistakes: string[] = [];
  let mistakeCount = 0;
  const report = (mistake: string): void => {
    mistakeCount += 1;
    if (mistakeCount <= MAX_MISTAKES) mistakes.push(mistake);
  };
  // By the first pet that is valid; undefined before it.
  let lackIds = givesIds ? undefined : false;
  let count = 0;
  let crc = 0;
  const add = (text: string): string | undefined => {
    const pet = parseFilePet(text, lackIds === false ? undefined : tables.pets.lastId + 1n);
    lackIds ??= !pet.hasId;
    return lackIds && pet.hasId
      ? 'it has an id, and a pet before it has none'
      : addPet(tables, keysEndAt, pet);
  };
  const read = (bytes: Buffer, position: number): number => {
    const text = bytes.toString('latin1');
    for (let at = 0; ;) {
      const before = count === 0 ? BEFORE_FIRST : BEFORE_NEXT;
      before.lastIndex = at;
      const itemAt = before.test(text) ? before.lastIndex : bytes.length;
      const end = endOfObject(bytes, itemAt);
      if (end === undefined) {
        crc = zlib.crc32(bytes.subarray(0, at), crc);
        return at;
      }
      const item = bytes.subarray(itemAt, end);
      assertUtf8(path, item, position + itemAt);
      count += 1;
      const mistake = mistakeOf(() => add(item.toString()));
      if (mistake !== undefined) report(`pet ${count}: ${mistake}`);
      at = end;
    }
  };
  const unread = await readItems(file, 0, sizeBytes, read);
  const end = count === 0 ? WITHOUT_PETS : BEHIND_PETS;
  if (!unread.atEnd || !end.test(unread.bytes.toString('latin1'))) {
    assertUtf8(path, unread.bytes, unread.position);
    const behind = count === 0 ? '' : `behind pet ${count}, `;
    const guess = 'a comma, a quote or a bracket may be missing';
    const nothing = 'neither a pet nor the end of the array follows';
    report(`${behind}at byte ${unread.position} ${nothing}: ${guess}`);
  }
  if (mistakeCount > 0) {
    const more = mistakeCount - mistakes.length;
    if (more > 0) mistakes.push(`and ${more} more`);
    const text = mistakes.join('\n  ');
    throw new Error(`${path} is not a list of pets. It was left as it is:\n  ${text}`);
  }
  assertOldChecksum(path, unread.bytes, crc);
  return tables;
}

const BEFORE_FIRST = /[ \t\r\n]*\[[ \t\r\n]*(?=\{)/y;
const BEFORE_NEXT = /[ \t\r\n]*,[ \t\r\n]*(?=\{)/y;
const WITHOUT_PETS = /^[ \t\r\n]*\[[ \t\r\n]*\][ \t\r\n]*$/;
const BEHIND_PETS = /^[ \t\r\n]*\][ \t\r\n]*$/;

/** Returns the end of the JSON object whose brace is at `start`, if the bytes have it. */
function endOfObject(bytes: Buffer, start: number): number | undefined {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) isInString = !isInString;
    else if (byte === OPENING_BRACE && !isInString) depth += 1;
    else if (byte === CLOSING_BRACE && !isInString) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return undefined;
}

const [OPENING_BRACE, CLOSING_BRACE, QUOTE, BACKSLASH] = Buffer.from('{}"\\');

/** Adds a pet, or returns why it cannot. */
function addPet({ pets, keys }: Tables, keysEndAt: number, pet: FilePet): string | undefined {
  const { id, idempotencyKey: key } = pet;
  if (id <= pets.lastId) {
    return `id ${id} does not come after ${pets.lastId}: ids must be ascending`;
  }
  if (key !== undefined && !(typeof key === 'string' && KEY_HASH.test(key))) {
    return 'idempotencyKey must be 32 hex digits';
  }
  const text = stringifyPet(pet);
  if (Buffer.byteLength(text) > MAX_PET_BYTES) return `A pet has at most ${MAX_PET_BYTES} bytes`;
  pets.append({ id, text });
  if (key !== undefined) keys.add(key, id, keysEndAt);
  return undefined;
}

const KEY_HASH = /^[0-9a-f]{32}$/;

/** Returns what is wrong with a pet. */
function mistakeOf(add: () => string | undefined): string | undefined {
  try {
    return add();
  } catch (error) {
    if (error instanceof InvalidPetError) return error.message;
    if (error instanceof SyntaxError) return `it is not valid JSON: ${error.message}`;
    throw error;
  }
}

/** Release 2 wrote the CRC of the array as 32 blanks behind it: throws if it does not fit. */
function assertOldChecksum(path: string, bytes: Buffer, crcBefore: number): void {
  const end = bytes.lastIndexOf(']') + 1;
  const after = bytes.toString('latin1', end);
  // An editor leaves no such blanks behind a bracket.
  if (!/\t| {8}/.test(after)) return;
  if (after === `\n${blanksOf(zlib.crc32(bytes.subarray(0, end), crcBefore))}\n`) return;
  throw new DamagedFileError(
    path,
    'its content does not match the checksum behind its closing bracket',
    'If it was changed on purpose, remove the blanks behind the closing bracket',
  );
}

/** Throws DamagedFileError if the bytes, which are at this position of the file, are not UTF-8. */
function assertUtf8(path: string, bytes: Buffer, position: number): void {
  if (isUtf8(bytes)) return;
  // Decoding replaces each broken character with U+FFFD, so the first difference is the error.
  const decoded = Buffer.from(bytes.toString('utf8'));
  let offset = 0;
  while (bytes[offset] === decoded[offset]) offset += 1;
  // U+FFFD may begin with the same bytes as the broken character.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  throw new DamagedFileError(path, `byte ${position + offset} is not UTF-8`, RESTORE);
}
