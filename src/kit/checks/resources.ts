/** Spec sections 2 and 3: resources, their fields, and the states of a pet. */

import assert from 'node:assert/strict';
import { demand, each, NotObserved, type Check } from '../check.ts';
import {
  addInTurn,
  assertAdds,
  assertDifferent,
  assertErrorObject,
  assertHasPets,
  assertKept,
  assertLists,
  assertPet,
  assertStatus,
  isRefused,
  STATUSES,
} from '../expect.ts';
import { fieldsOf, petsOf, type Fields, type TestClient } from '../test-client.ts';

/** Adds a pet. Rejects with NotObserved if the service refuses it, as a valid service may. */
async function addIfAccepted(client: TestClient, fields: Fields): Promise<Fields> {
  const response = await client.post(client.newPet(fields));
  if (isRefused(response.status)) throw new NotObserved('the service refuses such a NewPet');
  return fieldsOf(response);
}

/** Names that a service may change by mistake. */
const NAMES: readonly [id: string, what: string, name: string][] = [
  ['2/name-spaces', 'spaces at its ends', '  Conformance\tRex \u00a0'],
  ['2/name-lines', 'line ends of every kind', 'Conformance\r\nRex\rRex\nRex\u2028'],
  ['2/name-unicode', 'letters in composed and decomposed form', 'Ze\u0301\u00e9 \ufb01 \u212b'],
  ['2/name-markup', 'markup', '<b>Tom & "Jerry"</b> &amp; &#39;'],
  ['2/name-escapes', 'quotes, backslashes and percent signs', '\\n\\u0041 "\\" %20 \' $1'],
  ['2/name-plane', 'characters beyond 16 bits', '🐕 𐍈'],
  ['2/name-case', 'letters in either case', 'cONFORMANCE ıİß'],
  ['2/name-number', 'digits that look like a number', '007'],
  ['2/name-300', '300 characters', `Conformance ${'x'.repeat(288)}`],
  ['2/name-1000', '1,000 characters', `Conformance ${'é'.repeat(988)}`],
];

/** Asserts that a NewPet with these fields is refused with 400. */
async function assertInvalid(client: TestClient, fields: Fields): Promise<void> {
  assertStatus(await client.post(client.newPet(fields)), 400);
}

const names = NAMES.flatMap(([id, what, name]) =>
  demand({
    [`${id} A name comes back as it was sent: ${what}`]: async (client) => {
      const pet = await addIfAccepted(client, { name });
      assert.equal(pet['name'], name, 'the name of the Pet');
      await assertKept(client, pet);
    },
  }),
);

/** An unlikely category: if the service accepts it, it accepts categories that do not exist. */
const ANY_CATEGORY = 1_914_638_257n;

/** Categories that a service may refuse or change by mistake. */
const CATEGORIES: readonly [id: string, what: string, values: readonly bigint[]][] = [
  ['2/category-zero', 'which may be 0', [0n]],
  ['2/category-negative', 'which may be negative', [-1n, -ANY_CATEGORY]],
  ['2/category-32-bits', 'beyond 32 bits', [2n ** 31n, 2n ** 32n + 1n, -(2n ** 31n) - 1n]],
  ['2/category-53-bits', 'to the digit', [2n ** 53n + 1n, -(2n ** 53n) - 1n]],
  ['2/category-64-bits', 'also the least and the greatest one', [2n ** 63n - 1n, -(2n ** 63n)]],
];

const categories = CATEGORIES.flatMap(([id, what, values]) =>
  demand({
    [`${id} NewPet: categoryId is an int64, ${what}`]: each(values, async (own, categoryId) => {
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
      await assertKept(own, pet);
    }),
  }),
);

const NO_STATUS = ['Available', 'SOLD', '', 'available ', 'adopted', 'toString', 'sold\0'];
const NO_NAME = [null, true, false, 0, 1.5, [], ['Rex'], {}, { name: 'Rex' }];
const NO_CATEGORY = [null, true, false, '', '1', 1.5, [], [1], {}];
const NO_STATUS_TYPE = [true, false, 0, 1, [], ['sold'], {}];
const BEYOND_INT64 = [2n ** 63n, -(2n ** 63n) - 1n, 2n ** 64n + 1n];

/** Values of a field that must be refused with 400. */
const INVALID: readonly [title: string, field: string, values: readonly unknown[]][] = [
  ['2/status-others PetStatus allows no other value', 'status', NO_STATUS],
  ['2/name-required NewPet: name is required', 'name', [undefined]],
  ['2/category-required NewPet: categoryId is required', 'categoryId', [undefined]],
  ['2/name-type NewPet: name is a string', 'name', NO_NAME],
  ['2/category-type NewPet: categoryId is an integer', 'categoryId', NO_CATEGORY],
  ['2/status-type NewPet: status is a PetStatus', 'status', NO_STATUS_TYPE],
  ['2/category-beyond NewPet: categoryId is not beyond int64', 'categoryId', BEYOND_INT64],
];

const invalid = INVALID.flatMap(([title, field, values]) => {
  const changes = values.map((value) => ({ [field]: value }));
  return demand({ [title]: each(changes, assertInvalid) });
});

const fields = demand({
  '2/status-values PetStatus allows available, pending and sold': each(STATUSES, assertAdds),
  '2/status-optional NewPet: status is not required': (client) => assertAdds(client),
  '2/pet-fields Pet: all fields of NewPet plus id': (client) => assertAdds(client, 'sold'),

  '2/id-unique Pet: id is a unique identifier assigned by the service on creation': async (
    client,
  ) => {
    assertDifferent(await addInTurn(client, 5));
  },

  '2/id-concurrent Pet: animals added at once have different ids': async (client) => {
    const adding = Array.from({ length: 20 }, () => client.add(client.newPet()));
    assertDifferent((await Promise.all(adding)).map(({ id }) => id));
  },

  "2/id-own Pet: id is the service's own, whatever id is sent": async (client) => {
    const older = await client.add(client.newPet({ name: 'Conformance older' }));
    for (const id of [older.id, 2n ** 62n - older.id, 0n]) {
      const pet = await addIfAccepted(client, { id });
      assert.notEqual(pet['id'], id, 'the id of the Pet');
    }
    await assertKept(client, older.pet);
  },

  '2/pet-carries A Pet in a response always carries id, name and categoryId': async (client) => {
    await assertAdds(client);
    for (const one of petsOf(await client.get('/pets?limit=100'))) assertPet(one);
  },

  '2/status-null A Pet in a response has no null, even if null was sent': async (client) => {
    const pet = await addIfAccepted(client, { status: null });
    assertPet(pet);
    await assertKept(client, pet);
  },

  '2/pets-array Pets: a JSON array of Pet objects': assertHasPets,

  '2/error-fields Error: code and message, and status, which is that of the response': async (
    client,
  ) => {
    assertErrorObject(await client.post({}));
    assertErrorObject(await client.send('GET', '/pets', { Authorization: '' }));
  },

  // Section 3: states and transitions.
  '3/status-set The status can be set when an animal is created': each(STATUSES, assertAdds),

  '3/status-filter The status can be used as a filter when listing': each(STATUSES, assertLists),
});

export const resources: readonly Check[] = [...fields, ...invalid, ...names, ...categories];
