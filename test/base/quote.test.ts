/** Quoting: short texts whole, long ones cut. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quote } from '../../src/base/quote.ts';

const CASES: readonly (readonly [text: string, shown: string])[] = [
  ['', ''],
  ['a"\n\ud800', 'a\\"\\n\\ud800'],
  ['x'.repeat(60), 'x'.repeat(60)],
  ['x'.repeat(61), `${'x'.repeat(60)}…`],
  // No surrogate pair is split.
  [`${'x'.repeat(59)}🐶y`, `${'x'.repeat(59)}…`],
  [`${'x'.repeat(58)}🐶y`, `${'x'.repeat(58)}🐶…`],
];

test('A text of up to 60 characters is quoted whole, and a longer one is cut', () => {
  for (const [text, shown] of CASES) assert.equal(quote(text), `"${shown}"`);
});
