/** The interface's part 4.1: GET /pets, listPets. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { idsOf, petsOf, type Answer, type Client } from './client.ts';
import { assertError } from './errors.ts';
import { assertFiltered, assertListed, assertStatus, listed, STATUSES } from './expectations.ts';

const { demand, demandEach, decision } = checksIn('4.1');

/** Fails unless the list has so many pets: of a service that has at least so many. */
async function assertCount(client: Client, query: string, count: number): Promise<Answer> {
  const answer = await client.get(`/pets${query}`);
  assertStatus(answer, 200);
  assert.equal(petsOf(answer).length, count, 'the number of pets in the list');
  return answer;
}

export const listPets: readonly Check[] = [
  demand('GET /pets is 200 and a list of animals', async (client) => {
    const { pet } = await client.add(client.newPet());
    assertListed(await listed(client), pet);
  }),

  demand('limit is the maximum number of animals to return', async (client) => {
    await client.havePets(8);
    await assertCount(client, '?limit=7', 7);
  }),

  demand('limit has the minimum 1', async (client) => {
    await client.havePets(2);
    await assertCount(client, '?limit=1', 1);
  }),

  demand('limit has the maximum 100', async (client) => {
    await client.havePets(101);
    await assertCount(client, '?limit=100', 100);
  }),

  demand('limit has the default 20', async (client) => {
    await client.havePets(21);
    await assertCount(client, '', 20);
  }),

  demandEach('status filters by availability status', STATUSES, async (client, status) => {
    await client.havePets(1, status);
    const answer = await client.get(`/pets?status=${status}`);
    assertStatus(answer, 200);
    assertFiltered(petsOf(answer), status);
    assert.notEqual(petsOf(answer).length, 0, 'the number of pets in the list');
  }),

  demandEach('limit counts the animals that pass the filter', STATUSES, async (client, status) => {
    await client.havePets(3, status);
    const answer = await assertCount(client, `?status=${status}&limit=2`, 2);
    assertFiltered(petsOf(answer), status);
  }),

  demand('GET /pets is 401 when the credential is missing or invalid', async (client) => {
    assertStatus(await client.send('GET', '/pets', { Authorization: '' }), 401);
    assertStatus(await client.send('GET', '/pets', { Authorization: 'Bearer no' }), 401);
  }),

  decision('Of 105 animals a list shows the first that match', async (client) => {
    const ids: bigint[] = [];
    for (let i = 0; i < 105; i += 1) {
      const status = STATUSES[i % 3];
      ids.push((await client.add(client.newPet({ status }))).id);
    }
    const lists: [query: string, expected: readonly bigint[]][] = [
      ['', ids.slice(0, 20)],
      ['&limit=7', ids.slice(0, 7)],
      ['&limit=1', ids.slice(0, 1)],
      ['&limit=100', ids.slice(0, 100)],
    ];
    for (const [index, status] of STATUSES.entries()) {
      const matching = ids.filter((_id, i) => i % 3 === index);
      lists.push([`&status=${status}`, matching.slice(0, 20)]);
      lists.push([`&status=${status}&limit=2`, matching.slice(0, 2)]);
      lists.push([`&status=${status}&limit=100`, matching]);
    }
    for (const [query, expected] of lists) {
      const answer = await client.get(`/pets?after=${ids[0]! - 1n}${query}`);
      assert.equal(answer.status, 200);
      assert.deepEqual(idsOf(answer), expected);
    }
    // Fewer than the limit are all returned.
    const rest = await client.get(`/pets?limit=100&after=${ids[99]}`);
    assert.deepEqual(idsOf(rest), ids.slice(100));
  }),

  decision('A limit below 1 or above 100 is refused', async (client) => {
    for (const limit of [0, 101]) {
      const refused = await client.get(`/pets?limit=${limit}`);
      assert.match(assertError(refused, 'invalid_parameter'), /^limit .*1 to 100/);
    }
  }),

  decision('Request body: none, and one that is sent all the same is ignored', async (client) => {
    const message = client.message('GET /v1/pets?limit=1', ['Content-Length: 7'], '{"a":1}');
    const [answer, ...rest] = await client.exchange(message);
    assert.equal(answer?.text, (await client.get('/pets?limit=1')).text);
    assert.deepEqual(rest, []);
  }),

  decision('Without a valid key the Error is unauthorized', async (client) => {
    for (const Authorization of ['', 'Bearer no']) {
      assertError(await client.send('GET', '/pets', { Authorization }), 'unauthorized');
    }
  }),
];
