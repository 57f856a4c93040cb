/** The interface's part 9: versioning. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from './errors.ts';
import { openOwnService, openSubject } from './subject.ts';

const client = await openSubject();

test('The version is carried in the base address path as the segment /v1', async () => {
  assert.match(client.baseUrl, /\/v1$/);
  assert.equal((await client.get('/pets')).status, 200);
  for (const path of ['/pets', '/v2/pets', '/v1.0/pets', '/V1/pets', '/v01/pets', '/v1pets']) {
    assertError(await client.sendToOrigin('GET', path), 'unknown_path');
  }
});

test('GET /pets/{petId} is deprecated with a removal date of 5 December 2030', async () => {
  const { id } = await client.add({ name: 'Rex', categoryId: 1 });
  const { headers } = await client.get(`/pets/${id}`);
  assert.equal(Date.parse(headers.get('Sunset') ?? ''), Date.UTC(2030, 11, 5));
});

// With an injected clock.

test('Until its removal it continues to respond as described in 4.3', async (t) => {
  const now = (): number => Date.UTC(2030, 11, 5) - 1;
  const { client: late } = await openOwnService(t, { now });
  const { id, answer } = await late.add({ name: 'Rex', categoryId: 1 });
  const found = await late.get(`/pets/${id}`);
  assert.equal(found.status, 200);
  assert.equal(found.text, answer.text);
  assertError(await late.get('/pets/0'), 'not_found');
});
