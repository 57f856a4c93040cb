/** The interface's part 5: authentication. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import type { Answer, Client, HeaderFields } from './client.ts';
import { assertError } from './errors.ts';
import { assertGetPetStatus, assertStatus } from './expectations.ts';

const { demandEach, decision, decisionEach } = checksIn('5');

interface Operation {
  readonly name: string;
  send(client: Client, headers: HeaderFields): Promise<Answer>;
  assertStatus(answer: Answer, status: number): void;
  readonly success: number;
}

const LIST_PETS: Operation = {
  name: 'listPets',
  send: (client, headers) => client.send('GET', '/pets', headers),
  assertStatus,
  success: 200,
};
const CREATE_PET: Operation = {
  name: 'createPet',
  send: (client, headers) => client.post(client.newPet(), headers),
  assertStatus,
  success: 201,
};
const GET_PET: Operation = {
  name: 'getPet',
  async send(client, headers) {
    const { id } = await client.add(client.newPet());
    return client.send('GET', `/pets/${id}`, headers);
  },
  assertStatus: assertGetPetStatus,
  success: 200,
};
const OPERATIONS = [LIST_PETS, CREATE_PET, GET_PET];
const CASES = OPERATIONS.map((operation) => [operation.name, operation] as const);

/** What is sent in place of the right credential, made of the key. */
type Credential = readonly [name: string, of: (key: string) => string];

const WRONG: readonly Credential[] = [
  ['another key', () => 'Bearer wrong'],
  ['the key and a letter more', (key) => `Bearer ${key}x`],
  ['a letter more before the key', (key) => `Bearer x${key}`],
  ['the key without its last letter', (key) => `Bearer ${key.slice(0, -1)}`],
  ['no key', () => 'Bearer'],
  ['no scheme', (key) => key],
  ['the scheme Basic', (key) => `Basic ${Buffer.from(`:${key}`).toString('base64')}`],
  ['the scheme Token', (key) => `Token ${key}`],
];

/** Forms that a service might yet take for the key. */
const ODD: readonly Credential[] = [
  ['the key in capitals', (key) => `Bearer ${key.toUpperCase()}`],
  ['the key twice', (key) => `Bearer ${key} ${key}`],
  ['the key twice, with a comma', (key) => `Bearer ${key},${key}`],
  ['the key in quotes', (key) => `Bearer "${key}"`],
  ['no space', (key) => `Bearer${key}`],
  ['the scheme Basic with the bare key', (key) => `Basic ${key}`],
  ['the scheme twice', (key) => `Bearer Bearer ${key}`],
  ['bytes above ASCII', () => 'Bearer \u00ff\u00fe'],
  ['8,000 letters', () => `Bearer ${'x'.repeat(8000)}`],
];

export const authentication: readonly Check[] = [
  demandEach('Every operation requires a bearer credential', CASES, async (client, [, one]) => {
    one.assertStatus(await one.send(client, { Authorization: '' }), 401);
  }),

  demandEach(
    'The key is passed in the form Authorization: Bearer <API_KEY>',
    CASES,
    async (client, [, operation]) => {
      const { status } = await operation.send(client, { Authorization: `Bearer ${client.key}` });
      assert.notEqual(status, 401, 'the status');
    },
  ),

  demandEach('An invalid credential is 401', WRONG, async (client, [, credentialOf]) => {
    const Authorization = credentialOf(client.key);
    for (const operation of OPERATIONS) {
      operation.assertStatus(await operation.send(client, { Authorization }), 401);
    }
  }),

  decisionEach('Without a credential the scheme is named', CASES, async (client, [, one]) => {
    const answer = await one.send(client, { Authorization: '' });
    assertError(answer, 'unauthorized');
    assert.match(answer.headers.get('WWW-Authenticate') ?? '', /^Bearer /);
  }),

  decisionEach('With the key each operation succeeds', CASES, async (client, [, operation]) => {
    const headers = { Authorization: `Bearer ${client.key}` };
    assert.equal((await operation.send(client, headers)).status, operation.success);
  }),

  decisionEach(
    'Only the exact key counts, and no message has it',
    [...WRONG, ...ODD],
    async (client, [, credentialOf]) => {
      const Authorization = credentialOf(client.key);
      // A key without letters is the same in capitals.
      if (Authorization === `Bearer ${client.key}`) return;
      for (const operation of OPERATIONS) {
        const answer = await operation.send(client, { Authorization });
        const message = assertError(answer, 'unauthorized');
        assert.ok(!message.includes(client.key), 'a message without the key');
      }
    },
  ),

  decision('A key in the query or in another header field is no credential', async (client) => {
    const { key } = client;
    for (const query of [`access_token=${key}`, `api_key=${key}`]) {
      const answer = await client.send('GET', `/pets?${query}`, { Authorization: '' });
      assertError(answer, 'unauthorized');
    }
    const headers = { Authorization: '', 'X-Api-Key': key, Cookie: `Authorization=Bearer ${key}` };
    assertError(await client.send('GET', '/pets', headers), 'unauthorized');
  }),
];
