/** The interface's part 4.3: GET /pets/{petId}, getPet, deprecated. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOf } from './client.ts';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();

test('GET /pets/{petId} is 200 and the Pet when the animal is found', async () => {
  for (const newPet of [
    { name: 'Rex', categoryId: 7 },
    { name: 'Kit', categoryId: 8, status: 'sold' },
  ]) {
    const { id, answer } = await client.add(newPet);
    const found = await client.get(`/pets/${id}`);
    assert.equal(found.status, 200);
    assert.equal(found.headers.get('Content-Type'), 'application/json');
    assert.equal(found.text, answer.text);
  }
});

test('petId has the format int64, and an animal that cannot be found is 404', async () => {
  const { id } = await client.add({ name: 'Rex', categoryId: 7 });
  for (const petId of [id + 1n, 0n, -1n, -id, 2n ** 63n - 1n, -(2n ** 63n), id + 2n ** 32n]) {
    const message = assertError(await client.get(`/pets/${petId}`), 'not_found');
    assert.ok(message.includes(`"${petId}"`), message);
  }
});

test('It is deprecated, says so and names the replacement, GET /pets', async () => {
  const { id } = await client.add({ name: 'Rex', categoryId: 7 });
  const { headers } = await client.get(`/pets/${id}`);
  assert.match(headers.get('Deprecation') ?? '', /^@[0-9]+$/);
  assert.equal(headers.get('Sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT');
  assert.equal(headers.get('Link'), '</v1/pets>; rel="successor-version"');
});

test('The replacement, GET /pets with the status filter, finds the same animal', async () => {
  const { id, answer } = await client.add({ name: 'Rex', categoryId: 7, status: 'pending' });
  const { text } = await client.listFrom(id, '&status=pending');
  assert.deepEqual(idsOf(text), [id]);
  assert.equal(text, `[${answer.text}]`);
});

test('GET /pets/{petId} is 401 when the credential is missing or invalid', async () => {
  const { id } = await client.add({ name: 'Rex', categoryId: 7 });
  for (const path of [`/pets/${id}`, '/pets/0', '/pets/no-id']) {
    for (const Authorization of ['', 'Bearer no']) {
      assertError(await client.send('GET', path, { Authorization }), 'unauthorized');
    }
  }
});
