/**
 * The fast path for a data file or a journal: one regular expression finds pets in canonical form,
 * exactly as pet-text.ts writes them, without creating an object for each.
 *
 * It works on the bytes as Latin-1, in which each byte is a character, so an index in the text is
 * an offset in the file. It stops at any other text, and at an escape in a name: pet-text.ts
 * then decides. A test checks on generated texts that it accepts only what pet-text.ts
 * would write.
 */

import { isDigit, ZERO } from '../../base/ascii.ts';
import { PET_STATUSES, type PetStatus } from '../../model/pet.ts';
import { MAX_PET_BYTES } from '../../model/pet-text.ts';

/** The byte ranges, ids and statuses of scanned pets, in order. */
export class ScannedPets {
  static readonly maxLength = 1024;

  length = 0;
  readonly starts: Uint32Array = new Uint32Array(ScannedPets.maxLength);
  /** Up to 15 digits each, so that they are exact; a greater id is left to pet-text.ts. */
  readonly ids: Float64Array = new Float64Array(ScannedPets.maxLength);
  readonly statuses: (PetStatus | undefined)[] = new Array(ScannedPets.maxLength).fill(undefined);
  /** Offsets after each pet. */
  readonly ends: Uint32Array = new Uint32Array(ScannedPets.maxLength);
}

/**
 * The bytes of a file, and a piece of them as Latin-1. A string of a whole megabyte would lie
 * outside the young part of V8's heap, and be freed late.
 */
export class ScannedBytes {
  readonly bytes: Buffer;
  /** The bytes `from` to `to`, one character for each. */
  text = '';
  from = 0;
  to = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Moves the piece, unless it has this range. */
  cover(from: number, to: number): void {
    if (from >= this.from && to <= this.to) return;
    this.from = from;
    this.to = Math.min(Math.max(to, from + PIECE_BYTES), this.bytes.length);
    this.text = this.bytes.toString('latin1', from, this.to);
  }
}

/** A longer pet is left to pet-text.ts, unless it is in a commit. */
const PIECE_BYTES: number = 8 << 10;

/** An integer of 18 digits is always an int64. */
const PET: RegExp = new RegExp(
  [
    String.raw`\{"id":[1-9][0-9]{0,14}`,
    String.raw`,"name":"[^"\\\x00-\x1f]*"`,
    ',"categoryId":(?:0|-?[1-9][0-9]{0,17})',
    `(?:,"status":"(?:${PET_STATUSES.join('|')})")?`,
    String.raw`\}`,
  ].join(''),
  'y',
);

const ID_OFFSET: number = '{"id":'.length;

/** By the last letter, in which they differ. A pet without a status has no letter there. */
const STATUSES: ReadonlyMap<number | undefined, PetStatus> = new Map(
  PET_STATUSES.map((status) => [status.charCodeAt(status.length - 1), status]),
);

/**
 * Adds pets in canonical form from `at` on to the scanned ones, as long as there is room and only
 * `separator` is between them. Returns the offset after the last one, or `at` if it finds none.
 */
export function scanPets(
  scanned: ScannedBytes,
  at: number,
  separator: string,
  run: ScannedPets,
): number {
  const { bytes } = scanned;
  let end = at;
  scanned.cover(at, at);
  while (run.length < ScannedPets.maxLength) {
    PET.lastIndex = at - scanned.from;
    if (!PET.test(scanned.text)) {
      // The pet may end after the piece.
      const to = Math.min(at + PIECE_BYTES, bytes.length);
      if (to <= scanned.to) break;
      scanned.cover(at, to);
      continue;
    }
    const petEnd = scanned.from + PET.lastIndex;
    if (petEnd - at > MAX_PET_BYTES) break;
    end = petEnd;
    let id = 0;
    for (let i = at + ID_OFFSET; isDigit(bytes[i]); i += 1) id = id * 10 + bytes[i]! - ZERO;
    run.starts[run.length] = at;
    run.ids[run.length] = id;
    run.statuses[run.length] = STATUSES.get(bytes[end - 3]);
    run.ends[run.length] = end;
    run.length += 1;
    scanned.cover(end, Math.min(end + separator.length, bytes.length));
    if (!scanned.text.startsWith(separator, end - scanned.from)) break;
    at = end + separator.length;
  }
  return end;
}
