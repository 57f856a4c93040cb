/** A data file as tests show it: its blanks by what they mean. */

import { FIRST_LINE_BYTES, wordOf } from '../../../src/core/store/format.ts';

/** Returns the text, with `··in use··` and `··mark··` for 32 blanks, and `\0*9` for zeros. */
export function shownFile(bytes: Buffer): string {
  const word = wordOf(bytes.subarray(0, FIRST_LINE_BYTES));
  const rest = word === undefined ? bytes : bytes.subarray(FIRST_LINE_BYTES);
  const lines = rest
    .toString()
    .replaceAll(/[ \t]{32}(?=\n|\0|$)/g, '··mark··')
    .replaceAll(/\0+/g, (zeros) => `\\0*${zeros.length}`);
  const end = lines.endsWith('\n') ? lines.slice(0, -1) : `${lines} (no line feed)`;
  return word === undefined ? end : `[··${word}··\n${end}`;
}

/** Returns in a few words what a file has. */
export function contentOf(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const word = wordOf(bytes.subarray(0, FIRST_LINE_BYTES));
  const pets = text.split('"name":').length - 1;
  const keys = text.split('"idempotencyKey":').length - 1;
  if (word === undefined && pets === 0) return `${bytes.length} bytes`;
  const counts = `${pets} pets${keys > 0 ? `, ${keys} keys` : ''}`;
  return word === undefined ? counts : `${word}, ${counts}`;
}
