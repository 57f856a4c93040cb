/** The interface's part 4.3: GET /pets/{petId}, getPet, deprecated. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { idsOf, REX } from './client.ts';
import { assertError } from './errors.ts';
import { assertGetPetStatus, assertKept, assertListed, listed, STATUSES } from './expectations.ts';

const { demand, demandEach, decision } = checksIn('4.3');

/** Identifiers that no service is likely to have come to. */
const LOST = [2n ** 63n - 1n, 2n ** 62n + 1n, 2n ** 61n + 3n];

export const getPet: readonly Check[] = [
  demandEach(
    'GET /pets/{petId} is 200 and the Pet when the animal is found',
    [undefined, ...STATUSES],
    async (client, status) => {
      const { id, pet } = await client.add(client.newPet({ status }));
      assertGetPetStatus(await client.get(`/pets/${id}`), 200);
      await assertKept(client, pet);
    },
  ),

  demandEach('It is 404 when the animal cannot be found', LOST, async (client, petId) => {
    assertGetPetStatus(await client.get(`/pets/${petId}`), 404);
  }),

  demandEach(
    'The replacement is GET /pets with the status filter',
    STATUSES,
    async (client, status) => {
      const { pet } = await client.add(client.newPet({ status }));
      assertListed(await listed(client, `&status=${status}`), pet);
    },
  ),

  demand('GET /pets/{petId} is 401 when the credential is missing or invalid', async (client) => {
    const { id } = await client.add(client.newPet());
    for (const Authorization of ['', 'Bearer no']) {
      assertGetPetStatus(await client.send('GET', `/pets/${id}`, { Authorization }), 401);
    }
  }),

  decision('The Pet is the same text as in the answer to its creation', async (client) => {
    for (const newPet of [
      { name: 'Conformance Rex', categoryId: 7 },
      { name: 'Conformance Kit', categoryId: 8, status: 'sold' },
    ]) {
      const { id, answer } = await client.add(newPet);
      const found = await client.get(`/pets/${id}`);
      assert.equal(found.status, 200);
      assert.equal(found.headers.get('Content-Type'), 'application/json');
      assert.equal(found.text, answer.text);
    }
  }),

  decision('Any int64 may be asked for, and the message repeats it', async (client) => {
    const { id } = await client.add(REX);
    for (const petId of [id + 1n, 0n, -1n, -id, 2n ** 63n - 1n, -(2n ** 63n), id + 2n ** 32n]) {
      const message = assertError(await client.get(`/pets/${petId}`), 'not_found');
      assert.ok(message.includes(`"${petId}"`), `a message with "${petId}"`);
    }
  }),

  decision('It is deprecated, says so and names the replacement, GET /pets', async (client) => {
    const { id } = await client.add(REX);
    const { headers } = await client.get(`/pets/${id}`);
    assert.match(headers.get('Deprecation') ?? '', /^@[0-9]+$/);
    assert.equal(headers.get('Sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT');
    assert.equal(headers.get('Link'), '</v1/pets>; rel="successor-version"');
  }),

  decision('The filtered list finds the same animal', async (client) => {
    const newPet = { name: 'Conformance Rex', categoryId: 7, status: 'pending' };
    const { id, answer } = await client.add(newPet);
    const list = await client.listFrom(id, '&status=pending');
    assert.deepEqual(idsOf(list), [id]);
    assert.equal(list.text, `[${answer.text}]`);
  }),

  decision('Without a valid key the Error is unauthorized, whatever the petId', async (client) => {
    const { id } = await client.add(REX);
    for (const path of [`/pets/${id}`, '/pets/0', '/pets/no-id']) {
      for (const Authorization of ['', 'Bearer no']) {
        assertError(await client.send('GET', path, { Authorization }), 'unauthorized');
      }
    }
  }),
];
