/** The interface's part 4.2: POST /pets, createPet. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsOf, idsOf } from './client.ts';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();
const REX = { name: 'Rex', categoryId: 7, status: 'available' };

test('POST /pets adds an animal: 201 and a Pet that includes the assigned id', async () => {
  const { id, answer } = await client.add(REX);
  assert.equal(answer.headers.get('Content-Type'), 'application/json');
  assert.deepEqual(fieldsOf(answer), { id: Number(id), ...REX });
  assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
});

test('The same animal added twice is two animals', async () => {
  const first = await client.add(REX);
  const second = await client.add(REX);
  assert.deepEqual(idsOf((await client.listFrom(first.id)).text), [first.id, second.id]);
});

test('The request body is required', async () => {
  assertError(await client.send('POST', '/pets'), 'invalid_json');
  const headers = { 'Content-Type': 'application/json' };
  assertError(await client.send('POST', '/pets', headers), 'invalid_json');
});

test('The order of the fields and the space around them do not matter', async () => {
  const text = '\r\n\t {"status" : "sold",\n"categoryId":\t7 , "name":"Rex"\r} \n';
  const { answer, id } = await client.add(text);
  assert.deepEqual(fieldsOf(answer), { id: Number(id), ...REX, status: 'sold' });
});

for (const [body, fields] of [
  [{}, ['name', 'categoryId']],
  [{ status: 'sold' }, ['name', 'categoryId']],
  [{ name: 'Rex' }, ['categoryId']],
  [{ categoryId: 7 }, ['name']],
  [{ Name: 'Rex', categoryid: 7 }, ['name', 'categoryId']],
] as const) {
  test(`A body missing required fields is 400: ${JSON.stringify(body)}`, async () => {
    const message = assertError(await client.post(body), 'invalid_body');
    assert.equal(message, fields.map((field) => `${field} is required`).join('; '));
  });
}

for (const change of [{ name: 5 }, { categoryId: 'seven' }, { status: 'lost' }]) {
  test(`A body containing invalid values is 400: ${JSON.stringify(change)}`, async () => {
    const message = assertError(await client.post({ ...REX, ...change }), 'invalid_body');
    assert.match(message, new RegExp(`^${Object.keys(change)[0]} must be `));
  });
}

test('A refused animal is not added', async () => {
  const { id, answer } = await client.add(REX);
  await client.post({ ...REX, status: 'lost' });
  assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
});

test('POST /pets is 401 when the credential is missing or invalid', async () => {
  const { id, answer } = await client.add(REX);
  assertError(await client.post(REX, { Authorization: '' }), 'unauthorized');
  assertError(await client.post(REX, { Authorization: 'Bearer no' }), 'unauthorized');
  assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
});
