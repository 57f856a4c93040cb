/**
 * How much the tests try that go through many cases: a sample (`npm test`), or all of them
 * (`npm test -- --all`, which scripts/test.mjs tells by TEST_EXTENT).
 */

export const isWhole: boolean = process.env['TEST_EXTENT'] === 'all';

/** Where tests choose at random: the day's number with --all, else always the same. */
export const SEED: number = Number(process.env['TEST_SEED'] ?? 1);

/** How many rounds: `whole` with --all, else `sample`. */
export function rounds(sample: number, whole: number): number {
  return isWhole ? whole : sample;
}
