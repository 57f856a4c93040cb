/** The interface's part 4.1: GET /pets, listPets. */

import assert from 'node:assert/strict';
import { demand, NotObserved, type Check } from '../check.ts';
import { idsOf, petsOf } from '../client.ts';
import {
  assertFiltered,
  assertLength,
  assertPet,
  assertStatus,
  BAD_CREDENTIALS,
  findListed,
  nextPage,
  STATUSES,
} from '../expect.ts';

export const listPets: readonly Check[] = [
  demand('4.1/list', 'GET /pets is 200 and a list of animals', async (client) => {
    await client.havePets(1);
    const response = await client.get('/pets');
    assertStatus(response, 200);
    for (const pet of petsOf(response)) assertPet(pet);
  }),

  demand('4.1/limit', 'limit is the maximum number of animals to return', async (client) => {
    await client.havePets(8);
    await assertLength(client, '?limit=7', 7);
  }),

  demand('4.1/limit-minimum', 'limit has the minimum 1', async (client) => {
    await client.havePets(2);
    await assertLength(client, '?limit=1', 1);
  }),

  demand('4.1/limit-maximum', 'limit has the maximum 100', async (client) => {
    await client.havePets(101);
    await assertLength(client, '?limit=100', 100);
  }),

  demand('4.1/limit-default', 'limit has the default 20', async (client) => {
    await client.havePets(21);
    await assertLength(client, '', 20);
  }),

  demand('4.1/filter', 'status filters by availability status', async (client) => {
    for (const status of STATUSES) {
      await client.havePets(1, status);
      const response = await client.get(`/pets?status=${status}`);
      assertStatus(response, 200);
      assertFiltered(petsOf(response), status);
      assert.notEqual(petsOf(response).length, 0, 'the number of pets in the list');
    }
  }),

  demand('4.1/filter-limit', 'limit counts the animals that pass the filter', async (client) => {
    for (const status of STATUSES) {
      // One after the other, so that a list cut before it is filtered has other pets in it.
      for (const other of STATUSES) await client.havePets(3, other);
      for (const query of [`?status=${status}&limit=2`, `?limit=2&status=${status}`]) {
        await assertLength(client, query, 2);
        assertFiltered(petsOf(await client.get(`/pets${query}`)), status);
      }
    }
  }),

  demand('4.1/complete', 'A list that has room shows every animal that matches', async (client) => {
    let isObserved = false;
    for (const status of [...STATUSES, undefined]) {
      const { pet } = await client.add(client.newPet({ status }));
      const found = await findListed(client, pet);
      if (found === undefined) continue;
      isObserved = true;
      assertPet(found, { id: pet['id'], name: pet['name'], categoryId: pet['categoryId'] });
    }
    if (!isObserved) throw new NotObserved('there are more pets than a list shows');
  }),

  demand('4.1/once', 'A list shows no animal twice, on no page', async (client) => {
    await client.havePets(12);
    const ids: unknown[] = [];
    let next: string | undefined = '/pets?limit=5';
    for (let page = 0; next !== undefined && page < 20; page += 1) {
      const response = await client.get(next);
      ids.push(...idsOf(response));
      next = nextPage(client, response);
    }
    assert.equal(new Set(ids).size, ids.length, `different ids of ${ids.join()}, so many`);
  }),

  demand('4.1/pages', 'Pages that follow one another miss no animal', async (client) => {
    await client.havePets(12);
    const expected = idsOf(await client.get('/pets?limit=100'));
    const missing = new Set(expected);
    let next: string | undefined = '/pets?limit=7';
    let pages = 0;
    for (; next !== undefined && missing.size > 0 && pages <= expected.length; pages += 1) {
      const response = await client.get(next);
      for (const id of idsOf(response)) missing.delete(id);
      next = nextPage(client, response);
    }
    if (pages <= 1) throw new NotObserved('the list has no Link to a next page');
    assert.deepEqual([...missing], [], 'the ids of a list of 100 that pages of 7 miss');
  }),

  demand(
    '4.1/unauthorized',
    'GET /pets is 401 when the credential is missing or invalid',
    async (client) => {
      for (const Authorization of BAD_CREDENTIALS) {
        assertStatus(await client.send('GET', '/pets', { Authorization }), 401, Authorization);
      }
    },
  ),
];
