/** scripts/make-key.mjs: the key that it makes is accepted by the digest that it makes. */

import assert from 'node:assert/strict';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { apiKeyProblem } from '../../src/api-keys/api-key.ts';
import { putInForce } from '../../src/api-keys/keys-in-force.ts';

const SCRIPT = fileURLToPath(new URL('../../../scripts/make-key.mjs', import.meta.url));

test('A key and its digest line go together, and differ each time', () => {
  const keys = [makeKey(), makeKey()];
  for (const { key, digest } of keys) {
    assert.equal(apiKeyProblem(key), undefined);
    assert.equal(apiKeyProblem(digest), undefined);
    const { forAll } = putInForce([digest]);
    assert.equal(forAll(key)?.text, key);
    assert.equal(forAll(`${key}x`), undefined);
  }
  assert.notEqual(keys[0]!.key, keys[1]!.key);
});

test('With a name the line has the name; anything else is a mistake', () => {
  const digest = /^# .*\n(\S+)\n# .*\nshop-2026: sha256:([0-9a-f]{64})\n$/;
  const [, key = '', hex] = digest.exec(run('shop-2026').stdout) ?? [];
  assert.equal(createHash('sha256').update(key).digest('hex'), hex);
  for (const args of [['a b'], ['sha256'], [''], ['a', 'b'], ['--what'], ['--help', 'x']]) {
    const { status, stdout, stderr } = run(...args);
    assert.deepEqual([status, stdout], [2, ''], args.join());
    assert.match(stderr, /^Usage: petstore make-key \[NAME\]\n/);
  }
  assert.match(run('--help').stdout, /^Usage: petstore make-key \[NAME\]\n/);
});

function run(...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
}

function makeKey(): { key: string; digest: string } {
  const text = run().stdout;
  const match = /^# .*\n(\S+)\n# .*\n(\S+)\n$/.exec(text);
  assert.ok(match, text);
  return { key: match[1]!, digest: match[2]! };
}
