/** The interface's part 5: authentication. */

import assert from 'node:assert/strict';
import { demand, type Check } from '../check.ts';
import type { Client, ServiceResponse } from '../client.ts';
import { assertGetPetStatus } from '../expect.ts';

/** Sends each operation with this Authorization; an empty one is none. */
async function* eachOperation(
  client: Client,
  Authorization: string,
): AsyncGenerator<readonly [operation: string, ServiceResponse]> {
  const headers = { Authorization };
  const { id } = await client.add(client.newPet());
  yield ['listPets', await client.send('GET', '/pets', headers)];
  yield ['createPet', await client.post(client.newPet(), headers)];
  yield ['getPet', await client.send('GET', `/pets/${id}`, headers)];
}

/** What is sent in place of the right credential, made of the key. */
const WRONG: readonly [what: string, of: (key: string) => string][] = [
  ['another key', () => 'Bearer wrong'],
  ['the key and a letter more', (key) => `Bearer ${key}x`],
  ['a letter more before the key', (key) => `Bearer x${key}`],
  ['the key without its last letter', (key) => `Bearer ${key.slice(0, -1)}`],
  ['no key', () => 'Bearer'],
  ['no scheme', (key) => key],
  ['the scheme Basic', (key) => `Basic ${Buffer.from(`:${key}`).toString('base64')}`],
  ['the scheme Token', (key) => `Token ${key}`],
];

async function assertUnauthorized(client: Client, what: string, credential: string): Promise<void> {
  for await (const [operation, response] of eachOperation(client, credential)) {
    const about = `${operation} with ${what}`;
    if (operation === 'getPet') assertGetPetStatus(response, 401, about);
    else assert.equal(response.status, 401, `${about}: the status`);
  }
}

export const authentication: readonly Check[] = [
  demand('5/required', 'Every operation requires a bearer credential', (client) =>
    assertUnauthorized(client, 'no credential', ''),
  ),

  demand(
    '5/form',
    'The key is passed in the form Authorization: Bearer <API_KEY>',
    async (client) => {
      for await (const [operation, { status }] of eachOperation(client, `Bearer ${client.key}`)) {
        assert.notEqual(status, 401, `${operation} with the key: the status`);
      }
    },
  ),

  demand('5/invalid', 'An invalid credential is 401', async (client) => {
    for (const [what, of] of WRONG) await assertUnauthorized(client, what, of(client.key));
  }),
];
