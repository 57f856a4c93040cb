/** The interface's part 4.3: GET /pets/{petId}, getPet, deprecated. */

import assert from 'node:assert/strict';
import { demand, NotObserved, type Check } from '../check.ts';
import { fieldsOf, petsOf } from '../client.ts';
import {
  assertFiltered,
  assertGetPetStatus,
  assertPet,
  BAD_CREDENTIALS,
  findListed,
  LOST_ID,
  STATUSES,
} from '../expect.ts';

export const getPet: readonly Check[] = [
  demand(
    '4.3/found',
    'GET /pets/{petId} is 200 and the Pet when the animal is found',
    async (client) => {
      for (const status of [undefined, ...STATUSES]) {
        const { id, pet } = await client.add(client.newPet({ status }));
        const response = await client.get(`/pets/${id}`);
        assertGetPetStatus(response, 200);
        if (response.status !== 200) throw new NotObserved('getPet is removed');
        const { name, categoryId } = pet;
        assertPet(fieldsOf(response), { id, name, categoryId, status: pet['status'] });
      }
    },
  ),

  demand('4.3/not-found', 'It is 404 when the animal cannot be found', async (client) => {
    for (const petId of [LOST_ID, 2n ** 62n + 1n, 2n ** 61n + 3n]) {
      assertGetPetStatus(await client.get(`/pets/${petId}`), 404, `pet ${petId}`);
    }
  }),

  demand(
    '4.3/replacement',
    'The replacement is GET /pets with the status filter',
    async (client) => {
      let isFound = false;
      for (const status of STATUSES) {
        const { pet } = await client.add(client.newPet({ status }));
        assertFiltered(petsOf(await client.get(`/pets?status=${status}`)), status);
        const found = await findListed(client, pet);
        if (found === undefined) continue;
        isFound = true;
        assert.equal(found['name'], pet['name'], 'the name of the Pet in the list');
        assert.equal(found['categoryId'], pet['categoryId'], 'the categoryId in the list');
      }
      if (!isFound) throw new NotObserved('there are more pets of each status than a list shows');
    },
  ),

  demand(
    '4.3/unauthorized',
    'GET /pets/{petId} is 401 when the credential is missing or invalid',
    async (client) => {
      const { id } = await client.add(client.newPet());
      for (const Authorization of BAD_CREDENTIALS) {
        const response = await client.send('GET', `/pets/${id}`, { Authorization });
        assertGetPetStatus(response, 401, Authorization);
      }
    },
  ),
];
