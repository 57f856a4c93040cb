/**
 * Which cases the long tests try: a sample (`npm test`), all of them (`npm test -- --all`, for
 * which scripts/test.mjs sets TEST_EXTENT), or only the case that a failure has named. npm test
 * looks for `TEST_CASE='…'` in a failure, and prints the command that runs the case again.
 */

import { crc32 } from 'node:zlib';

export const isWhole: boolean = process.env['TEST_EXTENT'] === 'all';

/** The seed of random choices: the day's number with --all, otherwise always the same. */
export const SEED: number = Number(process.env['TEST_SEED'] ?? 1);

/** The only case to try: its name, or its seed. Undefined if no case was chosen. */
export const CASE: string | undefined = process.env['TEST_CASE'];

/** Returns false if another case was chosen. A case may be a part of this one, or this of it. */
export function isChosen(name: string): boolean {
  return CASE === undefined || isPartOf(name, CASE) || isPartOf(CASE, name);
}

/** `from request 5: kill -9` is a part of `from request 5`, and not of `from request`. */
function isPartOf(name: string, whole: string): boolean {
  return name.startsWith(whole) && /^(:|;|$)/.test(name.slice(whole.length));
}

/**
 * True for one in `oneIn` of the things with different keys, for all with --all, and for all of a
 * case that was chosen.
 */
export function isInSample(key: string, oneIn: number): boolean {
  return isWhole || CASE !== undefined || crc32(`${SEED} ${key}`) % oneIn === 0;
}

/** Returns what a failure says to name its case. A name has no single quote. */
export function caseOf(name: string | number): string {
  return `TEST_CASE='${name}'`;
}

/** Returns a number of rounds: `whole` with --all, otherwise `sample`. */
export function rounds(sample: number, whole: number): number {
  return isWhole ? whole : sample;
}
