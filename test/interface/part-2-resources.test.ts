/** The interface's part 2: resources and their fields. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsOf, idsOf, integerOf } from './client.ts';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();

for (const status of ['available', 'pending', 'sold']) {
  test(`PetStatus allows ${status}`, async () => {
    const { answer } = await client.add({ name: 'Rex', categoryId: 1, status });
    assert.equal(fieldsOf(answer)['status'], status);
  });
}

for (const status of ['Available', 'SOLD', '', 'available ', 'adopted', 'toString', 'sold\0']) {
  test(`PetStatus does not allow ${JSON.stringify(status)}`, async () => {
    const message = assertError(
      await client.post({ name: 'Rex', categoryId: 1, status }),
      'invalid_body',
    );
    assert.match(message, /status/);
  });
}

test('NewPet: name is required', async () => {
  assert.match(assertError(await client.post({ categoryId: 1 }), 'invalid_body'), /name/);
});

test('NewPet: categoryId is required', async () => {
  assert.match(assertError(await client.post({ name: 'Rex' }), 'invalid_body'), /categoryId/);
});

test('NewPet: status is not required', async () => {
  await client.add({ name: 'Rex', categoryId: 1 });
});

for (const value of [null, true, false, 0, 1.5, [], ['Rex'], {}, { name: 'Rex' }]) {
  test(`NewPet: name is a string and so not ${JSON.stringify(value)}`, async () => {
    const message = assertError(await client.post({ name: value, categoryId: 1 }), 'invalid_body');
    assert.match(message, /^name [^;]*$/);
  });
}

for (const value of [null, true, false, '', '1', 1.5, [], [1], {}]) {
  test(`NewPet: categoryId is an integer and so not ${JSON.stringify(value)}`, async () => {
    const answer = await client.post({ name: 'R', categoryId: value });
    assert.match(assertError(answer, 'invalid_body'), /^categoryId [^;]*$/);
  });
}

for (const value of [null, true, false, 0, 1, [], ['sold'], {}]) {
  test(`NewPet: status is a PetStatus and so not ${JSON.stringify(value)}`, async () => {
    const answer = await client.post({ name: 'R', categoryId: 1, status: value });
    assert.match(assertError(answer, 'invalid_body'), /^status [^;]*$/);
  });
}

for (const literal of ['-9223372036854775808', '-1', '0', '1', '9223372036854775807']) {
  test(`NewPet: categoryId has the format int64, so ${literal} is one`, async () => {
    const { answer, id } = await client.add(`{"name":"Rex","categoryId":${literal}}`);
    assert.equal(integerOf(answer.text, 'categoryId'), BigInt(literal));
    const found = await client.get(`/pets/${id}`);
    assert.equal(integerOf(found.text, 'categoryId'), BigInt(literal));
    const listed = await client.listFrom(id);
    assert.equal(integerOf(listed.text, 'categoryId'), BigInt(literal));
  });
}

test('Pet: has all fields of NewPet plus id', async () => {
  const newPet = { name: 'Rex', categoryId: 7, status: 'sold' };
  const { answer, id } = await client.add(newPet);
  assert.deepEqual(fieldsOf(answer), { id: Number(id), ...newPet });
});

test('Pet: id is a unique identifier assigned by the service on creation', async () => {
  const newPet = { name: 'Rex', categoryId: 1, id: 5 };
  const adding = Array.from({ length: 10 }, () => client.add(newPet));
  const ids = (await Promise.all(adding)).map(({ id }) => id);
  assert.equal(new Set(ids).size, 10);
});

test('A Pet in a response always carries id, name and categoryId', async () => {
  const { id, answer } = await client.add({ name: '', categoryId: 0 });
  const pet = { id: Number(id), name: '', categoryId: 0 };
  assert.deepEqual(fieldsOf(answer), pet);
  assert.deepEqual(fieldsOf(await client.get(`/pets/${id}`)), pet);
  assert.deepEqual(JSON.parse((await client.listFrom(id)).text), [pet]);
});

test('Pets: is a JSON array of Pet objects', async () => {
  const first = await client.add({ name: 'Rex', categoryId: 1 });
  const second = await client.add({ name: 'Kit', categoryId: 2, status: 'pending' });
  const { text } = await client.listFrom(first.id);
  assert.deepEqual(idsOf(text), [first.id, second.id]);
  assert.deepEqual(JSON.parse(text), [fieldsOf(first.answer), fieldsOf(second.answer)]);
});

test('Pets: is an array too when there are none', async () => {
  const { id } = await client.add({ name: 'Rex', categoryId: 1 });
  const { status, text } = await client.listFrom(id + 1n);
  assert.equal(status, 200);
  assert.equal(text, '[]');
});

test('Error: has code, message and status, the HTTP status code of the response', async () => {
  assertError(await client.post({}), 'invalid_body');
  assertError(await client.get('/pets/0'), 'not_found');
});
