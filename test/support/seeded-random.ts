/** Random numbers that are the same on every run: mulberry32, by Tommy Ettinger (public domain). */

/** A function that gives an integer from 0 up to, but not including, its argument. */
export type Random = (bound: number) => number;

export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}
