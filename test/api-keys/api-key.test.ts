/** API keys as they are configured: which texts can be a key or a name, and what is refused. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { apiKeyProblem, duplicateProblems, keyNameProblem } from '../../src/api-keys/api-key.ts';

const digestKey = (key: string): string =>
  `sha256:${createHash('sha256').update(key).digest('hex')}`;

test('A key is visible ASCII, or a whole digest', () => {
  const keys = ['a', 'k'.repeat(4096), '!~', 'a,b', '#k', 'sha256', 'xSHA256:', 'shop:', 'a:b'];
  for (const key of [...keys, digestKey('k')]) assert.equal(apiKeyProblem(key), undefined, key);
});

test('A message about a key does not quote the key', () => {
  const visible = 'a key must be of visible ASCII characters, without a space';
  const digits = 'sha256: must be followed by 64 hex digits';
  const cases: readonly (readonly [key: string, problem: string])[] = [
    ['', 'a key must not be empty'],
    [' ', visible],
    ['a b', visible],
    ['k'.repeat(4097), 'a key must not be longer than 4096 bytes'],
    ['a\n', visible],
    ['a\0', visible],
    ['schlüssel', visible],
    ['a\u2028', visible],
    ['sha256:', digits],
    ['sha256:abc', digits],
    ['SHA256:abc', 'sha256: is written in small letters'],
    [digestKey('k').slice(0, -1), digits],
    [`${digestKey('k')}0`, digits],
    [`${digestKey('k').slice(0, -1)}g`, digits],
  ];
  for (const [key, problem] of cases) assert.equal(apiKeyProblem(key), problem, key);
});

test('A name has 1 to 64 letters, digits, dots, underscores and hyphens, and is not sha256', () => {
  for (const name of ['a', 'shop-2026', 'A.b_c-9', 'n'.repeat(64), 'sha256x']) {
    assert.equal(keyNameProblem(name), undefined, name);
  }
  const characters = 'a name must be 1 to 64 letters, digits, dots, underscores and hyphens';
  for (const name of ['', 'n'.repeat(65), 'a b', 'a:b', 'ä', 'a"', 'a\n', 'a/b']) {
    assert.equal(keyNameProblem(name), characters, name);
  }
  for (const name of ['sha256', 'SHA256', 'Sha256']) {
    assert.equal(keyNameProblem(name), 'a name must not be sha256', name);
  }
});

test('A duplicate name or key is refused, and so is a key with its digest', () => {
  const named = (...options: readonly (string | { key: string; name: string })[]): string[] => [
    ...duplicateProblems(options.map((option, index) => ({ option, where: `key ${index}` }))),
  ];
  assert.deepEqual(named('a', 'b', { key: 'c', name: 'x' }, { key: 'd', name: 'X' }), []);
  assert.deepEqual(named('a', 'b', 'a'), ['key 2: the key is configured already (key 0)']);
  const digest = digestKey('a');
  const again = ['key 1: the key is configured already (key 0)'];
  assert.deepEqual(named('a', digest), again);
  assert.deepEqual(named({ key: digest, name: 'x' }, 'a'), again);
  assert.deepEqual(named(digest, `sha256:${digest.slice(7).toUpperCase()}`), again);
  assert.deepEqual(named({ key: 'a', name: 'x' }, { key: 'b', name: 'x' }), [
    'key 1: the name is configured already (key 0)',
  ]);
});
