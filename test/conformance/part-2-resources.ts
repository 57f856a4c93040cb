/** The interface's part 2: resources and their fields. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { fieldsOf, idsOf, petsOf, REX } from './client.ts';
import { assertError } from './errors.ts';
import {
  assertCarries,
  assertErrorObject,
  assertKept,
  assertListed,
  assertPet,
  assertStatus,
  listed,
  STATUSES,
} from './expectations.ts';

const { demand, demandEach, decision, decisionEach } = checksIn('2');

const NO_STATUS = ['Available', 'SOLD', '', 'available ', 'adopted', 'toString', 'sold\0'];
const NO_NAME = [null, true, false, 0, 1.5, [], ['Rex'], {}, { name: 'Rex' }];
const NO_CATEGORY = [null, true, false, '', '1', 1.5, [], [1], {}];
const NO_STATUS_TYPE = [true, false, 0, 1, [], ['sold'], {}];
const INT64 = ['-9223372036854775808', '-1', '0', '1', '9007199254740993', '9223372036854775807'];
const BEYOND_INT64 = ['9223372036854775808', '-9223372036854775809', '18446744073709551617'];

export const resources: readonly Check[] = [
  demandEach('PetStatus allows available, pending and sold', STATUSES, async (client, status) => {
    const newPet = client.newPet({ status });
    assertPet((await client.add(newPet)).pet, newPet);
  }),

  demandEach('PetStatus allows no other value', NO_STATUS, async (client, status) => {
    assertStatus(await client.post(client.newPet({ status })), 400);
  }),

  demand('NewPet: name is required', async (client) => {
    assertStatus(await client.post(client.newPet({ name: undefined })), 400);
  }),

  demand('NewPet: categoryId is required', async (client) => {
    assertStatus(await client.post(client.newPet({ categoryId: undefined })), 400);
  }),

  demand('NewPet: status is not required', async (client) => {
    await client.add(client.newPet());
  }),

  demandEach('NewPet: name is a string', NO_NAME, async (client, name) => {
    assertStatus(await client.post(client.newPet({ name })), 400);
  }),

  demandEach('NewPet: categoryId is an integer', NO_CATEGORY, async (client, categoryId) => {
    assertStatus(await client.post(client.newPet({ categoryId })), 400);
  }),

  demandEach('NewPet: status is a PetStatus', NO_STATUS_TYPE, async (client, status) => {
    assertStatus(await client.post(client.newPet({ status })), 400);
  }),

  demandEach('NewPet: categoryId is an int64, to the digit', INT64, async (client, literal) => {
    const answer = await client.post(`{"name":"Conformance Kit","categoryId":${literal}}`);
    // Whether there must be such a category is a gap; but no other may take its place.
    if (answer.status === 400) return;
    const pet = fieldsOf(answer);
    assertPet(pet, { categoryId: BigInt(literal) });
    await assertKept(client, pet);
    assertListed(await listed(client), pet);
  }),

  demandEach('NewPet: categoryId is not beyond int64', BEYOND_INT64, async (client, literal) => {
    assertStatus(await client.post(`{"name":"Conformance Kit","categoryId":${literal}}`), 400);
  }),

  demand('Pet: all fields of NewPet plus id', async (client) => {
    const newPet = client.newPet({ status: 'sold' });
    assertPet((await client.add(newPet)).pet, newPet);
  }),

  demand('Pet: id is a unique identifier assigned by the service on creation', async (client) => {
    const newPet = client.newPet();
    const one = await client.add(newPet);
    const others = await Promise.all(Array.from({ length: 10 }, () => client.add(newPet)));
    const last = await client.add(newPet);
    const ids = [one, ...others, last].map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, `different ids of ${ids.join()}, so many`);
  }),

  demand('A Pet in a response always carries id, name and categoryId', async (client) => {
    const newPet = client.newPet();
    const { pet } = await client.add(newPet);
    assertPet(pet, newPet);
    await assertKept(client, pet);
    for (const one of await listed(client)) assertCarries(one);
  }),

  demand('Pets: a JSON array of Pet objects', async (client) => {
    const { pet } = await client.add(client.newPet({ status: 'pending' }));
    assertListed(await listed(client), pet);
  }),

  demand('Error: code and message, and status, which is that of the response', async (client) => {
    assertErrorObject(await client.post({}));
    assertErrorObject(await client.send('GET', '/pets', { Authorization: '' }));
  }),

  decisionEach('A refused status is named', NO_STATUS, async (to, status) => {
    const answer = await to.post({ name: 'R', categoryId: 1, status });
    assert.match(assertError(answer, 'invalid_body'), /^status [^;]*available, pending, sold/);
  }),

  decision('A missing field is named, and no other', async (client) => {
    const noName = assertError(await client.post({ categoryId: 1 }), 'invalid_body');
    assert.match(noName, /^name [^;]*$/);
    const noCategory = assertError(await client.post({ name: 'Rex' }), 'invalid_body');
    assert.match(noCategory, /^categoryId [^;]*$/);
  }),

  decisionEach('A name that is no string is named', NO_NAME, async (client, name) => {
    const message = assertError(await client.post({ name, categoryId: 1 }), 'invalid_body');
    assert.match(message, /^name [^;]*$/);
  }),

  decisionEach('A categoryId that is none is named', NO_CATEGORY, async (client, categoryId) => {
    const message = assertError(await client.post({ name: 'R', categoryId }), 'invalid_body');
    assert.match(message, /^categoryId [^;]*$/);
  }),

  decisionEach(
    'A status that is no PetStatus is named, and null is none',
    [null, ...NO_STATUS_TYPE],
    async (client, status) => {
      const answer = await client.post({ name: 'R', categoryId: 1, status });
      assert.match(assertError(answer, 'invalid_body'), /^status [^;]*$/);
    },
  ),

  decisionEach('Every int64 can be a categoryId', INT64, async (client, literal) => {
    const { id, pet, answer } = await client.add(`{"name":"Rex","categoryId":${literal}}`);
    assert.equal(pet['categoryId'], BigInt(literal));
    assert.equal((await client.get(`/pets/${id}`)).text, answer.text);
    assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
  }),

  decision('A Pet has no other fields, and is the same in each answer', async (client) => {
    const sold = await client.add({ name: 'Rex', categoryId: 7, status: 'sold' });
    assert.deepEqual(sold.pet, { id: sold.id, name: 'Rex', categoryId: 7n, status: 'sold' });
    const { id, pet } = await client.add({ name: '', categoryId: 0 });
    assert.deepEqual(pet, { id, name: '', categoryId: 0n });
    assert.deepEqual(fieldsOf(await client.get(`/pets/${id}`)), pet);
    assert.deepEqual(petsOf(await client.listFrom(id)), [pet]);
  }),

  decision('Pets has the animals as they were added', async (client) => {
    const first = await client.add({ name: 'Rex', categoryId: 1, id: 5 });
    const second = await client.add({ name: 'Kit', categoryId: 2, status: 'pending' });
    const list = await client.listFrom(first.id);
    assert.deepEqual(idsOf(list), [first.id, second.id]);
    assert.deepEqual(petsOf(list), [first.pet, second.pet]);
  }),

  decision('Pets is an array too when there are none', async (client) => {
    const { id } = await client.add(REX);
    const { status, text } = await client.listFrom(id + 1n);
    assert.equal(status, 200);
    assert.equal(text, '[]');
  }),

  decision('Error has exactly code, message and status', async (client) => {
    assertError(await client.post({}), 'invalid_body');
    assertError(await client.get('/pets/0'), 'not_found');
  }),
];
