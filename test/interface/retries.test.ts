/**
 * Retrying a create with an Idempotency-Key, over HTTP: each sentence of src/core/api/retries.md.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { hashEmbeddedKey, readKeyHash } from '../../src/core/api/operations.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { KEY, openService } from '../support/http/service.ts';
import { ask } from '../support/http/wire.ts';

const REX = '{"name":"Rex","categoryId":7,"status":"sold"}';
const REX_1 = '{"id":1,"name":"Rex","categoryId":7,"status":"sold"}';

const keyed = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });

/** What tells one answer from another: status, replay, and the pet or the code of the Error. */
async function told(response: Response): Promise<readonly [number, string | null, string]> {
  const text = await response.text();
  const { code = text } = JSON.parse(text) as { code?: string };
  return [response.status, response.headers.get('Idempotent-Replayed'), code];
}

const hash = (idempotencyKey?: string, keyDigest = 'aa'): string | undefined =>
  readKeyHash({ header: () => idempotencyKey, keyDigest });

/** Keys, and how they may be written in quotes. */
const QUOTED: readonly (readonly [one: string, other: string])[] = [
  ['k', '"k"'],
  ['a\\b', '"a\\\\b"'],
  ['a"b', '"a\\"b"'],
  ['x'.repeat(255), `"${'x'.repeat(255)}"`],
  ['!~', '"!~"'],
];

test('A key in quotes is the same key as without them, and each other key is another', () => {
  for (const [one, other] of QUOTED) assert.equal(hash(one), hash(other));
  const keys = [...QUOTED.map(([one]) => one), 'K', 'k2', 'k"ey"', 'k"'];
  assert.equal(new Set(keys.map((key) => hash(key))).size, keys.length);
  assert.equal(hash(), undefined);
});

test('What a store keeps of a key is the same in each version: stored keys are found again', () => {
  const keyDigest = createHash('sha256').update('secret').digest('hex');
  assert.equal(hash('k', keyDigest), '6ab649238d5e05aee11c50cd636f3274');
  assert.equal(hashEmbeddedKey('k'), 'db87308ee2da4ed8a46e00490fa50ef9');
});

test('An invalid key is 401 without an API key, and ignored on other requests', async (t) => {
  const service = await openService(t);
  const fields = ['Idempotency-Key: a', 'Idempotency-Key: a'];
  const without = await service.post(REX, { ...keyed('a b'), Authorization: '' });
  assert.deepEqual(await told(without), [401, null, 'unauthorized']);
  await service.post(REX);
  for (const path of ['/v1/pets', '/v1/pets/1', '/livez']) {
    assert.equal((await ask(service, `GET ${path}`, fields)).status, 200, path);
  }
});

test('An API key has its own idempotency keys, however it is configured', async (t) => {
  const digest = createHash('sha256').update(KEY).digest('hex');
  const service = await openService(t, { apiKeys: [`sha256:${digest}`, 'other'] });
  const send = async (key: string): Promise<unknown> =>
    told(await service.post(REX, { ...keyed('k'), Authorization: `Bearer ${key}` }));
  assert.deepEqual(await send(KEY), [201, null, REX_1]);
  assert.deepEqual(await send('other'), [201, null, REX_1.replace('1', '2')]);
  // Neither a digest nor its line is a key.
  for (const text of [digest, `sha256:${digest}`]) {
    assert.deepEqual(await send(text), [401, null, 'unauthorized']);
  }
  service.app.setApiKeys([KEY]);
  assert.deepEqual(await send(KEY), [201, 'true', REX_1]);
});

test('If the store does not support keys, a request or a call with a key is refused', async (t) => {
  const { createOnce: _, ...store } = createMemoryStore();
  const service = await openService(t, { store });
  const refused = await service.post(REX, keyed('k'));
  assert.deepEqual(await told(refused), [400, null, 'invalid_idempotency_key']);
  const creating = service.app.pets.create({ name: 'a', categoryId: 7n }, { idempotencyKey: 'k' });
  const error = new TypeError('The store remembers no keys: it has no createOnce');
  await assert.rejects(creating, error);
  assert.deepEqual(await told(await service.post(REX)), [201, null, REX_1]);
});
