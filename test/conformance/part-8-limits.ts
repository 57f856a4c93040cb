/** The interface's part 8: limits. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { idsOf, petsOf } from './client.ts';
import { assertError } from './errors.ts';
import { assertStatus } from './expectations.ts';

const { demand, demandEach, decision, decisionEach } = checksIn('8');

const OUTSIDE = ['0', '101', '-1', '1000', '4294967297', '18446744073709551617'];

export const limits: readonly Check[] = [
  demandEach('limit is from 1 to 100', [1, 2, 20, 99, 100], async (client, limit) => {
    await client.havePets(101);
    const answer = await client.get(`/pets?limit=${limit}`);
    assertStatus(answer, 200);
    assert.equal(petsOf(answer).length, limit, 'the number of pets in the list');
  }),

  demand('The default of limit is 20', async (client) => {
    await client.havePets(21);
    const answer = await client.get('/pets');
    assertStatus(answer, 200);
    assert.equal(petsOf(answer).length, 20, 'the number of pets in the list');
  }),

  decision('The same from any place in the list', async (client) => {
    const { id } = await client.add(client.newPet());
    for (let i = 0; i < 100; i += 1) await client.add(client.newPet());
    for (const limit of [undefined, 1, 2, 20, 99, 100]) {
      const query = limit === undefined ? '' : `&limit=${limit}`;
      const answer = await client.get(`/pets?after=${id - 1n}${query}`);
      assert.equal(idsOf(answer)[0], id, 'the first id in the list');
      assert.equal(idsOf(answer).length, limit ?? 20, 'the number of pets in the list');
    }
  }),

  decisionEach('What is not from 1 to 100 is refused', OUTSIDE, async (client, limit) => {
    const message = assertError(await client.get(`/pets?limit=${limit}`), 'invalid_parameter');
    assert.equal(message, `limit must be an integer from 1 to 100, not "${limit}"`);
  }),
];
