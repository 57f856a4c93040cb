/** The interface's part 7: errors. */

import { demand, NotObserved, type Check } from '../check.ts';
import type { Client, ServiceResponse } from '../client.ts';
import { assertErrorObject, assertGetPetStatus, assertStatus, LOST_ID } from '../expect.ts';

type Send = (client: Client) => Promise<ServiceResponse>;

const NO_KEY = { Authorization: '' };

const LISTED: readonly [what: string, status: number, send: Send][] = [
  ['missing fields', 400, (to) => to.post({})],
  ['invalid values', 400, (to) => to.post(to.newPet({ name: 1 }))],
  ['listPets without a key', 401, (to) => to.send('GET', '/pets', NO_KEY)],
  ['createPet without a key', 401, (to) => to.post(to.newPet(), NO_KEY)],
  ['getPet without a key', 401, (to) => to.send('GET', `/pets/${LOST_ID}`, NO_KEY)],
  ['a lost pet', 404, (to) => to.get(`/pets/${LOST_ID}`)],
];

/** No errors of the interface; but where a service has one, it is an Error object. */
const NOT_LISTED: readonly Send[] = [
  (to) => to.get('/pets?limit=0'),
  (to) => to.get('/pets?limit=x'),
  (to) => to.get('/pets?status=lost'),
  (to) => to.get('/pets/x'),
  (to) => to.post('{'),
];

export const errors: readonly Check[] = [
  demand('7/status', 'Each condition has its HTTP status', async (client) => {
    for (const [what, status, send] of LISTED) {
      const response = await send(client);
      if (status === 400) assertStatus(response, status, what);
      else assertGetPetStatus(response, status, what);
    }
  }),

  demand('7/error', 'Every error response body is an Error object', async (client) => {
    for (const [, , send] of LISTED) {
      const response = await send(client);
      // Which status each has is for the check above to say.
      if (response.status >= 400) assertErrorObject(response);
    }
  }),

  demand(
    '7/error-not-listed',
    'Every error response body is an Error object, of those not listed, too',
    async (client) => {
      let isObserved = false;
      for (const send of NOT_LISTED) {
        const response = await send(client);
        if (response.status < 400) continue;
        isObserved = true;
        assertErrorObject(response);
      }
      if (!isObserved) throw new NotObserved('the service has no other errors');
    },
  ),
];
