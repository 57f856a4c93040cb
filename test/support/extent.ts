/**
 * How many cases the long tests try: a sample (`npm test`), or all of them (`npm test -- --all`,
 * for which scripts/test.mjs sets TEST_EXTENT).
 */

export const isWhole: boolean = process.env['TEST_EXTENT'] === 'all';

/** The seed of random choices: the day's number with --all, otherwise always the same. */
export const SEED: number = Number(process.env['TEST_SEED'] ?? 1);

/** Returns a number of rounds: `whole` with --all, otherwise `sample`. */
export function rounds(sample: number, whole: number): number {
  return isWhole ? whole : sample;
}
