/** Spec section 9: versioning. */

import assert from 'node:assert/strict';
import { demand, NotObserved, type Check } from '../check.ts';
import { assertRefused, assertStatus, removalIn } from '../expect.ts';

export const versioning: readonly Check[] = [
  demand(
    '9/base-address',
    'The version is carried in the base address path as the segment /v1',
    async (client) => {
      assert.match(client.target.baseUrl, /\/v1$/, 'the base address');
      assertStatus(await client.get('/pets'), 200);
    },
  ),

  demand(
    '9/until-removal',
    'GET /pets/{petId} continues to respond until 5 December 2030',
    async (client) => {
      const response = await client.get(`/pets/${(await client.add(client.newPet())).id}`);
      if (removalIn(response) !== 'to come') throw new NotObserved('that day is past');
      assertStatus(response, 200);
    },
  ),

  demand('9/removal', 'GET /pets/{petId} is removed on 5 December 2030', async (client) => {
    const response = await client.get(`/pets/${(await client.add(client.newPet())).id}`);
    if (removalIn(response) !== 'past') throw new NotObserved('that day is to come');
    assertRefused(response);
  }),
];
