/** Damage of the smallest kind: one bit. */

import { isWhole } from '../extent.ts';

/**
 * Calls `check` once for each bit, or in the sample for one bit in nine, with that bit
 * flipped. The bytes are then as they were.
 */
export async function eachBitFlip(
  bytes: Buffer,
  check: (flipped: Buffer, offset: number) => void | Promise<void>,
): Promise<number> {
  let cases = 0;
  for (let bit = 0; bit < 8 * bytes.length; bit += isWhole ? 1 : 9) {
    const [offset, mask] = [bit >> 3, 1 << (bit & 7)];
    bytes[offset]! ^= mask;
    await check(bytes, offset);
    bytes[offset]! ^= mask;
    cases += 1;
  }
  return cases;
}
