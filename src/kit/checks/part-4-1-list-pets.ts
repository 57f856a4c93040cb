/** Spec section 4.1: GET /pets, listPets. */

import assert from 'node:assert/strict';
import { demand, NotObserved, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import {
  assertBelowBase,
  assertDifferent,
  assertFiltered,
  assertHasPets,
  assertLength,
  assertLists,
  assertStatus,
  nextPage,
  pagesFrom,
  STATUSES,
} from '../expect.ts';
import { idsOf, petsOf, type Exchange, type TestClient } from '../test-client.ts';

/** Adds pets of each status in rotation, so that no list has two of one status in a row. */
async function addByTurns(client: TestClient, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const status of STATUSES) await client.add(client.newPet({ status }));
  }
}

const NO_PAGES = 'the list has no Link to a next page';

/** These run before any other check adds pets. */
export const emptyLists: readonly Check[] = [
  demand('4.1/empty', 'GET /pets is 200 and an empty list when no animal matches', (client) =>
    eachCase(client, ['', ...STATUSES.map((status) => `?status=${status}`)], async (own, query) => {
      const response = await own.get(`/pets${query}`);
      assertStatus(response, 200);
      if (petsOf(response).length > 0) throw new NotObserved('there are pets of each status');
    }),
  ),
];

/** If there are at least `pets` pets, the list of the query has this length. */
const LENGTHS: readonly [id: string, sentence: string, pets: number, string, length: number][] = [
  ['4.1/limit', 'limit is the maximum number of animals to return', 8, '?limit=7', 7],
  ['4.1/limit-minimum', 'limit has the minimum 1', 2, '?limit=1', 1],
  ['4.1/limit-maximum', 'limit has the maximum 100', 101, '?limit=100', 100],
  ['4.1/limit-default', 'limit has the default 20', 21, '', 20],
];

const lengths = LENGTHS.map(([id, sentence, pets, query, length]) =>
  demand(id, sentence, async (client) => {
    await client.havePets(pets);
    await assertLength(client, query, length);
  }),
);

export const listPets: readonly Check[] = [
  demand('4.1/list', 'GET /pets is 200 and a list of animals', assertHasPets),

  ...lengths,

  demand('4.1/filter', 'status filters by availability status', (client) =>
    eachCase(client, STATUSES, async (own, status) => {
      await own.havePets(1, status);
      const response = await own.get(`/pets?status=${status}`);
      assertStatus(response, 200);
      assertFiltered(petsOf(response), status);
      assert.notEqual(petsOf(response).length, 0, 'the number of pets in the list');
    }),
  ),

  demand('4.1/filter-limit', 'limit counts the animals that pass the filter', async (client) => {
    // A service that applies limit before the filter returns too few pets.
    await addByTurns(client, 3);
    await eachCase(client, STATUSES, async (own, status) => {
      for (const query of [`?status=${status}&limit=2`, `?limit=2&status=${status}`]) {
        await assertLength(own, query, 2);
        assertFiltered(petsOf(await own.get(`/pets${query}`)), status);
      }
    });
  }),

  demand('4.1/complete', 'A list that has room shows every animal that matches', (client) =>
    eachCase(client, [...STATUSES, undefined], assertLists),
  ),

  demand('4.1/once', 'A list shows no animal twice, on no page', async (client) => {
    await client.havePets(12);
    const ids: unknown[] = [];
    for await (const pets of pagesFrom(client, '/pets?limit=5', 20)) {
      ids.push(...pets.map(({ id }) => id));
      assertDifferent(ids);
    }
  }),

  demand('4.1/pages', 'Pages that follow one another miss no animal', async (client) => {
    await client.havePets(12);
    const expected = idsOf(await client.get('/pets?limit=100'));
    const pages: { ids: readonly unknown[]; exchange: Exchange | undefined }[] = [];
    for await (const pets of pagesFrom(client, '/pets?limit=7', expected.length)) {
      pages.push({ ids: pets.map(({ id }) => id), exchange: client.lastExchange });
    }
    if (pages.length <= 1) throw new NotObserved(NO_PAGES);
    const missing = expected.filter((id) => !pages.some(({ ids }) => ids.includes(id)));
    // The evidence is the page of 7 that should have the first missing pet.
    const page = pages[Math.floor(expected.indexOf(missing[0]) / 7)] ?? pages.at(-1);
    client.lastExchange = page?.exchange;
    assert.deepEqual(missing, [], 'the ids of a list of 100 that pages of 7 miss');
  }),

  demand(
    '4.1/pages-address',
    'A Link to the next page leads below the base address',
    async (client) => {
      await client.havePets(3);
      const next = nextPage(client, await client.get('/pets?limit=2'));
      if (next === undefined) throw new NotObserved(NO_PAGES);
      assertBelowBase(client, next);
    },
  ),

  demand('4.1/pages-filter', 'Pages of a filtered list keep to the filter', async (client) => {
    await addByTurns(client, 6);
    await eachCase(client, STATUSES, async (own, status) => {
      let pages = 0;
      for await (const pets of pagesFrom(own, `/pets?status=${status}&limit=5`, 30)) {
        assertFiltered(pets, status);
        pages += 1;
      }
      if (pages <= 1) throw new NotObserved(NO_PAGES);
    });
  }),
];
