/**
 * The fast path for a commit's text: it finds the byte ranges of pets in canonical form, without
 * creating an object for each.
 *
 * decodeCommit decides about all other texts. What the scanner accepts, decodeCommit reads as the
 * same commit; a test checks that on generated texts. With the scanner, a start from a journal of a
 * million commits takes 10 % of the time.
 */

import { COMMA, isDigit, ZERO } from '../../base/ascii.ts';
import { startsWithAt } from '../../base/json.ts';
import { ScannedPets, scanPets, type ScannedBytes } from '../table/pet-scanner.ts';
import type { KeyEntry } from '../idempotency/key-table.ts';
import { COMMIT_END, COMMIT_MARK, decodeKeys } from './commit.ts';

const MARK: Buffer = Buffer.from(COMMIT_MARK);
const PETS: Buffer = Buffer.from(',"pets":[');
const END: Buffer = Buffer.from(COMMIT_END);
const BETWEEN: Buffer = Buffer.from([COMMA]);

/** The content of a commit, except for its pets. */
export interface ScannedCommit {
  readonly lastId: bigint;
  readonly keys: readonly KeyEntry[];
}

/**
 * Adds the pets of the commit from `start` to `end` to the scanned pets. Returns undefined, and
 * adds none, if the text is not canonical, does not follow `after`, or has too many pets.
 */
export function scanCommit(
  scanned: ScannedBytes,
  start: number,
  end: number,
  after: bigint,
  run: ScannedPets,
): ScannedCommit | undefined {
  const { bytes } = scanned;
  const first = run.length;
  if (!startsWithAt(bytes, start, MARK)) return undefined;
  const digits = start + MARK.length;
  let at = digits;
  let number = 0;
  while (isDigit(bytes[at])) number = number * 10 + (bytes[at++]! - ZERO);
  const isCanonical = at > digits && (bytes[digits] !== ZERO || at === digits + 1);
  if (!isCanonical || at - digits > 15 || number !== Number(after)) return undefined;
  if (!startsWithAt(bytes, at, PETS)) return undefined;
  const petsEnd = scanPets(scanned, at + PETS.length, BETWEEN, run);
  if (run.length > first && isInOrder(run, first, number)) {
    const lastId = BigInt(number + run.length - first);
    // Most commits have no keys, and need no string.
    const hasKeys = petsEnd + END.length !== end || !startsWithAt(bytes, petsEnd, END);
    const keys = hasKeys ? decodeKeys(bytes.toString('latin1', petsEnd, end), after, lastId) : [];
    if (keys !== undefined) return { lastId, keys };
  }
  run.length = first;
  return undefined;
}

/** True if the ids from `first` on are after + 1, after + 2 and so on. */
function isInOrder(run: ScannedPets, first: number, after: number): boolean {
  for (let i = first; i < run.length; i += 1) {
    if (run.ids[i] !== after + 1 + i - first) return false;
  }
  return true;
}
