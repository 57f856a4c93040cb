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
  if (bytes[at] === CLOSE_BRACE) {
    pet.end = at + 1;
    return true;
  }
  for (let i = 0; i < STATUS_TAILS.length; i += 1) {
    const tail = STATUS_TAILS[i]!;
    if (!startsWithAt(bytes, at, tail)) continue;
    pet.status = PET_STATUSES[i];
    pet.end = at + tail.length;
    return true;
  }
  return false;
}

/** Pets that were scanned one behind the other. Filled anew by each `scanRun`. */
export class PetRun {
  static readonly maxLength = 1024;

  length = 0;
  readonly ids: Float64Array = new Float64Array(PetRun.maxLength);
  readonly statuses: (PetStatus | undefined)[] = new Array(PetRun.maxLength).fill(undefined);
  /** Offsets after each pet. */
  readonly ends: Uint32Array = new Uint32Array(PetRun.maxLength);
}

/** Scans pets in the written form from `at` on, as long as they have just `separator` between them. */
export function scanRun(bytes: Buffer, at: number, separator: Buffer, run: PetRun): void {
  run.length = 0;
  while (run.length < PetRun.maxLength && scanPet(bytes, at, scanned)) {
    run.ids[run.length] = scanned.id;
    run.statuses[run.length] = scanned.status;
    run.ends[run.length] = scanned.end;
    run.length += 1;
    if (!startsWithAt(bytes, scanned.end, separator)) return;
    at = scanned.end + separator.length;
  }
}

const scanned: ScannedPet = { id: 0, status: undefined, end: 0 };

const HEAD: Buffer = Buffer.from('{"id":');
const NAME: Buffer = Buffer.from(',"name":');
const CATEGORY_ID: Buffer = Buffer.from(',"categoryId":');
const STATUS_TAILS: readonly Buffer[] = PET_STATUSES.map((status) =>
  Buffer.from(`,"status":"${status}"}`),
);

const QUOTE = 0x22;
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
