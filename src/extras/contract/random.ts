/** Pseudorandom numbers from a seed, so that a failure can be reproduced. */

/** Returns an integer from 0 to `bound` − 1. */
export type Random = (bound: number) => number;

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return (bound) => {
    // mulberry32: 32 bits of state are enough for some thousand cases.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}
