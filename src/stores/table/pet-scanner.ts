/**
 * The fast path for a data file or a journal: it finds pets in canonical form, exactly as
 * pet-text.ts writes them, and checks them in place without creating an object for each.
 *
 * It stops at any other text, and at an escape in a name: parsePetAt of pet-text.ts then decides. A
 * test checks on generated texts that it accepts only what pet-text.ts would write.
 */

import * as ascii from '../../base/ascii.ts';
import { startsWithAt } from '../../base/json.ts';
import type { PetStatus } from '../../model/pet.ts';
import { MAX_PET_BYTES } from '../../model/pet-text.ts';

/** The byte ranges, ids and statuses of scanned pets, in order. */
export class ScannedPets {
  static readonly maxLength = 1024;

  length = 0;
  readonly starts: Uint32Array = new Uint32Array(ScannedPets.maxLength);
  /** Up to 15 digits each, so that they are exact; a greater id is left to parsePetAt. */
  readonly ids: Float64Array = new Float64Array(ScannedPets.maxLength);
  readonly statuses: (PetStatus | undefined)[] = new Array(ScannedPets.maxLength).fill(undefined);
  /** Offsets after each pet. */
  readonly ends: Uint32Array = new Uint32Array(ScannedPets.maxLength);
}

/** The bytes of a file, ready to be scanned. */
export interface ScannedBytes {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function scannedBytes(bytes: Buffer): ScannedBytes {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
}

/**
 * Adds pets in canonical form from `at` on to the scanned ones, as long as there is room and only
 * `separator` is between them. Returns the offset after the last one, or `at` if it finds none. It
 * leaves a pet to parsePetAt unless 64 bytes follow its name.
 */
export function scanPets(
  { bytes, view }: ScannedBytes,
  at: number,
  separator: Buffer,
  run: ScannedPets,
): number {
  let end = at;
  while (run.length < ScannedPets.maxLength && scanPet(bytes, view, at, run)) {
    end = run.ends[run.length - 1]!;
    if (!startsWithAt(bytes, end, separator)) break;
    at = end + separator.length;
  }
  return end;
}

/*
 * The texts that are the same in every pet, as words of four characters. The number in a constant's
 * name is the offset of its four characters; the last word may overlap the one before. Comparing
 * words instead of bytes shortened the scan of 1M pets from 120 to 50 ms, but only with constants:
 * words from a table were no faster.
 */
const ID_0: number = word('{"id');
const ID_2: number = word('id":');
const NAME_0: number = word(',"na');
const NAME_4: number = word('me":');
const CATEGORY_0: number = word(',"ca');
const CATEGORY_4: number = word('tego');
const CATEGORY_8: number = word('ryId');
const CATEGORY_10: number = word('Id":');
const STATUS_0: number = word(',"st');
const STATUS_4: number = word('atus');
const STATUS_7: number = word('s":"');
const AVAILABLE_0: number = word('avai');
const AVAILABLE_4: number = word('labl');
const AVAILABLE_7: number = word('le"}');
const PENDING_0: number = word('pend');
const PENDING_4: number = word('ing"');
const PENDING_5: number = word('ng"}');
const SOLD_0: number = word('sold');
const SOLD_2: number = word('ld"}');

function word(characters: string): number {
  return Buffer.from(characters).readInt32LE(0);
}

const { BACKSLASH, CLOSE_BRACE, MINUS, QUOTE, SPACE, ZERO, isDigit } = ascii;

/**
 * More bytes than a pet has before its name, and more than it has after it. One check of the length
 * instead of one for each word saved another 40 ms.
 */
const MARGIN = 64;

/** An id of this many digits is exact as a number; a category of this many is always an int64. */
const MAX_ID_DIGITS = 15;
const MAX_CATEGORY_DIGITS = 18;

/** Adds the pet at `at` to the scanned ones. Returns false if there is none in canonical form. */
function scanPet(bytes: Buffer, view: DataView, at: number, run: ScannedPets): boolean {
  if (at + MARGIN > bytes.length) return false;
  const start = at;
  if (view.getInt32(at, true) !== ID_0 || view.getInt32(at + 2, true) !== ID_2) return false;
  at += '{"id":'.length;
  let id = bytes[at]! - ZERO;
  if (!(id >= 1 && id <= 9)) return false;
  const idStart = at;
  for (at += 1; isDigit(bytes[at]); at += 1) id = id * 10 + (bytes[at]! - ZERO);
  if (at - idStart > MAX_ID_DIGITS || !isNameAt(view, at)) return false;
  at = scanString(bytes, at + ',"name":'.length);
  if (at === -1 || at + MARGIN > bytes.length || !isCategoryAt(view, at)) return false;
  at = scanInteger(bytes, at + ',"categoryId":'.length);
  if (at === -1) return false;
  let status: PetStatus | undefined;
  if (bytes[at] !== CLOSE_BRACE) {
    status = scanStatus(view, at);
    if (status === undefined) return false;
    at += ',"status":""'.length + status.length;
  }
  if (at + 1 - start > MAX_PET_BYTES) return false;
  run.starts[run.length] = start;
  run.ids[run.length] = id;
  run.statuses[run.length] = status;
  run.ends[run.length] = at + 1;
  run.length += 1;
  return true;
}

function isNameAt(view: DataView, at: number): boolean {
  return view.getInt32(at, true) === NAME_0 && view.getInt32(at + 4, true) === NAME_4;
}

function isCategoryAt(view: DataView, at: number): boolean {
  return (
    view.getInt32(at, true) === CATEGORY_0 &&
    view.getInt32(at + 4, true) === CATEGORY_4 &&
    view.getInt32(at + 8, true) === CATEGORY_8 &&
    view.getInt32(at + 10, true) === CATEGORY_10
  );
}

/** Returns the status in a field at `at`, if only the closing brace comes after it. */
function scanStatus(view: DataView, at: number): PetStatus | undefined {
  if (view.getInt32(at, true) !== STATUS_0) return undefined;
  if (view.getInt32(at + 4, true) !== STATUS_4) return undefined;
  if (view.getInt32(at + 7, true) !== STATUS_7) return undefined;
  at += ',"status":"'.length;
  switch (view.getInt32(at, true)) {
    case AVAILABLE_0:
      if (view.getInt32(at + 4, true) !== AVAILABLE_4) return undefined;
      return view.getInt32(at + 7, true) === AVAILABLE_7 ? 'available' : undefined;
    case PENDING_0:
      if (view.getInt32(at + 4, true) !== PENDING_4) return undefined;
      return view.getInt32(at + 5, true) === PENDING_5 ? 'pending' : undefined;
    case SOLD_0:
      return view.getInt32(at + 2, true) === SOLD_2 ? 'sold' : undefined;
    default:
      return undefined;
  }
}

/** Returns the offset after the string, or -1. */
function scanString(bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) return -1;
  for (let i = at + 1; ; i += 1) {
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    if (byte === undefined || byte < SPACE) return -1;
    // Few names have an escape: parsePetAt reads them.
    if (byte === BACKSLASH) return -1;
  }
}

/** Returns the offset after the integer, or -1. */
function scanInteger(bytes: Buffer, at: number): number {
  if (bytes[at] === ZERO) return at + 1;
  if (bytes[at] === MINUS) at += 1;
  const start = at;
  if (bytes[at] === ZERO) return -1;
  while (isDigit(bytes[at])) at += 1;
  return at > start && at - start <= MAX_CATEGORY_DIGITS ? at : -1;
}
