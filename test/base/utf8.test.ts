/** UTF-8: the offset of the first byte that is not part of a character. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findInvalidUtf8 } from '../../src/base/utf8.ts';

test('The first invalid byte is found, also in what begins as U+FFFD does', () => {
  for (const [bytes, offset] of [
    ...([
      ['a\xc3\xa9\xf0\x9f\x90\xb6', undefined],
      ['\xff', 0],
      ['ab\x80', 2],
    ] as const),
    ...([
      ['a\xc3b', 1],
      ['\xc3\xa9\xf0\x9f\x90', 2],
      ['a\xefb', 1],
    ] as const),
    ...([
      ['a\xef\xbfb', 1],
      ['\xef\xbf\xbd\xef\xbf', 3],
      ['\xed\xa0\x80', 0],
    ] as const),
  ]) {
    assert.equal(findInvalidUtf8(Buffer.from(bytes, 'latin1')), offset);
  }
});
