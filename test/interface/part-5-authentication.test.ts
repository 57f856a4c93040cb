/** The interface's part 5: authentication. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();
const NEW_PET = '{"name":"Rex","categoryId":1}';
const OPERATIONS = [
  { name: 'listPets', method: 'GET', path: '/pets', body: undefined },
  { name: 'createPet', method: 'POST', path: '/pets', body: NEW_PET },
  { name: 'getPet', method: 'GET', path: '/pets/1', body: undefined },
] as const;

for (const { name, method, path, body } of OPERATIONS) {
  test(`${name} requires a bearer credential`, async () => {
    const answer = await client.send(method, path, { Authorization: '' }, body);
    assertError(answer, 'unauthorized');
    assert.match(answer.headers.get('WWW-Authenticate') ?? '', /^Bearer /);
  });
}

test('The client passes its API key in the form Authorization: Bearer <API_KEY>', async () => {
  await client.add(NEW_PET);
  const headers = { Authorization: `Bearer ${client.key}` };
  for (const { method, path, body } of OPERATIONS) {
    const { status } = await client.send(method, path, headers, body);
    assert.equal(status, method === 'POST' ? 201 : 200);
  }
});

const { key } = client;
const INVALID: readonly string[] = [
  'Bearer wrong',
  `Bearer ${key}x`,
  `Bearer x${key}`,
  `Bearer ${key.slice(0, -1)}`,
  `Bearer ${key.toUpperCase()}`,
  `Bearer ${key} ${key}`,
  `Bearer ${key},${key}`,
  `Bearer "${key}"`,
  `Bearer${key}`,
  'Bearer',
  key,
  `Basic ${key}`,
  `Basic ${Buffer.from(`:${key}`).toString('base64')}`,
  `Token ${key}`,
  `Bearer Bearer ${key}`,
  'Bearer \u00ff\u00fe',
  `Bearer ${'x'.repeat(8000)}`,
];

for (const Authorization of INVALID) {
  const shown = JSON.stringify(Authorization.slice(0, 40));
  test(`An invalid credential is 401 with an Error body for all operations: ${shown}`, async () => {
    for (const { method, path, body } of OPERATIONS) {
      const answer = await client.send(method, path, { Authorization }, body);
      const message = assertError(answer, 'unauthorized');
      assert.ok(!message.includes(key), 'A message never holds a key');
    }
  });
}

test('A key in the query or in another header field is no credential', async () => {
  for (const query of [`access_token=${key}`, `api_key=${key}`]) {
    assertError(await client.send('GET', `/pets?${query}`, { Authorization: '' }), 'unauthorized');
  }
  const headers = { Authorization: '', 'X-Api-Key': key, Cookie: `Authorization=Bearer ${key}` };
  assertError(await client.send('GET', '/pets', headers), 'unauthorized');
});
