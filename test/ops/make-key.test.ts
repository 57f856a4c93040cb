/** scripts/make-key.mjs: the key that it makes is accepted by the digest that it makes. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createKeyring, keyProblem } from '../../src/http/keyring.ts';

const SCRIPT = fileURLToPath(new URL('../../../scripts/make-key.mjs', import.meta.url));

test('A key and its digest line go together, and differ each time', () => {
  const keys = [makeKey(), makeKey()];
  for (const { key, digest } of keys) {
    assert.equal(keyProblem(key), undefined);
    assert.equal(keyProblem(digest), undefined);
    assert.ok(createKeyring([digest]).accepts(key));
    assert.ok(!createKeyring([digest]).accepts(`${key}x`));
  }
  assert.notEqual(keys[0]!.key, keys[1]!.key);
});

function makeKey(): { key: string; digest: string } {
  const text = execFileSync(process.execPath, [SCRIPT]).toString();
  const match = /^# .*\n(\S+)\n# .*\n(\S+)\n$/.exec(text);
  assert.ok(match, text);
  return { key: match[1]!, digest: match[2]! };
}
