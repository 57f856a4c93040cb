/** The interface's part 3: states and transitions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsOf, idsOf } from './client.ts';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();
const STATES = ['available', 'pending', 'sold'];

test('The status can be set when an animal is created', async () => {
  for (const status of STATES) {
    const { id, answer } = await client.add({ name: status, categoryId: 1, status });
    assert.equal(fieldsOf(answer)['status'], status);
    assert.equal(fieldsOf(await client.get(`/pets/${id}`))['status'], status);
  }
});

test('The status can be used as a filter when listing', async () => {
  const added: bigint[] = [];
  for (const status of [...STATES, ...STATES]) {
    added.push((await client.add({ name: status, categoryId: 1, status })).id);
  }
  for (const [index, status] of STATES.entries()) {
    const { text } = await client.listFrom(added[0]!, `&status=${status}`);
    assert.deepEqual(idsOf(text), [added[index], added[index + 3]]);
    const pets = JSON.parse(text) as { status: string }[];
    assert.deepEqual(
      pets.map((pet) => pet.status),
      [status, status],
    );
  }
});

for (const method of ['PUT', 'PATCH', 'DELETE']) {
  test(`Transitions are not shown, so ${method} changes no animal`, async () => {
    const { id, answer } = await client.add({ name: 'Rex', categoryId: 1, status: 'available' });
    const body = JSON.stringify({ name: 'Rex', categoryId: 1, status: 'sold' });
    const refused = await client.send(method, `/pets/${id}`, {}, body);
    assertError(refused, 'method_not_allowed');
    assert.equal((await client.get(`/pets/${id}`)).text, answer.text);
  });
}
