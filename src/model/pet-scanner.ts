/**
 * The fast way through a data file: a pet in exactly the form that encoded-pet.ts writes, checked byte
 * by byte without building anything.
 *
 * Whatever is not in that form makes `scanPet` answer false, and readPet of encoded-pet.ts then has
 * the say: the two accept the same pets, which a test checks on generated ones.
 */

import { skipString, startsWithAt } from '../base/json.ts';
import { PET_STATUSES, type PetStatus } from './pet.ts';

/** Where a scanned pet ends, and what the store must know of it. One object serves a whole file. */
export interface ScannedPet {
  /** Up to 2^53 - 1; a greater id is left to readPet. */
  id: number;
  status: PetStatus | undefined;
  /** The offset after the pet. */
  end: number;
}

/** Scans the pet at `at` into `pet`; false when there is none in the written form. */
export function scanPet(bytes: Buffer, at: number, pet: ScannedPet): boolean {
  if (!startsWithAt(bytes, at, HEAD)) return false;
  at += HEAD.length;
  let id = bytes[at]! - ZERO;
  if (!(id >= 1 && id <= 9)) return false;
  const idStart = at;
  for (at += 1; isDigit(bytes[at]); at += 1) id = id * 10 + (bytes[at]! - ZERO);
  if (at - idStart > MAX_ID_DIGITS || !startsWithAt(bytes, at, NAME)) return false;
  at = scanString(bytes, at + NAME.length);
  if (at === -1 || !startsWithAt(bytes, at, CATEGORY_ID)) return false;
  at = scanInteger(bytes, at + CATEGORY_ID.length);
  if (at === -1) return false;
  pet.id = id;
  pet.status = undefined;
  if (bytes[at] === COMMA) {
    const index = STATUS_TAILS.findIndex((tail) => startsWithAt(bytes, at, tail));
    if (index === -1) return false;
    pet.status = PET_STATUSES[index];
    at += STATUS_TAILS[index]!.length;
  } else if (bytes[at] === CLOSE_BRACE) {
    at += 1;
  } else {
    return false;
  }
  pet.end = at;
  return true;
}

const HEAD: Buffer = Buffer.from('{"id":');
const NAME: Buffer = Buffer.from(',"name":');
const CATEGORY_ID: Buffer = Buffer.from(',"categoryId":');
const STATUS_TAILS: readonly Buffer[] = PET_STATUSES.map((status) =>
  Buffer.from(`,"status":"${status}"}`),
);

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const CLOSE_BRACE = 0x7d;

/** So that an id stays exact as a number, and a category an int64 without a look at its value. */
const MAX_ID_DIGITS = 15;
const MAX_CATEGORY_DIGITS = 18;

function scanString(bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) return -1;
  for (let i = at + 1; ; i += 1) {
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    if (byte === undefined || byte < 0x20) return -1;
    // Names with an escape are few: the grammar's own reader takes them.
    if (byte === BACKSLASH) return skipEscapedString(bytes, at);
  }
}

function skipEscapedString(bytes: Buffer, at: number): number {
  try {
    return skipString(bytes, at);
  } catch {
    return -1;
  }
}

function scanInteger(bytes: Buffer, at: number): number {
  if (bytes[at] === ZERO) return at + 1;
  if (bytes[at] === MINUS) at += 1;
  const start = at;
  if (bytes[at] === ZERO) return -1;
  while (isDigit(bytes[at])) at += 1;
  return at > start && at - start <= MAX_CATEGORY_DIGITS ? at : -1;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39;
}
