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
 * Finds pets in canonical form in a text from `at` on, as long as there is room and only
 * `separator` is between them: they replace those of the run. Returns the offset after the last
 * one, or `at` if there is none.
 */
export function scanPets(text: string, at: number, separator: string, run: ScannedPets): number {
  const { starts, ids, statuses, ends } = run;
  let length = 0;
  let end = at;
  for (let start = at; length < ScannedPets.maxLength; start = end + separator.length) {
    PET.lastIndex = start;
    if (!PET.test(text) || PET.lastIndex - start > MAX_PET_BYTES) break;
    end = PET.lastIndex;
    let id = 0;
    for (let i = start + ID_OFFSET, digit; isDigit((digit = text.charCodeAt(i))); i += 1) {
      id = id * 10 + digit - ZERO;
    }
    starts[length] = start;
    ids[length] = id;
    statuses[length] = STATUSES.get(text.charCodeAt(end - 3));
    ends[length] = end;
    length += 1;
    if (!text.startsWith(separator, end)) break;
  }
  run.length = length;
  return end;
}
