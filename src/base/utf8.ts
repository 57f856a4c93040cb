/** UTF-8: where a text is not. */

import { isUtf8 } from 'node:buffer';

/** The offset of the first byte that is not UTF-8; undefined when all are. */
export function findInvalidUtf8(bytes: Buffer): number | undefined {
  if (isUtf8(bytes)) return undefined;
  // Decoding puts U+FFFD in the place of what is broken, so the first difference is the place.
  const decoded = Buffer.from(bytes.toString('utf8'));
  let offset = 0;
  while (bytes[offset] === decoded[offset]) offset += 1;
  // U+FFFD itself begins with a byte that the broken character may have begun with.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  return offset;
}
