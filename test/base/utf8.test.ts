/** UTF-8: the offset of the first byte that is not part of a character. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findInvalidUtf8 } from '../../src/base/utf8.ts';

const CASES: readonly (readonly [bytes: string, offset: number | undefined])[] = [
  ['', undefined],
  ['a\xc3\xa9\xf0\x9f\x90\xb6', undefined],
  ['\xff', 0],
  ['ab\x80', 2],
  ['a\xc3', 1],
  ['a\xc3b', 1],
  ['\xc3\xa9\xf0\x9f\x90', 2],
  // These begin as U+FFFD does, which replaces invalid bytes.
  ['a\xefb', 1],
  ['a\xef\xbfb', 1],
  ['\xef\xbf\xbd\xef\xbf', 3],
  ['\xed\xa0\x80', 0],
];

for (const [bytes, offset] of CASES) {
  test(`In the bytes ${JSON.stringify(bytes)} the first invalid one is at ${offset}`, () => {
    assert.equal(findInvalidUtf8(Buffer.from(bytes, 'latin1')), offset);
  });
}
