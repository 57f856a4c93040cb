/** The keys in force: what each opens, and whose use is counted over a change of keys. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { putInForce } from '../../src/api-keys/keys-in-force.ts';

const digestKey = (key: string): string =>
  `sha256:${createHash('sha256').update(key).digest('hex')}`;

test('A key for metrics only is not one of the keys for everything', () => {
  const { forAll, forMetrics } = putInForce([
    'all',
    { key: 'scraper', name: 'prometheus', only: 'metrics' },
    { key: digestKey('hashed'), name: 'grafana', only: 'metrics' },
  ]);
  // Twice, since the key of a digest is known once it was presented.
  for (let round = 0; round < 2; round += 1) {
    assert.equal(forAll('all')?.use.name, '');
    assert.equal(forMetrics('all')?.use.name, '');
    assert.equal(forMetrics('scraper')?.use.name, 'prometheus');
    assert.equal(forMetrics('hashed')?.use.name, 'grafana');
    for (const token of ['scraper', 'hashed', 'none']) assert.equal(forAll(token), undefined);
    assert.equal(forMetrics('none'), undefined);
  }
});

test('A name that stays in force keeps its counts, and a removed one loses them', () => {
  const before = putInForce([
    { key: 'a', name: 'shop' },
    { key: 'b', name: 'old' },
  ]);
  for (const use of before.uses) use.requests = 7;
  const after = putInForce(['d', { key: 'e' }, { key: 'c', name: 'shop' }], before.uses);
  // Keys without a name are counted together.
  for (const key of ['d', 'e']) assert.equal(after.forAll(key)?.use, after.uses[0]);
  assert.equal(after.forAll('a'), undefined);
  assert.equal(after.forAll('c')?.use.requests, 7);
  assert.deepEqual(
    after.uses.map(({ name, requests }) => [name, requests]),
    [
      ['', 0],
      ['shop', 7],
    ],
  );
  const again = putInForce([{ key: 'b', name: 'old' }], after.uses);
  assert.equal(again.uses[0]?.requests, 0);
});
