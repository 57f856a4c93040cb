/** The interface's part 9: versioning. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { REX } from './client.ts';
import { assertError } from './errors.ts';
import { assertRefused, assertStatus, removalIn } from './expectations.ts';

const { demand, decision, decisionEach } = checksIn('9');

const OTHERS = ['/pets', '/v2/pets', '/v1.0/pets', '/V1/pets', '/v01/pets', '/v1pets'];

export const versioning: readonly Check[] = [
  demand('The version is carried in the base address path as the segment /v1', async (client) => {
    assert.match(client.baseUrl, /\/v1$/, 'the base address');
    assertStatus(await client.get('/pets'), 200);
  }),

  demand('GET /pets/{petId} continues to respond until 5 December 2030', async (client) => {
    const { id } = await client.add(client.newPet());
    const answer = await client.get(`/pets/${id}`);
    if (removalIn(answer) === 'to come') assertStatus(answer, 200);
  }),

  demand('GET /pets/{petId} is removed on 5 December 2030', async (client) => {
    const { id } = await client.add(client.newPet());
    const answer = await client.get(`/pets/${id}`);
    if (removalIn(answer) === 'past') assertRefused(answer);
  }),

  decisionEach('There is no other version, and none without', OTHERS, async (client, path) => {
    assertError(await client.sendBeside('GET', path), 'unknown_path');
  }),

  decision('The interface description version is 1.0.0', async (client) => {
    const answer = await client.sendBeside('GET', '/openapi.json', { Authorization: '' });
    const description = JSON.parse(answer.text) as { openapi: string; info: { version: string } };
    assert.match(description.openapi, /^3\.1\./);
    assert.equal(description.info.version, '1.0.0');
  }),

  decision('GET /pets/{petId} tells its removal date, 5 December 2030', async (client) => {
    const { id } = await client.add(REX);
    const { headers } = await client.get(`/pets/${id}`);
    assert.equal(Date.parse(headers.get('Sunset') ?? ''), Date.UTC(2030, 11, 5));
  }),
];
