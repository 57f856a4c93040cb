/** API keys as they are configured: which texts can be a key or a name, and what is refused. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { apiKeyProblem, apiKeyProblems, keyNameProblem } from '../../src/app/api-key.ts';

const DIGEST = `sha256:${createHash('sha256').update('k').digest('hex')}`;

const VISIBLE = 'must be of visible ASCII characters, without a space';
const NOT_HEX = 'must have 64 hex digits after sha256:';
const LIKE_A_DIGEST =
  'looks like a digest: write sha256: before its 64 hex digits, or give the digest of this key';
const CHARACTERS = 'must be 1 to 64 letters, digits, dots, underscores and hyphens';

/** Texts by the problem that each of them has as a key; none quotes its key. */
const KEYS: readonly (readonly [problem: string | undefined, keys: readonly string[]])[] = [
  [undefined, ['a', 'k'.repeat(4096), '!~', 'a,b', '#k', 'sha256', 'xSHA256:', 'a:b', DIGEST]],
  ['must not be empty', ['']],
  ['must not be longer than 4096 bytes', ['k'.repeat(4097)]],
  [LIKE_A_DIGEST, [DIGEST.slice(7), DIGEST.slice(7).toUpperCase()]],
  [VISIBLE, [' ', 'a b', 'a\n', 'a\0', 'schlüssel', 'a\u2028']],
  [NOT_HEX, ['sha256:', DIGEST.slice(0, -1), `${DIGEST}0`, `${DIGEST.slice(0, -1)}g`]],
  ['must have sha256: in small letters', ['SHA256:abc', DIGEST.replace('sha', 'Sha')]],
];

const NAMES: typeof KEYS = [
  [undefined, ['a', 'shop-2026', 'A.b_c-9', 'n'.repeat(64), 'sha256x']],
  [CHARACTERS, ['', 'n'.repeat(65), 'a b', 'a:b', 'ä', 'a"', 'a\n', 'a/b']],
  ['must not be sha256', ['sha256', 'SHA256', 'Sha256']],
];

for (const [what, rows, problemOf] of [
  ['key', KEYS, apiKeyProblem],
  ['name', NAMES, keyNameProblem],
] as const) {
  for (const [problem, texts] of rows) {
    test(`A text is a ${what}${problem === undefined ? '' : `, except if ${problem}`}`, () => {
      for (const text of texts) assert.equal(problemOf(text), problem, text);
    });
  }
}

test('A duplicate name or key is refused, and so is a key with its digest', () => {
  const problems = (...keys: readonly (string | { key: string; name: string })[]): unknown =>
    apiKeyProblems(keys, 'keys');
  assert.deepEqual(problems('a', 'b', { key: 'c', name: 'x' }, { key: 'd', name: 'X' }), []);
  const again = [{ option: 'keys[1]', sentence: 'repeats the key of', other: 'keys[0]' }];
  assert.deepEqual(problems('a', 'a'), again);
  assert.deepEqual(problems('k', DIGEST), again);
  assert.deepEqual(problems({ key: DIGEST, name: 'x' }, 'k'), again);
  assert.deepEqual(problems(DIGEST, `sha256:${DIGEST.slice(7).toUpperCase()}`), again);
  assert.deepEqual(problems({ key: 'a', name: 'x' }, { key: 'b', name: 'x' }), [
    { option: 'keys[1]', sentence: 'repeats the name of', other: 'keys[0]' },
  ]);
});
