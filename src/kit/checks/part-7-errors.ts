/** Spec section 7: errors. */

import { demand, NotObserved, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import { assertErrorObject, assertGetPetStatus, assertStatus, LOST_ID } from '../expect.ts';
import type { ServiceResponse, TestClient } from '../test-client.ts';

type Send = (client: TestClient) => Promise<ServiceResponse>;

const NO_KEY = { Authorization: '' };

const LISTED: readonly [what: string, status: number, send: Send][] = [
  ['missing fields', 400, (to) => to.post({})],
  ['invalid values', 400, (to) => to.post(to.newPet({ name: 1 }))],
  ['listPets without a key', 401, (to) => to.send('GET', '/pets', NO_KEY)],
  ['createPet without a key', 401, (to) => to.post(to.newPet(), NO_KEY)],
  ['getPet without a key', 401, (to) => to.send('GET', `/pets/${LOST_ID}`, NO_KEY)],
  ['a missing pet', 404, (to) => to.get(`/pets/${LOST_ID}`)],
];

/** Errors that the specification does not list. If a service has them, each is an Error object. */
const NOT_LISTED: readonly [what: string, send: Send][] = [
  ['limit=0', (to) => to.get('/pets?limit=0')],
  ['limit=x', (to) => to.get('/pets?limit=x')],
  ['status=lost', (to) => to.get('/pets?status=lost')],
  ['a petId x', (to) => to.get('/pets/x')],
  ['a body that is not JSON', (to) => to.post('{')],
];

/** Frameworks respond to these with a page of their own. */
const ELSEWHERE: readonly [what: string, send: Send][] = [
  ['GET /nothing', (to) => to.get('/nothing')],
  ['PUT /pets', (to) => to.send('PUT', '/pets')],
  ['PATCH /pets', (to) => to.send('PATCH', '/pets')],
];

const OTHERS = [
  ['7/error-not-listed', 'of an error that is not listed', NOT_LISTED],
  ['7/error-elsewhere', 'of an unknown path or method', ELSEWHERE],
] as const;

export const errors: readonly Check[] = [
  demand('7/status', 'Each condition has its HTTP status', (client) =>
    eachCase(client, LISTED, async (own, [, status, send]) => {
      const response = await send(own);
      if (status === 400) assertStatus(response, status);
      else assertGetPetStatus(response, status);
    }),
  ),

  demand('7/error', 'Every error response body is an Error object', (client) =>
    eachCase(client, LISTED, async (own, [, , send]) => {
      const response = await send(own);
      // The check 7/status asserts the status.
      if (response.status >= 400) assertErrorObject(response);
    }),
  ),

  ...OTHERS.map(([id, what, cases]) =>
    demand(id, `Every error response body is an Error object, even ${what}`, (client) =>
      eachCase(client, cases, async (own, [, send]) => {
        const response = await send(own);
        if (response.status < 400) throw new NotObserved('the service has no such errors');
        assertErrorObject(response);
      }),
    ),
  ),
];
