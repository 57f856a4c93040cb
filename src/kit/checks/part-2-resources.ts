/** The interface's part 2: resources and their fields. */

import assert from 'node:assert/strict';
import { demand, NotObserved, type Check } from '../check.ts';
import { fieldsOf, petsOf, toJson, type Client, type Fields } from '../client.ts';
import {
  assertErrorObject,
  assertKept,
  assertPet,
  assertStatus,
  isRefused,
  STATUSES,
} from '../expect.ts';

const NO_STATUS = ['Available', 'SOLD', '', 'available ', 'adopted', 'toString', 'sold\0'];
const NO_NAME = [null, true, false, 0, 1.5, [], ['Rex'], {}, { name: 'Rex' }];
const NO_CATEGORY = [null, true, false, '', '1', 1.5, [], [1], {}];
const NO_STATUS_TYPE = [true, false, 0, 1, [], ['sold'], {}];
const BEYOND_INT64 = [2n ** 63n, -(2n ** 63n) - 1n, 2n ** 64n + 1n];

/** Fails unless each of the values is refused with 400. */
async function assertInvalid(
  client: Client,
  field: string,
  values: readonly unknown[],
): Promise<void> {
  for (const value of values) {
    const response = await client.post(client.newPet({ [field]: value }));
    assertStatus(response, 400, `${field} ${toJson(value)}`);
  }
}

/** Adds the pet, or sees that the service has a limit of its own on what the interface leaves open. */
async function addIfAccepted(client: Client, fields: Fields): Promise<Fields> {
  const response = await client.post(client.newPet(fields));
  if (isRefused(response.status)) throw new NotObserved('the service refuses such a NewPet');
  return fieldsOf(response);
}

/** What a client may send as a name, and a service is tempted to change. */
const NAMES: readonly [id: string, sentence: string, name: string][] = [
  [
    '2/name-spaces',
    'A name comes back as it was sent: spaces at its ends',
    '  Conformance\tRex \u00a0',
  ],
  [
    '2/name-unicode',
    'A name comes back as it was sent: letters in composed and decomposed form',
    'Ze\u0301\u00e9 \ufb01 \u212b',
  ],
  ['2/name-markup', 'A name comes back as it was sent: markup', '<b>Tom & "Jerry"</b> &amp; &#39;'],
  [
    '2/name-escapes',
    'A name comes back as it was sent: quotes, backslashes and percent signs',
    '\\n\\u0041 "\\" %20 \' $1',
  ],
  ['2/name-plane', 'A name comes back as it was sent: characters beyond 16 bits', '🐕 𐍈'],
  ['2/name-case', 'A name comes back as it was sent: letters in either case', 'cONFORMANCE ıİß'],
  ['2/name-number', 'A name comes back as it was sent: digits that look like a number', '007'],
  [
    '2/name-300',
    'A name comes back as it was sent: 300 characters',
    `Conformance ${'x'.repeat(288)}`,
  ],
  [
    '2/name-1000',
    'A name comes back as it was sent: 1,000 characters',
    `Conformance ${'é'.repeat(988)}`,
  ],
];

const names = NAMES.map(([id, sentence, name]) =>
  demand(id, sentence, async (client) => {
    const pet = await addIfAccepted(client, { name });
    assert.equal(pet['name'], name, 'the name of the Pet');
    await assertKept(client, pet);
  }),
);

/** Each value that only a wider integer holds, with one beside it that a narrower holds, too. */
const WIDTHS: readonly [id: string, sentence: string, pairs: readonly [bigint, bigint][]][] = [
  [
    '2/category-32-bits',
    'NewPet: categoryId is an int64, beyond 32 bits',
    [
      [2n ** 31n, 2n ** 31n - 1n],
      [2n ** 32n + 1n, 2n ** 31n - 1n],
      [-(2n ** 31n) - 1n, -(2n ** 31n)],
    ],
  ],
  [
    '2/category-53-bits',
    'NewPet: categoryId is an int64, to the digit',
    [
      [2n ** 53n + 1n, 2n ** 53n - 1n],
      [-(2n ** 53n) - 1n, -(2n ** 53n) + 1n],
    ],
  ],
  [
    '2/category-64-bits',
    'NewPet: categoryId is an int64, to its ends',
    [
      [2n ** 63n - 1n, 2n ** 62n + 1n],
      [-(2n ** 63n), -(2n ** 62n) - 1n],
    ],
  ],
];

const widths = WIDTHS.map(([id, sentence, pairs]) =>
  demand(id, sentence, async (client) => {
    let isObserved = false;
    for (const [categoryId, narrower] of pairs) {
      const response = await client.post(client.newPet({ categoryId }));
      if (isRefused(response.status)) {
        // Whether there must be such a category is a gap; but the width must not decide it.
        const other = await client.post(client.newPet({ categoryId: narrower }));
        assert.ok(isRefused(other.status), `expected ${categoryId} accepted, as ${narrower} is`);
        continue;
      }
      isObserved = true;
      const pet = fieldsOf(response);
      assertPet(pet, { categoryId });
      await assertKept(client, pet);
    }
    if (!isObserved) throw new NotObserved('the service knows no such categories');
  }),
);

export const resources: readonly Check[] = [
  demand('2/status-values', 'PetStatus allows available, pending and sold', async (client) => {
    for (const status of STATUSES) {
      const newPet = client.newPet({ status });
      assertPet((await client.add(newPet)).pet, newPet);
    }
  }),

  demand('2/status-others', 'PetStatus allows no other value', (client) =>
    assertInvalid(client, 'status', NO_STATUS),
  ),
  demand('2/name-required', 'NewPet: name is required', (client) =>
    assertInvalid(client, 'name', [undefined]),
  ),
  demand('2/category-required', 'NewPet: categoryId is required', (client) =>
    assertInvalid(client, 'categoryId', [undefined]),
  ),
  demand('2/status-optional', 'NewPet: status is not required', async (client) => {
    await client.add(client.newPet());
  }),
  demand('2/name-type', 'NewPet: name is a string', (client) =>
    assertInvalid(client, 'name', NO_NAME),
  ),
  demand('2/category-type', 'NewPet: categoryId is an integer', (client) =>
    assertInvalid(client, 'categoryId', NO_CATEGORY),
  ),
  demand('2/status-type', 'NewPet: status is a PetStatus', (client) =>
    assertInvalid(client, 'status', NO_STATUS_TYPE),
  ),
  ...names,
  ...widths,
  demand('2/category-beyond', 'NewPet: categoryId is not beyond int64', (client) =>
    assertInvalid(client, 'categoryId', BEYOND_INT64),
  ),

  demand('2/pet-fields', 'Pet: all fields of NewPet plus id', async (client) => {
    const newPet = client.newPet({ status: 'sold' });
    assertPet((await client.add(newPet)).pet, newPet);
  }),

  demand(
    '2/id-unique',
    'Pet: id is a unique identifier assigned by the service on creation',
    async (client) => {
      const ids: bigint[] = [];
      for (let i = 0; i < 5; i += 1) ids.push((await client.add(client.newPet())).id);
      assert.equal(new Set(ids).size, ids.length, `different ids of ${ids.join()}, so many`);
    },
  ),

  demand('2/id-concurrent', 'Pet: animals added at once have different ids', async (client) => {
    const adding = Array.from({ length: 20 }, () => client.add(client.newPet()));
    const ids = (await Promise.all(adding)).map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, `different ids of ${ids.join()}, so many`);
  }),

  demand('2/id-own', "Pet: id is the service's own, whatever id is sent", async (client) => {
    const older = await client.add(client.newPet({ name: 'Conformance older' }));
    for (const id of [older.id, 2n ** 62n - older.id, 0n]) {
      const pet = await addIfAccepted(client, { id });
      assert.notEqual(pet['id'], id, 'the id of the Pet');
    }
    await assertKept(client, older.pet);
  }),

  demand(
    '2/pet-carries',
    'A Pet in a response always carries id, name and categoryId',
    async (client) => {
      const newPet = client.newPet();
      const { pet } = await client.add(newPet);
      assertPet(pet, newPet);
      await assertKept(client, pet);
      for (const one of petsOf(await client.get('/pets?limit=100'))) assertPet(one);
    },
  ),

  demand('2/pets-array', 'Pets: a JSON array of Pet objects', async (client) => {
    await client.havePets(1);
    const pets = petsOf(await client.get('/pets'));
    assert.notEqual(pets.length, 0, 'the number of pets in the list');
    for (const pet of pets) assertPet(pet);
  }),

  demand(
    '2/error-fields',
    'Error: code and message, and status, which is that of the response',
    async (client) => {
      assertErrorObject(await client.post({}));
      assertErrorObject(await client.send('GET', '/pets', { Authorization: '' }));
    },
  ),
];
