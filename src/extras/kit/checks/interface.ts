/**
 * What SPEC.md says, section by section, and what every client relies on. In parentheses each check
 * names the clauses that it stands on, or `relied on` if no clause says it, such as a list that has
 * each pet.
 */

import assert from 'node:assert/strict';
import { stringifyExactJson } from '../../../core/base/exact-json.ts';
import { declare, each, NotObserved, type Check } from '../check.ts';
import {
  addIfAccepted,
  addInTurn,
  assertAdds,
  assertAddsOnly,
  assertBelowBase,
  assertComesBack,
  assertDifferent,
  assertEqual,
  assertErrorObject,
  assertFiltered,
  assertHasPets,
  assertJsonType,
  assertKept,
  assertLists,
  assertNothingLeft,
  assertPet,
  assertRefused,
  assertStatus,
  assertStay,
  isRefused,
  JSON_TYPE,
  KEYLESS,
  listOf,
  LONGEST_LIST,
  LOST_ID,
  nextPage,
  pagesFrom,
  removalIn,
  STATUSES,
  WITH_BODY,
} from '../expect.ts';
import {
  fieldsOf,
  idsOf,
  isAdded,
  petsOf,
  type Evidence,
  type Fields,
  type HeaderFields,
  type Send,
  type TestClient,
} from '../test-client.ts';

// S2: resources.

/**
 * Returns a check for each row: its id, the end of its sentence, and the items of its cases. The
 * clauses are behind the id, or before the sentence if all rows have the same.
 */
function table<T>(
  sentence: string,
  rows: readonly (readonly [id: string, end: string, items: readonly T[]])[],
  run: (client: TestClient, item: T) => Promise<unknown>,
): readonly Check[] {
  return rows.flatMap(([id, end, items]) =>
    declare('interface', { [`${id} ${sentence}${end}`]: each(items, run) }),
  );
}

/**
 * Values that other services fail for: of another type, without a number, beyond every range,
 * without a character, or longer than a column. They are JSON.
 */
const HARD_VALUES = [
  ...['null', 'true', '[]', '{}', '""', '0', '-1', '1.5', '1e400', '-0', '"__proto__"'],
  ...['"\\ud800"', '"\\u0000"', '9'.repeat(5000), `"${'9'.repeat(5000)}"`],
  `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
];

/** The same for a part of a URL, as it is sent. */
const HARD_TEXTS = [
  ...['lost', 'null', 'NaN', 'Infinity', '1.5', '1e400', '0x', "'", '[]', '%', '%zz', '%00'],
  ...['%ff', '%ED%A0%80', '%F0%9F%90%95', '9223372036854775808', '9'.repeat(2000)],
];

/** For header fields, which have characters of one byte. */
const HARD_FIELDS = ['', ',', ';', '=', '"', 'a b', '\xff', '%00', 'x'.repeat(2000)];

/** A query that lists pets, with each hard text as the value of a parameter. */
function withTexts(name: string): readonly string[] {
  const queries = HARD_TEXTS.map((text) => `?${name}=${text}`);
  return [...queries, `?${name}`, `?${name}=`, `?${name}[]=1`, `?${name}=1&${name}=2`];
}

/** Bodies, whose characters are bytes. */
const UNREADABLE = ['{"name":', '['.repeat(30_000), '{"name":"\xff\xc0","categoryId":1}'];

const postBytes: Send = (client, text) => client.post(Buffer.from(text, 'latin1'));
const getQuery: Send = (client, query) => client.get(`/pets${query}`);

/** Posts a NewPet with a member of this name, whose value is a JSON text. */
function postMember(name: string): Send {
  return (client, literal) => {
    const { [name]: _, ...others } = client.newPet();
    return client.post(stringifyExactJson(others).replace(/\}$/, `,"${name}":${literal}}`));
  };
}

function postField(name: string, before = ''): Send {
  return (client, text) => client.post(client.newPet(), { [name]: before + text });
}

/** Each input of the interface, and how to send a value of it. */
const INPUTS: readonly [id: string, what: string, values: readonly string[], send: Send][] = [
  ['4.1/limit-any', 'limit', withTexts('limit'), getQuery],
  ['4.1/status-any', 'the status filter', withTexts('status'), getQuery],
  ['4.1/other-any', 'another parameter', withTexts('conformance'), getQuery],
  ['4.2/name-any', 'name', HARD_VALUES, postMember('name')],
  ['4.2/category-any', 'categoryId', HARD_VALUES, postMember('categoryId')],
  ['4.2/status-any', 'status', HARD_VALUES, postMember('status')],
  ['4.2/id-any', 'id', HARD_VALUES, postMember('id')],
  ['4.2/other-any', 'another member', HARD_VALUES, postMember('conformance')],
  ['4.2/unreadable', 'a body that cannot be read', UNREADABLE, postBytes],
  ['4.2/type-any', 'Content-Type', HARD_FIELDS, postField('Content-Type')],
  ['4.2/accept-any', 'Accept', HARD_FIELDS, postField('Accept')],
  ['4.2/retry-any', 'Idempotency-Key', HARD_FIELDS, postField('Idempotency-Key')],
  ['5/any', 'Authorization', HARD_FIELDS, postField('Authorization', 'Bearer ')],
];

const inputs = INPUTS.flatMap(([id, what, values, send]) => {
  const title = `${id} (relied on) No value is a failure of the service: ${what}`;
  const run = async (own: TestClient, value: string): Promise<void> => {
    const { status } = await send(own, value);
    // It may refuse or accept the value. A status 5xx means that it did neither.
    assert.ok(status < 500, `expected a status below 500, not ${status}`);
  };
  return declare('interface', { [title]: each(values, run) });
});

/** Names that a service may change by mistake. */
const names = table(
  '(relied on) A name comes back as it was sent: ',
  [
    ['2/name-spaces', 'spaces at its ends', ['  Conformance\tRex \u00a0']],
    ['2/name-lines', 'line ends of every kind', ['Conformance\r\nRex\rRex\nRex\u2028']],
    ['2/name-unicode', 'letters in composed and decomposed form', ['Ze\u0301\u00e9 \ufb01 \u212b']],
    ['2/name-markup', 'markup', ['<b>Tom & "Jerry"</b> &amp; &#39;']],
    ['2/name-escapes', 'quotes, backslashes and percent signs', ['\\n\\u0041 "\\" %20 \' $1']],
    ['2/name-plane', 'characters beyond 16 bits', ['🐕 𐍈']],
    ['2/name-case', 'letters in either case', ['cONFORMANCE ıİß']],
    ['2/name-number', 'digits that look like a number', ['007']],
    ['2/name-empty', 'no character', ['']],
    ['2/name-300', '300 characters', [`Conformance ${'x'.repeat(288)}`]],
    ['2/name-1000', '1,000 characters', [`Conformance ${'é'.repeat(988)}`]],
  ],
  async (own, name) => {
    const pet = await addIfAccepted(own, { name });
    assertEqual(pet['name'], name, 'the name of the Pet');
    await assertComesBack(own, pet);
  },
);

/** An unlikely category: if the service accepts it, it accepts categories that do not exist. */
const ANY_CATEGORY = 1_914_638_257n;

/** Categories that a service may refuse or change by mistake. */
const categories = table(
  '(S2.2.2) NewPet: categoryId is an int64, ',
  [
    ['2/category-zero', 'which may be 0', [0n]],
    ['2/category-negative', 'which may be negative', [-1n, -ANY_CATEGORY]],
    ['2/category-32-bits', 'beyond 32 bits', [2n ** 31n, 2n ** 32n + 1n, -(2n ** 31n) - 1n]],
    ['2/category-53-bits', 'to the digit', [2n ** 53n + 1n, -(2n ** 53n) - 1n]],
    ['2/category-64-bits', 'also the least and the greatest one', [2n ** 63n - 1n, -(2n ** 63n)]],
  ],
  async (own, categoryId) => {
    const response = await own.post(own.newPet({ categoryId }));
    if (isRefused(response.status)) {
      // A service may require that a category exists, but not that it is small or positive.
      const other = categoryId < -ANY_CATEGORY ? -ANY_CATEGORY : ANY_CATEGORY;
      const refusal = own.lastExchange;
      const { status } = await own.post(own.newPet({ categoryId: other }));
      own.lastExchange = refusal;
      assert.ok(isRefused(status), `expected ${categoryId} accepted, as ${other} is`);
      throw new NotObserved('the service accepts only existing categories');
    }
    const pet = fieldsOf(response);
    assertPet(pet, { categoryId });
    await assertComesBack(own, pet);
  },
);

const NO_STATUS = ['Available', 'SOLD', '', 'available ', 'adopted', 'toString', 'sold\0'];
const NO_NAME = [null, true, false, 0, 1.5, [], ['Rex'], {}, { name: 'Rex' }];
const NO_CATEGORY = [null, true, false, '', '1', 1.5, [], [1], {}];
const NO_STATUS_TYPE = [true, false, 0, 1, [], ['sold'], {}];
const BEYOND_INT64 = withEach('categoryId', [2n ** 63n, -(2n ** 63n) - 1n, 2n ** 64n + 1n]);
const NO_NUMBERS = ['NaN', '-Infinity'].map((literal) => `{"name":"Rex","categoryId":${literal}}`);
const MISSING = ['{}', '{"status":"sold"}', '{"name":"Rex"}', '{"categoryId":1}'];
const INVALID_PETS = [{ name: 5 }, { categoryId: 'seven' }, { status: 'lost' }];

/** A change of a NewPet for each value of a field. */
function withEach(field: string, values: readonly unknown[]): readonly Fields[] {
  return values.map((value) => ({ [field]: value }));
}

/** What must be refused with 400: bodies, or changes of a NewPet. */
const invalid = table<string | Fields>(
  '',
  [
    ['2/status-others (S2.1)', 'PetStatus allows no other value', withEach('status', NO_STATUS)],
    ['2/name-required (S2.2.1)', 'NewPet: name is required', [{ name: undefined }]],
    ['2/category-required (S2.2.2)', 'NewPet: categoryId is required', [{ categoryId: undefined }]],
    ['2/name-type (S2.2.1)', 'NewPet: name is a string', withEach('name', NO_NAME)],
    [
      '2/category-type (S2.2.2)',
      'NewPet: categoryId is an integer',
      withEach('categoryId', NO_CATEGORY),
    ],
    ['2/status-type (S2.2.3)', 'NewPet: status is a PetStatus', withEach('status', NO_STATUS_TYPE)],
    ['2/category-beyond (S2.2.2)', 'NewPet: categoryId is not beyond int64', BEYOND_INT64],
    ['4.2/missing (S4.2.3)', 'A body missing required fields is 400', MISSING],
    ['4.2/no-number (S4.2.3)', 'NaN and Infinity are no numbers', NO_NUMBERS],
    ['4.2/invalid (S4.2.3)', 'A body containing invalid values is 400', INVALID_PETS],
  ],
  async (own, body) =>
    assertStatus(await own.post(typeof body === 'string' ? body : own.newPet(body)), 400),
);

const fields = declare('interface', {
  '2/status-values (S2.1, S3.1) PetStatus allows available, pending and sold': each(
    STATUSES,
    assertAdds,
  ),
  '2/status-optional (S2.2.3) NewPet: status is not required': (client) => assertAdds(client),
  '2/pet-fields (S2.3) Pet: all fields of NewPet plus id': (client) => assertAdds(client, 'sold'),

  async '2/id-unique (S2.3.1) Pet: id is a unique identifier assigned by the service on creation'(
    client,
  ) {
    assertDifferent(await addInTurn(client, 5));
  },

  '2/id-concurrent (S2.3.1) Pet: animals added at once have different ids': async (client) => {
    const adding = Array.from({ length: 20 }, () => client.add(client.newPet()));
    assertDifferent((await Promise.all(adding)).map(({ id }) => id));
  },

  "2/id-own (S2.3.1) Pet: id is the service's own, whatever id is sent": async (client) => {
    const older = await client.add(client.newPet({ name: 'Conformance Old' }));
    for (const id of [older.id, 2n ** 62n - older.id, 0n]) {
      const pet = await addIfAccepted(client, { id });
      assert.ok(pet['id'] !== id, `expected an id of the service's own, not ${id}`);
    }
    await assertKept(client, older.pet);
  },

  '2/pet-carries (S2.3.2) A Pet in a response always carries id, name and categoryId': async (
    client,
  ) => {
    await assertAdds(client);
    for (const one of await listOf(client, '?limit=100')) assertPet(one);
  },

  '2/status-null (relied on) A Pet in a response has no null, even if null was sent': async (
    client,
  ) => {
    const pet = await addIfAccepted(client, { status: null });
    assertPet(pet);
    await assertKept(client, pet);
  },

  '2/pets-array (S2.4) Pets: a JSON array of Pet objects': assertHasPets,

  async '2/error-fields (S2.5, S2.5.1, S2.5.2, S2.5.3) Error: code and message, and status, which is that of the response'(
    client,
  ) {
    assertErrorObject(await client.post({}));
    assertErrorObject(await client.ask('GET /pets', KEYLESS));
  },

  // S3: states.
  '3/status-set (S3.2) The status can be set when an animal is created': each(STATUSES, assertAdds),

  '3/status-filter (S3.3) The status can be used as a filter when listing': each(
    STATUSES,
    assertLists,
  ),
});

// S4.0: all operations.

const allEndpoints = declare('interface', {
  '4/json (S1.2, S4.0) All endpoints return application/json': async (client) => {
    assertJsonType(await client.get('/pets'));
    const { id, response } = await client.add(client.newPet());
    assertJsonType(response);
    assertJsonType(await client.get(`/pets/${id}`));
  },

  '4/error-json (S7.1) An Error is sent as application/json': async (client) => {
    assertJsonType(await client.post({}));
    assertJsonType(await client.ask('GET /pets', KEYLESS));
    assertJsonType(await client.get(`/pets/${LOST_ID}`));
  },

  '4/decoded (relied on) A path and a query are percent-decoded': async (client) => {
    await client.havePets(6, 'sold');
    const pets = await listOf(client, '?l%69mit=%35&status=s%6Fld');
    assertEqual(pets.length, 5, LENGTH);
    assertFiltered(pets, 'sold');
    const { id } = await client.add(client.newPet());
    assertStatus(await client.get(`/pets/${String(id).replace(/[0-9]/g, '%3$&')}`), 200);
  },

  '4/rest (relied on) What is left of a body is not taken for the next request': each(
    WITH_BODY,
    assertNothingLeft,
  ),
});

// S4.1: GET /pets, listPets.

/** Adds pets of each status in rotation, so that no list has two of one status in a row. */
async function addByTurns(client: TestClient, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const status of STATUSES) await client.add(client.newPet({ status }));
  }
}

const LENGTH = 'the number of pets in the list';
const NO_PAGES = 'the list has no Link to a next page';

const lengths = table(
  '',
  [
    ['4.1/limit (S4.1.2)', 'limit is the maximum number of animals to return', [7]],
    ['4.1/limit-minimum (S4.1.2)', 'limit has the minimum 1', [1]],
    ['4.1/limit-maximum (S4.1.2)', 'limit has the maximum 100', [100]],
    ['8/limit (S8.1)', 'limit is from 1 to 100', [1, 2, 19, 21, 99, 100]],
  ],
  async (own, limit) => {
    await own.havePets(limit + 1);
    assertEqual((await listOf(own, `?limit=${limit}`)).length, limit, LENGTH);
  },
);

async function assertDefault(client: TestClient, status?: string): Promise<void> {
  await client.havePets(21, status);
  const query = status === undefined ? '' : `?status=${status}`;
  assertEqual((await listOf(client, query)).length, 20, LENGTH);
}

/**
 * Asserts that pages of this length miss no pet of a list of 100, and keep to its filter. The
 * evidence is the page that should have the first missing pet.
 */
async function assertPages(client: TestClient, length: number, status?: string): Promise<void> {
  const filter = status === undefined ? '' : `&status=${status}`;
  const expected = idsOf(await listOf(client, `?limit=100${filter}`));
  const found: unknown[] = [];
  const pages: Evidence[] = [];
  for await (const pets of pagesFrom(client, `/pets?limit=${length}${filter}`, expected.length)) {
    if (status !== undefined) assertFiltered(pets, status);
    found.push(...idsOf(pets));
    pages.push(client.lastExchange);
  }
  if (pages.length <= 1) throw new NotObserved(NO_PAGES);
  const missing = expected.filter((id) => !found.includes(id));
  const at = Math.floor(expected.indexOf(missing[0]) / length);
  client.lastExchange = pages[at] ?? pages.at(-1)!;
  assertEqual(missing, [], `the ids of a list of 100 that pages of ${length} miss`);
}

const listPets = declare('interface', {
  '4.1/limit-default (S4.1.2) limit has the default 20': (client) => assertDefault(client),

  '4.1/list (S4.1.4) GET /pets is 200 and a list of animals': assertHasPets,

  '4.1/filter (S4.1.3) status filters by availability status': each(
    STATUSES,
    async (own, status) => {
      await own.havePets(1, status);
      const pets = await listOf(own, `?status=${status}`);
      assertFiltered(pets, status);
      assert.ok(pets.length > 0, 'expected a list with pets');
    },
  ),

  '4.1/filter-limit (S4.1.3) limit counts the animals that pass the filter': each(
    STATUSES,
    async (own, status) => {
      // A service that applies limit before the filter returns too few pets.
      await addByTurns(own, 3);
      for (const query of [`?status=${status}&limit=2`, `?limit=2&status=${status}`]) {
        const pets = await listOf(own, query);
        assertEqual(pets.length, 2, LENGTH);
        assertFiltered(pets, status);
      }
    },
  ),

  '4.1/complete (relied on) A list that has room shows every animal that matches': each(
    [...STATUSES, undefined],
    assertLists,
  ),

  '4.1/once (relied on) A list shows no animal twice, on no page': async (client) => {
    await client.havePets(12);
    const ids: unknown[] = [];
    for await (const pets of pagesFrom(client, '/pets?limit=5', 20)) {
      ids.push(...idsOf(pets));
      assertDifferent(ids);
    }
  },

  '4.1/pages (relied on) Pages that follow one another miss no animal': async (client) => {
    await client.havePets(12);
    await assertPages(client, 7);
  },

  '4.1/pages-address (relied on) A Link to the next page leads below the base address': async (
    client,
  ) => {
    await client.havePets(3);
    const next = nextPage(client, await client.get('/pets?limit=2'));
    if (next === undefined) throw new NotObserved(NO_PAGES);
    assertBelowBase(client, next);
  },

  '4.1/pages-filter (relied on) Pages of a filtered list keep to the filter, and miss no animal':
    each(STATUSES, async (own, status) => {
      await addByTurns(own, 6);
      await assertPages(own, 5, status);
    }),
});

// S4.2: POST /pets, createPet.

/** As clients write the media type of JSON. */
const JSON_TYPES = [
  ...['application/json; charset=utf-8', 'application/json;charset=UTF-8', 'Application/JSON'],
  ...['application/json ; charset="utf-8"'],
];

/** More pets than a service may keep by mistake: more than two lists have. */
const STAYING = 250;

const createPet = declare('interface', {
  '4.2/created (S4.2.2) POST /pets adds an animal: 201': async (client) =>
    assertStatus(await client.post(client.newPet()), 201),

  '4.2/pet (S4.2.2) The answer is the Pet, which includes the assigned id': (client) =>
    assertAdds(client, 'available'),

  '4.2/body-required (S4.2.1) The request body is required': async (client) =>
    assertRefused(await client.send('POST', '/pets', JSON_TYPE)),

  '4.2/any-order (S2.2, S4.2.1) Request body: NewPet as JSON, in any order': async (client) => {
    const { name, categoryId } = client.newPet();
    const fields = `"status" : "sold",\n"categoryId":\t${categoryId} , "n\\u0061me":"${name}"`;
    const { pet } = await client.add(`\r\n\t {${fields}\r} \n`);
    assertPet(pet, client.newPet({ status: 'sold' }));
  },

  '4.2/charset (relied on) The Content-Type of a request may have a charset': each(
    JSON_TYPES,
    (own, type) => own.add(own.newPet(), { 'Content-Type': type }),
  ),

  '4.2/location (relied on) A Location leads below the base address': async (client) => {
    const { response } = await client.add(client.newPet());
    const location = response.headers.get('Location');
    if (location === null) throw new NotObserved('the service sends no Location');
    assertBelowBase(client, new URL(location, `${client.target.baseUrl}/pets`));
  },

  '4.2/in-chunks (relied on) A body in chunks is read, or refused with 411': async (client) => {
    const response = await client.postInChunks(stringifyExactJson(client.newPet()));
    const { status } = response;
    assert.ok(isAdded(response) || status === 411, `expected an added pet or 411, not ${status}`);
  },

  '4.2/once (S4.2.1) POST /pets adds one animal, not more': each([1, 5], (own, count) =>
    assertAddsOnly(own, async (name) => {
      const newPet = own.newPet({ name, status: 'pending' });
      const adding = Array.from({ length: count }, () => own.add(newPet));
      return (await Promise.all(adding)).map(({ id }) => id);
    }),
  ),

  '4.2/not-added (relied on) A refused animal is not added': (client) =>
    assertAddsOnly(client, async (name) => {
      await client.post({ name, status: 'pending' });
      await client.post(client.newPet({ name, status: 'lost' }));
      await client.post(client.newPet({ name, status: 'pending', categoryId: 'seven' }));
      await client.post(client.newPet({ name, status: 'pending' }), KEYLESS);
      return [];
    }),
});

// S4.3: GET /pets/{petId}, getPet, deprecated.

/** Values at which a conversion to int64 may fail. */
const NO_IDS = ['abc', '-', '9'.repeat(40), ...HARD_TEXTS];

/** Text that a lenient conversion ignores after the digits. */
const TAILS = ['abc', 'x', '.5', ',1', '%20x', 'e'];

const getPet = declare('interface', {
  '4.3/found (S4.3.1, S4.3.2) GET /pets/{petId} is 200 and the Pet when the animal is found': each(
    [undefined, ...STATUSES],
    async (own, status) => {
      const { id, pet } = await own.add(own.newPet({ status }));
      const response = await own.get(`/pets/${id}`);
      assertStatus(response, 200);
      if (response.status !== 200) throw new NotObserved('getPet is removed');
      const { name, categoryId } = pet;
      assertPet(fieldsOf(response), { id, name, categoryId, status: pet['status'] });
    },
  ),

  '4.3/not-found (S4.3.4) It is 404 when the animal cannot be found': each(
    [LOST_ID, 2n ** 62n + 1n, 2n ** 61n + 3n],
    async (own, petId) => assertStatus(await own.get(`/pets/${petId}`), 404),
  ),

  '4.3/no-id (relied on) A petId that is not an int64 is refused without a failure': each(
    NO_IDS,
    async (own, petId) => assertRefused(await own.get(`/pets/${petId}`)),
  ),

  '4.3/whole-id (relied on) A petId that only begins with an id is not that id': each(
    TAILS,
    async (own, tail) => {
      const { id } = await own.add(own.newPet());
      const found = await own.get(`/pets/${id}`);
      if (found.status !== 200) throw new NotObserved('the pet cannot be got by its id');
      const { status } = await own.get(`/pets/${id}${tail}`);
      assert.ok(status !== 200, 'expected another status than 200');
    },
  ),

  '4.3/replacement (S4.3.5) The replacement is GET /pets with the status filter': each(
    STATUSES,
    assertLists,
  ),
});

/** Run first, since an empty list can be seen only before another check adds a pet. */
const emptyLists = declare('interface', {
  '4.1/empty (S4.1.4) GET /pets is 200 and an empty list when no animal matches': each(
    ['', ...STATUSES.map((status) => `?status=${status}`)],
    async (own, query) => {
      const { length } = await listOf(own, query);
      if (length > 0) throw new NotObserved('there are pets of each status');
    },
  ),
});

// S5: authentication, and what S4 says of it for each operation.

/** The operations by the beginning of a title. */
const OPERATIONS: Readonly<Record<string, string>> = {
  '4.1/unauthorized (S4.1.5) GET /pets': 'GET /pets',
  '4.2/unauthorized (S4.2.4) POST /pets': 'POST /pets',
  '4.3/unauthorized (S4.3.3) GET /pets/{petId}': 'GET /pets/1',
};

/** Asserts that each operation with this Authorization is 401. An empty one is not sent. */
async function assertUnauthorized(client: TestClient, Authorization: string): Promise<void> {
  for (const operation of Object.values(OPERATIONS)) {
    assertStatus(await client.ask(operation, { Authorization }), 401);
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

const unauthorized = Object.entries(OPERATIONS).flatMap(([title, operation]) =>
  declare('interface', {
    [`${title} is 401 when the credential is missing or invalid`]: each(
      ['', 'Bearer no'],
      async (own, Authorization) => assertStatus(await own.ask(operation, { Authorization }), 401),
    ),
  }),
);

const authentication = declare('interface', {
  '5/required (S4.0, S5.1) Every operation requires a bearer credential': (client) =>
    assertUnauthorized(client, ''),

  '5/form (S5.2) The key is passed in the form Authorization: Bearer <API_KEY>': each(
    Object.values(OPERATIONS),
    async (own, operation) => {
      const { status } = await own.ask(operation);
      assert.ok(status !== 401, 'expected another status than 401 with the key');
    },
  ),

  '5/invalid (S5.3) An invalid credential is 401': each(WRONG, (own, [, of]) =>
    assertUnauthorized(own, of(own.target.key)),
  ),

  '5/key-case (S5.3) The key in another case is an invalid credential': async (client) => {
    const { key } = client.target;
    const upper = key.toUpperCase();
    const other = key === upper ? key.toLowerCase() : upper;
    if (other === key) throw new NotObserved('the key has no letters');
    await assertUnauthorized(client, `Bearer ${other}`);
  },
});

// S7: errors.

const LISTED: readonly [what: string, status: number, line: string, fields?: HeaderFields][] = [
  ['missing fields', 400, 'POST /pets {}'],
  ['invalid values', 400, 'POST /pets {"name":1,"categoryId":1}'],
  ['listPets without a key', 401, 'GET /pets', KEYLESS],
  ['createPet without a key', 401, 'POST /pets', KEYLESS],
  ['getPet without a key', 401, `GET /pets/${LOST_ID}`, KEYLESS],
  ['a missing pet', 404, `GET /pets/${LOST_ID}`],
];

/** Errors that SPEC.md does not list. If a service has them, each is an Error object. */
const NOT_LISTED = [
  ...['GET /pets?limit=0', 'GET /pets?limit=x', 'GET /pets?status=lost', 'GET /pets/x'],
  'POST /pets {',
];

/** Frameworks respond to these with a page of their own. */
const ELSEWHERE = ['GET /nothing', 'PUT /pets', 'PATCH /pets'];

async function assertErrorIfAny(client: TestClient, line: string): Promise<void> {
  const response = await client.ask(line);
  if (response.status < 400) throw new NotObserved('the service has no such errors');
  assertErrorObject(response);
}

const errors = declare('interface', {
  '7/status (S7.2, S7.3, S7.4) Each condition has its HTTP status': each(
    LISTED,
    async (own, [, status, ...request]) => assertStatus(await own.ask(...request), status),
  ),

  '7/error (S7.1) Every error response body is an Error object': each(
    LISTED,
    async (own, [, , ...request]) => {
      const response = await own.ask(...request);
      // The check 7/status asserts the status.
      if (response.status >= 400) assertErrorObject(response);
    },
  ),
  '7/error-not-listed (S7.1) Every error response body is an Error object, even of an error that is not listed':
    each(NOT_LISTED, assertErrorIfAny),
  '7/error-elsewhere (S7.1) Every error response body is an Error object, even of an unknown path or method':
    each(ELSEWHERE, assertErrorIfAny),
});

// S8: limits.

const OUTSIDE = ['101', '1000', '2147483648', '18446744073709551617', '0', '-1', '', 'all', '1e9'];

const limits = declare('interface', {
  '8/default (S8.1) The default of limit is 20': each(STATUSES, assertDefault),

  '8/never-more (S8.1) A list never has more than 100 animals, whatever is asked': each(
    OUTSIDE,
    async (own, limit) => {
      await own.havePets(101);
      const response = await own.get(`/pets?limit=${limit}`);
      // A gap (S8.2): the limit is refused or changed.
      if (isRefused(response.status)) return;
      const { length } = petsOf(response);
      assert.ok(length <= LONGEST_LIST, `expected at most 100 pets, not ${length}`);
    },
  ),
});

// S9: versions.

const versioning = declare('interface', {
  async '9/base-address (S1.3, S9.1) The version is carried in the base address path as the segment /v1'(
    client,
  ) {
    assert.ok(client.target.baseUrl.endsWith('/v1'), 'expected a base address that ends in /v1');
    assertStatus(await client.get('/pets'), 200);
  },

  async '9/until-removal (S9.3) GET /pets/{petId} continues to respond until 5 December 2030'(
    client,
  ) {
    const response = await client.get(`/pets/${(await client.add(client.newPet())).id}`);
    if (removalIn(response) !== 'to come') throw new NotObserved('that day is past');
    assertStatus(response, 200);
  },

  '9/removal (S4.3.5) GET /pets/{petId} is removed on 5 December 2030': async (client) => {
    const response = await client.get(`/pets/${(await client.add(client.newPet())).id}`);
    if (removalIn(response) !== 'past') throw new NotObserved('that day is to come');
    assertRefused(response);
  },
});

/** Run last: by then the service has many newer pets. */
export const staying: readonly Check[] = declare('interface', {
  '4.2/stays (S4.2.1) An added animal stays, to the end of a run': async (client) => {
    const { acknowledged, repeatedIds } = client.run;
    await client.addMany(STAYING - acknowledged.size);
    assertEqual([...repeatedIds], [], 'the ids that more than one added pet got');
    await assertStay(client, [...acknowledged.values()]);
  },
});

export const demands: readonly Check[] = [
  ...[emptyLists, fields, invalid, names, categories, inputs, allEndpoints, lengths, listPets],
  ...[createPet, getPet, unauthorized, authentication, errors, limits, versioning],
].flat();
