/** Spec section 4: what it says about all endpoints. */

import { demand, NotObserved, type Check } from '../check.ts';
import { assertJsonType, LOST_ID, removalIn } from '../expect.ts';

export const endpoints: readonly Check[] = [
  demand('4/json', 'All endpoints return application/json', async (client) => {
    assertJsonType(await client.get('/pets'));
    const { id, response } = await client.add(client.newPet());
    assertJsonType(response);
    const found = await client.get(`/pets/${id}`);
    if (removalIn(found) !== 'to come') throw new NotObserved('getPet is removed');
    assertJsonType(found);
  }),

  demand('4/error-json', 'An Error is sent as application/json', async (client) => {
    assertJsonType(await client.post({}));
    assertJsonType(await client.send('GET', '/pets', { Authorization: '' }));
    assertJsonType(await client.get(`/pets/${LOST_ID}`));
  }),
];
