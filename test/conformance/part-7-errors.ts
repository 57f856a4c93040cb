/** The interface's part 7: errors. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import type { Answer, Client } from './client.ts';
import { assertError, type Code } from './errors.ts';
import { assertErrorObject, assertGetPetStatus, assertStatus } from './expectations.ts';

const { demandEach, decision, decisionEach } = checksIn('7');

type Send = (client: Client) => Promise<Answer>;

const NO_KEY = { Authorization: '' };
const LOST = `/pets/${2n ** 63n - 1n}`;

const SHOWN: readonly [name: string, status: number, code: Code, send: Send][] = [
  ['400, missing fields', 400, 'invalid_body', (to) => to.post({})],
  ['400, invalid values', 400, 'invalid_body', (to) => to.post(to.newPet({ name: 1 }))],
  ['401, listPets', 401, 'unauthorized', (to) => to.send('GET', '/pets', NO_KEY)],
  ['401, createPet', 401, 'unauthorized', (to) => to.post(to.newPet(), NO_KEY)],
  ['401, getPet', 401, 'unauthorized', (to) => to.send('GET', LOST, NO_KEY)],
  ['404, getPet', 404, 'not_found', (to) => to.get(LOST)],
];

/** No errors of the interface; but where a service has one, it is an Error object. */
const NOT_SHOWN: readonly [name: string, code: Code, send: Send][] = [
  ['a limit of 0', 'invalid_parameter', (to) => to.get('/pets?limit=0')],
  ['a limit that is no integer', 'invalid_parameter', (to) => to.get('/pets?limit=x')],
  ['an unknown status', 'invalid_parameter', (to) => to.get('/pets?status=lost')],
  ['a petId that is no integer', 'not_found', (to) => to.get('/pets/x')],
  ['a body that is no JSON', 'invalid_json', (to) => to.post('{')],
];

const ONLY_HERE: readonly [path: string, code: Code][] = [
  ['/pets?a=%zz', 'malformed_request'],
  ['/nothing', 'unknown_path'],
];

export const errors: readonly Check[] = [
  demandEach('Each condition has its HTTP status', SHOWN, async (client, [, status, , send]) => {
    const answer = await send(client);
    if (status === 400) assertStatus(answer, status);
    else assertGetPetStatus(answer, status);
  }),

  demandEach('Every error response body is an Error object', SHOWN, async (client, shown) => {
    const answer = await shown[3](client);
    // Which status each has is for the check above to say.
    if (answer.status >= 400) assertErrorObject(answer);
  }),

  demandEach(
    'Every error response body is an Error object, of those not listed, too',
    NOT_SHOWN,
    async (client, [, , send]) => {
      const answer = await send(client);
      if (answer.status >= 400) assertErrorObject(answer);
    },
  ),

  decisionEach('Each listed condition has its code', SHOWN, async (client, [, , code, send]) => {
    assertError(await send(client), code);
  }),

  decisionEach('So has each that is not listed', NOT_SHOWN, async (client, [, code, send]) => {
    assertError(await send(client), code);
  }),

  decisionEach('So has each that is of no operation', ONLY_HERE, async (client, [path, code]) => {
    assertError(await client.get(path), code);
  }),

  decision('A message is readable: what it quotes of a request is cut short', async (client) => {
    const long = 'x'.repeat(5000);
    for (const answer of [
      await client.get(`/pets/${long}`),
      await client.get(`/pets?status=${long}`),
      await client.get(`/pets?limit=${long}`),
      await client.post({ name: [long], categoryId: long, status: long }),
    ]) {
      assert.ok(answer.text.length < 500, 'a body of less than 500 bytes');
    }
  }),
];
