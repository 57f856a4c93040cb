/** The interface's part 4.2: POST /pets, createPet. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { fieldsOf, idsOf, REX } from './client.ts';
import { assertError } from './errors.ts';
import { assertKept, assertPet, assertRefused, assertStatus } from './expectations.ts';

const { demand, demandEach, decision, decisionEach } = checksIn('4.2');

const KIT = { name: 'Conformance Kit', categoryId: 7, status: 'available' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

const MISSING = [
  [{}, ['name', 'categoryId']],
  [{ status: 'sold' }, ['name', 'categoryId']],
  [{ name: 'Rex' }, ['categoryId']],
  [{ categoryId: 7 }, ['name']],
  [{ Name: 'Rex', categoryid: 7 }, ['name', 'categoryId']],
] as const;
const INVALID = [{ name: 5 }, { categoryId: 'seven' }, { status: 'lost' }];

export const createPet: readonly Check[] = [
  demand('POST /pets adds an animal: 201', async (client) => {
    assertStatus(await client.post(client.newPet()), 201);
  }),

  demand('The answer is the Pet, which includes the assigned id', async (client) => {
    const newPet = client.newPet({ status: 'available' });
    const { pet } = await client.add(newPet);
    assertPet(pet, newPet);
    await assertKept(client, pet);
  }),

  demand('The request body is required', async (client) => {
    assertRefused(await client.send('POST', '/pets', JSON_TYPE));
  }),

  demand('Request body: NewPet as JSON, in any order', async (client) => {
    const { name, categoryId } = client.newPet();
    const fields = `"status" : "sold",\n"categoryId":\t${categoryId} , "name":"${name}"`;
    const text = `\r\n\t {${fields}\r} \n`;
    assertPet((await client.add(text)).pet, client.newPet({ status: 'sold' }));
  }),

  demandEach('A body missing required fields is 400', MISSING, async (client, [body]) => {
    assertStatus(await client.post(body), 400);
  }),

  demandEach('A body containing invalid values is 400', INVALID, async (client, change) => {
    assertStatus(await client.post(client.newPet(change)), 400);
  }),

  demand('POST /pets is 401 when the credential is missing or invalid', async (client) => {
    assertStatus(await client.post(client.newPet(), { Authorization: '' }), 401);
    assertStatus(await client.post(client.newPet(), { Authorization: 'Bearer no' }), 401);
  }),

  decision('An added animal is in the list at once, as it was answered', async (client) => {
    const { id, pet, answer } = await client.add(KIT);
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get('Content-Type'), 'application/json');
    assert.deepEqual(pet, { id, ...KIT, categoryId: 7n });
    assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
  }),

  decision('The same animal added twice is two animals', async (client) => {
    const first = await client.add(KIT);
    const second = await client.add(KIT);
    assert.deepEqual(idsOf(await client.listFrom(first.id)), [first.id, second.id]);
  }),

  decision('No body is no JSON', async (client) => {
    assertError(await client.send('POST', '/pets'), 'invalid_json');
    assertError(await client.send('POST', '/pets', JSON_TYPE), 'invalid_json');
  }),

  decision('The fields of a Pet are no others, however a NewPet was written', async (client) => {
    const text = '\r\n\t {"status" : "sold",\n"categoryId":\t7 , "name":"Rex"\r} \n';
    const { id, answer } = await client.add(text);
    assert.deepEqual(fieldsOf(answer), { id, name: 'Rex', categoryId: 7n, status: 'sold' });
  }),

  decisionEach('The message names all that is missing', MISSING, async (client, [body, fields]) => {
    const message = assertError(await client.post(body), 'invalid_body');
    assert.equal(message, fields.map((field) => `${field} is required`).join('; '));
  }),

  decisionEach('The message names what is invalid', INVALID, async (client, change) => {
    const message = assertError(await client.post({ ...KIT, ...change }), 'invalid_body');
    assert.match(message, new RegExp(`^${Object.keys(change)[0]} must be `));
  }),

  decision('A refused animal is not added', async (client) => {
    const { id, answer } = await client.add(REX);
    await client.post({ ...KIT, status: 'lost' });
    assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
  }),

  decision('Without a valid key it is unauthorized, and adds nothing', async (client) => {
    const { id, answer } = await client.add(REX);
    for (const Authorization of ['', 'Bearer no']) {
      assertError(await client.post(REX, { Authorization }), 'unauthorized');
    }
    assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
  }),
];
