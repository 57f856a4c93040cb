/** The interface's part 9: versioning. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();

test('The version is carried in the base address path as the segment /v1', async () => {
  assert.match(client.baseUrl, /\/v1$/);
  assert.equal((await client.get('/pets')).status, 200);
  for (const path of ['/pets', '/v2/pets', '/v1.0/pets', '/V1/pets', '/v01/pets', '/v1pets']) {
    assertError(await client.sendToOrigin('GET', path), 'unknown_path');
  }
});

test('The interface description version is 1.0.0', async () => {
  const answer = await client.sendToOrigin('GET', '/openapi.json', { Authorization: '' });
  const description = JSON.parse(answer.text) as { openapi: string; info: { version: string } };
  assert.match(description.openapi, /^3\.1\./);
  assert.equal(description.info.version, '1.0.0');
});

test('GET /pets/{petId} is deprecated with a removal date of 5 December 2030', async () => {
  const { id } = await client.add({ name: 'Rex', categoryId: 1 });
  const { headers } = await client.get(`/pets/${id}`);
  assert.equal(Date.parse(headers.get('Sunset') ?? ''), Date.UTC(2030, 11, 5));
});
