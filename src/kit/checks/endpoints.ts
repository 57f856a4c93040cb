/** Spec section 4: the three operations, and what it says about all of them. */

import assert from 'node:assert/strict';
import { demand, each, eachCase, NotObserved, type Check } from '../check.ts';
import {
  assertAdds,
  assertBelowBase,
  assertDifferent,
  assertFiltered,
  assertGetPetStatus,
  assertHasPets,
  assertJsonType,
  assertLength,
  assertLists,
  assertPet,
  assertRefused,
  assertStatus,
  LONGEST_LIST,
  LOST_ID,
  nextPage,
  pagesFrom,
  removalIn,
  STATUSES,
} from '../expect.ts';
import { fieldsOf, idsOf, petsOf, type Exchange, type TestClient } from '../test-client.ts';

const allEndpoints = demand({
  '4/json All endpoints return application/json': async (client) => {
    assertJsonType(await client.get('/pets'));
    const { id, response } = await client.add(client.newPet());
    assertJsonType(response);
    const found = await client.get(`/pets/${id}`);
    if (removalIn(found) !== 'to come') throw new NotObserved('getPet is removed');
    assertJsonType(found);
  },

  '4/error-json An Error is sent as application/json': async (client) => {
    assertJsonType(await client.post({}));
    assertJsonType(await client.send('GET', '/pets', { Authorization: '' }));
    assertJsonType(await client.get(`/pets/${LOST_ID}`));
  },
});

// Spec section 4.1: GET /pets, listPets.

/** Adds pets of each status in rotation, so that no list has two of one status in a row. */
async function addByTurns(client: TestClient, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const status of STATUSES) await client.add(client.newPet({ status }));
  }
}

const NO_PAGES = 'the list has no Link to a next page';

/** These run before any other check adds pets. */
export const emptyLists: readonly Check[] = demand({
  '4.1/empty GET /pets is 200 and an empty list when no animal matches': each(
    ['', ...STATUSES.map((status) => `?status=${status}`)],
    async (own, query) => {
      const response = await own.get(`/pets${query}`);
      assertStatus(response, 200);
      if (petsOf(response).length > 0) throw new NotObserved('there are pets of each status');
    },
  ),
});

/** If there are at least `pets` pets, the list of the query has this length. */
const LENGTHS: readonly [title: string, pets: number, query: string, length: number][] = [
  ['4.1/limit limit is the maximum number of animals to return', 8, '?limit=7', 7],
  ['4.1/limit-minimum limit has the minimum 1', 2, '?limit=1', 1],
  ['4.1/limit-maximum limit has the maximum 100', 101, '?limit=100', 100],
  ['4.1/limit-default limit has the default 20', 21, '', 20],
];

const lengths = LENGTHS.flatMap(([title, pets, query, length]) =>
  demand({
    async [title](client) {
      await client.havePets(pets);
      await assertLength(client, query, length);
    },
  }),
);

const listPets = demand({
  '4.1/list GET /pets is 200 and a list of animals': assertHasPets,

  '4.1/filter status filters by availability status': each(STATUSES, async (own, status) => {
    await own.havePets(1, status);
    const response = await own.get(`/pets?status=${status}`);
    assertStatus(response, 200);
    assertFiltered(petsOf(response), status);
    assert.notEqual(petsOf(response).length, 0, 'the number of pets in the list');
  }),

  '4.1/filter-limit limit counts the animals that pass the filter': async (client) => {
    // A service that applies limit before the filter returns too few pets.
    await addByTurns(client, 3);
    await eachCase(client, STATUSES, async (own, status) => {
      for (const query of [`?status=${status}&limit=2`, `?limit=2&status=${status}`]) {
        await assertLength(own, query, 2);
        assertFiltered(petsOf(await own.get(`/pets${query}`)), status);
      }
    });
  },

  '4.1/complete A list that has room shows every animal that matches': each(
    [...STATUSES, undefined],
    assertLists,
  ),

  '4.1/once A list shows no animal twice, on no page': async (client) => {
    await client.havePets(12);
    const ids: unknown[] = [];
    for await (const pets of pagesFrom(client, '/pets?limit=5', 20)) {
      ids.push(...pets.map(({ id }) => id));
      assertDifferent(ids);
    }
  },

  '4.1/pages Pages that follow one another miss no animal': async (client) => {
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
  },

  '4.1/pages-address A Link to the next page leads below the base address': async (client) => {
    await client.havePets(3);
    const next = nextPage(client, await client.get('/pets?limit=2'));
    if (next === undefined) throw new NotObserved(NO_PAGES);
    assertBelowBase(client, next);
  },

  '4.1/pages-filter Pages of a filtered list keep to the filter': async (client) => {
    await addByTurns(client, 6);
    await eachCase(client, STATUSES, async (own, status) => {
      let pages = 0;
      for await (const pets of pagesFrom(own, `/pets?status=${status}&limit=5`, 30)) {
        assertFiltered(pets, status);
        pages += 1;
      }
      if (pages <= 1) throw new NotObserved(NO_PAGES);
    });
  },
});

// Spec section 4.2: POST /pets, createPet.

const MISSING = ['{}', '{"status":"sold"}', '{"name":"Rex"}', '{"categoryId":1}'];
const INVALID = [{ name: 5 }, { categoryId: 'seven' }, { status: 'lost' }];
/** The most ids that are tried one by one. */
const NEAR = 20n;
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** As clients write the media type of JSON. */
const JSON_TYPES = ['application/json; charset=utf-8', 'application/json;charset=UTF-8'];

const UNREADABLE: readonly [what: string, body: string | Uint8Array][] = [
  ['half an object', '{"name":'],
  ['30,000 brackets', '['.repeat(30_000)],
  ['invalid UTF-8', Buffer.from('{"name":"\xff\xc0","categoryId":1}', 'latin1')],
];

const createPet = demand({
  '4.2/created POST /pets adds an animal: 201': async (client) => {
    assertStatus(await client.post(client.newPet()), 201);
  },

  '4.2/pet The answer is the Pet, which includes the assigned id': (client) =>
    assertAdds(client, 'available'),

  '4.2/body-required The request body is required': async (client) => {
    assertRefused(await client.send('POST', '/pets', JSON_TYPE));
  },

  '4.2/any-order Request body: NewPet as JSON, in any order': async (client) => {
    const { name, categoryId } = client.newPet();
    const fields = `"status" : "sold",\n"categoryId":\t${categoryId} , "n\\u0061me":"${name}"`;
    const { pet } = await client.add(`\r\n\t {${fields}\r} \n`);
    assertPet(pet, client.newPet({ status: 'sold' }));
  },

  '4.2/charset The Content-Type of a request may have a charset': each(JSON_TYPES, (own, type) =>
    own.add(own.newPet(), { 'Content-Type': type }),
  ),

  '4.2/location A Location leads below the base address': async (client) => {
    const { response } = await client.add(client.newPet());
    const location = response.headers.get('Location');
    if (location === null) throw new NotObserved('the service sends no Location');
    assertBelowBase(client, new URL(location, `${client.target.baseUrl}/pets`));
  },

  '4.2/unreadable A body that cannot be read is refused without a failure': each(
    UNREADABLE,
    async (own, [, body]) => {
      const { status } = await own.post(body);
      assert.ok(status < 500, `expected a status below 500, not ${status}`);
    },
  ),

  '4.2/missing A body missing required fields is 400': each(MISSING, async (own, body) =>
    assertStatus(await own.post(body), 400),
  ),

  '4.2/invalid A body containing invalid values is 400': each(INVALID, async (own, change) => {
    assertStatus(await own.post(own.newPet(change)), 400);
  }),

  '4.2/not-added A refused animal is not added': async (client) => {
    const name = `Conformance refused ${Date.now()}-${Math.random()}`;
    const before = await client.add(client.newPet());
    await client.post({ name, status: 'pending' });
    await client.post(client.newPet({ name, status: 'lost' }));
    await client.post(client.newPet({ name, status: 'pending', categoryId: 'seven' }));
    await client.post(client.newPet({ name, status: 'pending' }), { Authorization: '' });
    const after = await client.add(client.newPet());
    let isObserved = false;
    for (const query of ['', '&status=pending']) {
      const pets = petsOf(await client.get(`/pets?limit=${LONGEST_LIST}${query}`));
      assert.ok(!pets.some((pet) => pet['name'] === name), 'expected no refused pet in the list');
      if (pets.length < LONGEST_LIST) isObserved = true;
    }
    // If ids grow in small steps, a refused pet would have an id between these two.
    const isNear = after.id - before.id > 0n && after.id - before.id <= NEAR;
    for (let id = before.id + 1n; isNear && id < after.id; id += 1n) {
      const response = await client.get(`/pets/${id}`);
      const isAdded = response.status === 200 && fieldsOf(response)['name'] === name;
      assert.ok(!isAdded, `expected no refused pet, but it is pet ${id}`);
    }
    if (!isObserved && !isNear) throw new NotObserved('there are more pets than a list shows');
  },
});

// Spec section 4.3: GET /pets/{petId}, getPet, deprecated.

/** Values at which a conversion to int64 may fail. */
const NO_IDS = ['abc', '1.5', '-', 'null', '9223372036854775808', '9'.repeat(40), '%F0%9F%90%95'];

/** Text that a lenient conversion ignores after the digits. */
const TAILS = ['abc', 'x', '.5', ',1', '%20x', 'e'];

const getPet = demand({
  '4.3/found GET /pets/{petId} is 200 and the Pet when the animal is found': each(
    [undefined, ...STATUSES],
    async (own, status) => {
      const { id, pet } = await own.add(own.newPet({ status }));
      const response = await own.get(`/pets/${id}`);
      assertGetPetStatus(response, 200);
      if (response.status !== 200) throw new NotObserved('getPet is removed');
      const { name, categoryId } = pet;
      assertPet(fieldsOf(response), { id, name, categoryId, status: pet['status'] });
    },
  ),

  '4.3/not-found It is 404 when the animal cannot be found': each(
    [LOST_ID, 2n ** 62n + 1n, 2n ** 61n + 3n],
    async (own, petId) => {
      assertGetPetStatus(await own.get(`/pets/${petId}`), 404);
    },
  ),

  '4.3/no-id A petId that is not an int64 is refused without a failure': each(
    NO_IDS,
    async (own, petId) => {
      assertRefused(await own.get(`/pets/${petId}`));
    },
  ),

  '4.3/whole-id A petId that only begins with an id is not that id': async (client) => {
    const { id } = await client.add(client.newPet());
    const found = await client.get(`/pets/${id}`);
    if (found.status !== 200) throw new NotObserved('the pet cannot be got by its id');
    await eachCase(client, TAILS, async (own, tail) => {
      const { status } = await own.get(`/pets/${id}${tail}`);
      assert.notEqual(status, 200, 'the status');
    });
  },

  '4.3/replacement The replacement is GET /pets with the status filter': each(
    STATUSES,
    assertLists,
  ),
});

export const endpoints: readonly Check[] = [
  ...allEndpoints,
  ...lengths,
  ...listPets,
  ...createPet,
  ...getPet,
];
