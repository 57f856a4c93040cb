/** Quoting: short texts whole, long ones cut. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quote } from '../../src/base/quote.ts';

test('A text of up to 60 characters is quoted whole', () => {
  assert.equal(quote(''), '""');
  assert.equal(quote('a"\n\ud800'), '"a\\"\\n\\ud800"');
  assert.equal(quote('x'.repeat(60)), `"${'x'.repeat(60)}"`);
});

test('A longer text is truncated, with an ellipsis', () => {
  assert.equal(quote('x'.repeat(61)), `"${'x'.repeat(60)}…"`);
});

test('A truncation splits no surrogate pair', () => {
  assert.equal(quote(`${'x'.repeat(59)}🐶y`), `"${'x'.repeat(59)}…"`);
  assert.equal(quote(`${'x'.repeat(58)}🐶y`), `"${'x'.repeat(58)}🐶…"`);
  assert.equal(quote('🐶'.repeat(31)), `"${'🐶'.repeat(30)}…"`);
  assert.equal(quote(`x${'🐶'.repeat(31)}`), `"x${'🐶'.repeat(29)}…"`);
});
