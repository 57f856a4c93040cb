/** API keys as they are configured: which texts can be a key or a name, and what is refused. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { apiKeyProblem, duplicateProblems, keyNameProblem } from '../../src/api-keys/api-key.ts';

const DIGEST = `sha256:${createHash('sha256').update('k').digest('hex')}`;

const VISIBLE = 'a key must be of visible ASCII characters, without a space';
const NOT_HEX = 'sha256: must be followed by 64 hex digits';
const CHARACTERS = 'a name must be 1 to 64 letters, digits, dots, underscores and hyphens';

/** Texts by the problem that each of them has as a key; none quotes its key. */
const KEYS: readonly (readonly [problem: string | undefined, keys: readonly string[]])[] = [
  [undefined, ['a', 'k'.repeat(4096), '!~', 'a,b', '#k', 'sha256', 'xSHA256:', 'a:b', DIGEST]],
  ['a key must not be empty', ['']],
  ['a key must not be longer than 4096 bytes', ['k'.repeat(4097)]],
  [VISIBLE, [' ', 'a b', 'a\n', 'a\0', 'schlüssel', 'a\u2028']],
  [NOT_HEX, ['sha256:', DIGEST.slice(0, -1), `${DIGEST}0`, `${DIGEST.slice(0, -1)}g`]],
  ['sha256: is written in small letters', ['SHA256:abc', DIGEST.replace('sha', 'Sha')]],
];

const NAMES: typeof KEYS = [
  [undefined, ['a', 'shop-2026', 'A.b_c-9', 'n'.repeat(64), 'sha256x']],
  [CHARACTERS, ['', 'n'.repeat(65), 'a b', 'a:b', 'ä', 'a"', 'a\n', 'a/b']],
  ['a name must not be sha256', ['sha256', 'SHA256', 'Sha256']],
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
  const problems = (...options: readonly (string | { key: string; name: string })[]): unknown =>
    duplicateProblems(options.map((option, index) => ({ option, where: `key ${index}` })));
  assert.deepEqual(problems('a', 'b', { key: 'c', name: 'x' }, { key: 'd', name: 'X' }), []);
  const again = ['key 1: the key is configured already (key 0)'];
  assert.deepEqual(problems('a', 'a'), again);
  assert.deepEqual(problems('k', DIGEST), again);
  assert.deepEqual(problems({ key: DIGEST, name: 'x' }, 'k'), again);
  assert.deepEqual(problems(DIGEST, `sha256:${DIGEST.slice(7).toUpperCase()}`), again);
  assert.deepEqual(problems({ key: 'a', name: 'x' }, { key: 'b', name: 'x' }), [
    'key 1: the name is configured already (key 0)',
  ]);
});
