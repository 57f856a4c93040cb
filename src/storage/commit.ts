/**
 * A commit: one line of the journal, all creates that were made durable together.
 *
 *     3610a686 {"after":7,"pets":[{"id":8,…},{"id":9,…}]}␊
 *     └──────┘ CRC-32 of the JSON text, in hex
 *
 * `after` is the last id before the commit. It chains the commits to each other and to the
 * snapshot, so that a missing line, or a snapshot from another day, is noticed.
 */

import zlib from 'node:zlib';
import { COMMA } from '../base/ascii.ts';
import { startsWithAt } from '../base/json.ts';
import { encodePet, readPet, type EncodedNewPet, type PetText } from '../model/encoded-pet.ts';

export interface EncodedCommit {
  readonly line: Buffer;
  readonly pets: readonly CommittedPet[];
}

export type CommittedPet = Omit<PetText, 'end'>;

export interface Commit {
  readonly after: bigint;
  /** With the ids after + 1, after + 2 and so on; one pet at least. */
  readonly pets: readonly PetText[];
}

/** The line that adds these pets after the id `after`. */
export function encodeCommit(after: bigint, newPets: readonly EncodedNewPet[]): EncodedCommit {
  let id = after;
  const pets = newPets.map(({ tail, status }): CommittedPet => {
    id += 1n;
    return { id, pet: encodePet(id, tail), status };
  });
  const text = `{"after":${after},"pets":[${pets.map(({ pet }) => pet).join(',')}]}`;
  const line = Buffer.from(`${''.padEnd(CRC_LENGTH)} ${text}\n`, 'latin1');
  line.write(encodeCrc(line.subarray(TEXT_START, -1)), 'latin1');
  return { line, pets };
}

/**
 * The commit in a line without its line feed; undefined when the CRC or the form is wrong.
 *
 * A line that fails was not written by us, or not in full: which of them is for the journal to say.
 */
export function decodeCommit(line: Buffer): Commit | undefined {
  const text = line.subarray(TEXT_START);
  if (line.toString('latin1', 0, TEXT_START) !== `${encodeCrc(text)} `) return undefined;
  const match = /^\{"after":(0|[1-9][0-9]{0,18}),"pets":\[/.exec(text.toString('latin1', 0, 50));
  if (match === null) return undefined;
  const after = BigInt(match[1]!);
  const pets: PetText[] = [];
  let at = match[0].length;
  try {
    for (;;) {
      const pet = readPet(text, at);
      pets.push(pet);
      if (pet.id !== after + BigInt(pets.length)) return undefined;
      at = pet.end;
      if (text[at] !== COMMA) break;
      at += 1;
    }
  } catch {
    return undefined;
  }
  const isWhole = startsWithAt(text, at, SUFFIX) && at + SUFFIX.length === text.length;
  return isWhole ? { after, pets } : undefined;
}

/** True when another commit begins behind the line's own start: no pet's text looks like that. */
export function holdsLaterCommit(line: Buffer): boolean {
  return line.includes('{"after":', TEXT_START + 1);
}

const SUFFIX: Buffer = Buffer.from(']}');
const CRC_LENGTH = 8;
const TEXT_START: number = CRC_LENGTH + 1;

function encodeCrc(text: Buffer): string {
  return zlib.crc32(text).toString(16).padStart(CRC_LENGTH, '0');
}
