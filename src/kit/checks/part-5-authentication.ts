/** Spec section 5: authentication, and what section 4 says of it for each operation. */

import assert from 'node:assert/strict';
import { demand, NotObserved, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import { assertGetPetStatus, assertStatus } from '../expect.ts';
import type { HeaderFields, ServiceResponse, TestClient } from '../test-client.ts';

type Send = (client: TestClient, headers?: HeaderFields) => Promise<ServiceResponse>;

const OPERATIONS: readonly [section: string, operation: string, send: Send][] = [
  ['4.1', 'GET /pets', (to, headers) => to.send('GET', '/pets', headers)],
  ['4.2', 'POST /pets', (to, headers) => to.post(to.newPet(), headers)],
  ['4.3', 'GET /pets/{petId}', (to, headers) => to.send('GET', '/pets/1', headers)],
];

function assertUnauthorized(response: ServiceResponse, section: string, about = ''): void {
  if (section === '4.3') assertGetPetStatus(response, 401, about);
  else assertStatus(response, 401, about);
}

/** Asserts that each operation with this Authorization is 401. An empty one is not sent. */
async function assertInvalid(client: TestClient, Authorization: string): Promise<void> {
  for (const [section, operation, send] of OPERATIONS) {
    assertUnauthorized(await send(client, { Authorization }), section, operation);
  }
}

/** Invalid values of Authorization, made from the key. */
const WRONG: readonly [what: string, of: (key: string) => string][] = [
  ['another key', () => 'Bearer wrong'],
  ['the key and one more letter', (key) => `Bearer ${key}x`],
  ['one more letter before the key', (key) => `Bearer x${key}`],
  ['the key without its last letter', (key) => `Bearer ${key.slice(0, -1)}`],
  ['no key', () => 'Bearer'],
  ['no scheme', (key) => key],
  ['the scheme Basic', (key) => `Basic ${Buffer.from(`:${key}`).toString('base64')}`],
  ['the scheme Token', (key) => `Token ${key}`],
];

/** Returns the key with the case of its letters swapped. */
function inOtherCase(key: string): string {
  return key.replace(/[A-Za-z]/g, (letter) => {
    return letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  });
}

export const authentication: readonly Check[] = [
  ...OPERATIONS.map(([section, operation, send]) => {
    const sentence = `${operation} is 401 when the credential is missing or invalid`;
    return demand(`${section}/unauthorized`, sentence, (client) =>
      eachCase(client, ['', 'Bearer no'], async (own, Authorization) => {
        assertUnauthorized(await send(own, { Authorization }), section);
      }),
    );
  }),

  demand('5/required', 'Every operation requires a bearer credential', (client) =>
    assertInvalid(client, ''),
  ),

  demand('5/form', 'The key is passed in the form Authorization: Bearer <API_KEY>', (client) =>
    eachCase(client, OPERATIONS, async (own, [, operation, send]) => {
      assert.notEqual((await send(own)).status, 401, `${operation} with the key: the status`);
    }),
  ),

  demand('5/invalid', 'An invalid credential is 401', (client) =>
    eachCase(client, WRONG, (own, [, of]) => assertInvalid(own, of(own.target.key))),
  ),

  demand('5/key-case', 'The key in another case is an invalid credential', async (client) => {
    const other = inOtherCase(client.target.key);
    if (other === client.target.key) throw new NotObserved('the key has no letters');
    await assertInvalid(client, `Bearer ${other}`);
  }),
];
