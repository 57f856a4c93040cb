/** Damage of the smallest kind: one bit. */

/** Calls `check` with the bytes 8 times for each byte, one bit flipped each time, then as they were. */
export async function eachBitFlip(
  bytes: Buffer,
  check: (flipped: Buffer, offset: number) => void | Promise<void>,
): Promise<number> {
  let cases = 0;
  for (let offset = 0; offset < bytes.length; offset += 1) {
    for (let bit = 1; bit < 256; bit *= 2) {
      bytes[offset]! ^= bit;
      await check(bytes, offset);
      bytes[offset]! ^= bit;
      cases += 1;
    }
  }
  return cases;
}
