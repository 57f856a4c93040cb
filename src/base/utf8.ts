/** UTF-8: finds the first invalid byte. */

import { isUtf8 } from 'node:buffer';

/** Returns the offset of the first byte that is not valid UTF-8, or undefined if all are. */
export function findInvalidUtf8(bytes: Buffer): number | undefined {
  if (isUtf8(bytes)) return undefined;
  // Decoding replaces each broken character with U+FFFD, so the first difference is the error.
  const decoded = Buffer.from(bytes.toString('utf8'));
  let offset = 0;
  while (bytes[offset] === decoded[offset]) offset += 1;
  // U+FFFD may begin with the same bytes as the broken character.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  return offset;
}
