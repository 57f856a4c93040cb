/** Damage of the smallest kind: one bit. */

/** Calls `check` once for each bit, with that bit flipped; the bytes are then as they were. */
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
