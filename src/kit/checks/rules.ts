/** Spec sections 5 to 9: authentication, errors, limits and versioning. */

import assert from 'node:assert/strict';
import { demand, each, eachCase, NotObserved, type Check } from '../check.ts';
import {
  assertErrorObject,
  assertGetPetStatus,
  assertLength,
  assertRefused,
  assertStatus,
  isRefused,
  LONGEST_LIST,
  LOST_ID,
  removalIn,
  STATUSES,
} from '../expect.ts';
import {
  petsOf,
  type HeaderFields,
  type ServiceResponse,
  type TestClient,
} from '../test-client.ts';

// Section 5: authentication, and what section 4 says of it for each operation.

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

const unauthorized = OPERATIONS.flatMap(([section, operation, send]) => {
  const title = `${section}/unauthorized ${operation} is 401 when the credential is missing or invalid`;
  return demand({
    [title]: each(['', 'Bearer no'], async (own, Authorization) => {
      assertUnauthorized(await send(own, { Authorization }), section);
    }),
  });
});

const authentication = demand({
  '5/required Every operation requires a bearer credential': (client) => assertInvalid(client, ''),

  '5/form The key is passed in the form Authorization: Bearer <API_KEY>': each(
    OPERATIONS,
    async (own, [, operation, send]) => {
      assert.notEqual((await send(own)).status, 401, `${operation} with the key: the status`);
    },
  ),

  '5/invalid An invalid credential is 401': each(WRONG, (own, [, of]) =>
    assertInvalid(own, of(own.target.key)),
  ),

  '5/key-case The key in another case is an invalid credential': async (client) => {
    const other = inOtherCase(client.target.key);
    if (other === client.target.key) throw new NotObserved('the key has no letters');
    await assertInvalid(client, `Bearer ${other}`);
  },
});

// Section 7: errors.

const NO_KEY = { Authorization: '' };

const LISTED: readonly [what: string, status: number, send: Send][] = [
  ['missing fields', 400, (to) => to.post({})],
  ['invalid values', 400, (to) => to.post(to.newPet({ name: 1 }))],
  ['listPets without a key', 401, (to) => to.send('GET', '/pets', NO_KEY)],
  ['createPet without a key', 401, (to) => to.post(to.newPet(), NO_KEY)],
  ['getPet without a key', 401, (to) => to.send('GET', `/pets/${LOST_ID}`, NO_KEY)],
  ['a missing pet', 404, (to) => to.get(`/pets/${LOST_ID}`)],
];

type Request = readonly [what: string, send: Send];

/** Errors that the specification does not list. If a service has them, each is an Error object. */
const NOT_LISTED: readonly Request[] = [
  ['limit=0', (to) => to.get('/pets?limit=0')],
  ['limit=x', (to) => to.get('/pets?limit=x')],
  ['status=lost', (to) => to.get('/pets?status=lost')],
  ['a petId x', (to) => to.get('/pets/x')],
  ['a body that is not JSON', (to) => to.post('{')],
];

/** Frameworks respond to these with a page of their own. */
const ELSEWHERE: readonly Request[] = [
  ['GET /nothing', (to) => to.get('/nothing')],
  ['PUT /pets', (to) => to.send('PUT', '/pets')],
  ['PATCH /pets', (to) => to.send('PATCH', '/pets')],
];

const assertErrorIfAny = async (own: TestClient, [, send]: Request): Promise<void> => {
  const response = await send(own);
  if (response.status < 400) throw new NotObserved('the service has no such errors');
  assertErrorObject(response);
};

const errors = demand({
  '7/status Each condition has its HTTP status': each(LISTED, async (own, [, status, send]) => {
    const response = await send(own);
    if (status === 400) assertStatus(response, status);
    else assertGetPetStatus(response, status);
  }),

  '7/error Every error response body is an Error object': each(LISTED, async (own, [, , send]) => {
    const response = await send(own);
    // The check 7/status asserts the status.
    if (response.status >= 400) assertErrorObject(response);
  }),
  '7/error-not-listed Every error response body is an Error object, even of an error that is not listed':
    each(NOT_LISTED, assertErrorIfAny),
  '7/error-elsewhere Every error response body is an Error object, even of an unknown path or method':
    each(ELSEWHERE, assertErrorIfAny),
});

// Section 8: limits.

const OUTSIDE = ['101', '1000', '2147483648', '18446744073709551617', '0', '-1', '', 'all', '1e9'];

const limits = demand({
  '8/limit limit is from 1 to 100': async (client) => {
    await client.havePets(101);
    await eachCase(client, [1, 2, 19, 21, 99, 100], (own, limit) =>
      assertLength(own, `?limit=${limit}`, limit),
    );
  },

  '8/default The default of limit is 20': each(STATUSES, async (own, status) => {
    await own.havePets(21, status);
    await assertLength(own, `?status=${status}`, 20);
  }),

  '8/never-more A list never has more than 100 animals, whatever is asked': async (client) => {
    await client.havePets(101);
    await eachCase(client, OUTSIDE, async (own, limit) => {
      const response = await own.get(`/pets?limit=${limit}`);
      // The specification does not say if the limit is refused or changed.
      if (isRefused(response.status)) return;
      const { length } = petsOf(response);
      assert.ok(length <= LONGEST_LIST, `expected at most 100 pets, not ${length}`);
    });
  },
});

// Section 9: versioning.

const versioning = demand({
  '9/base-address The version is carried in the base address path as the segment /v1': async (
    client,
  ) => {
    assert.match(client.target.baseUrl, /\/v1$/, 'the base address');
    assertStatus(await client.get('/pets'), 200);
  },

  '9/until-removal GET /pets/{petId} continues to respond until 5 December 2030': async (
    client,
  ) => {
    const response = await client.get(`/pets/${(await client.add(client.newPet())).id}`);
    if (removalIn(response) !== 'to come') throw new NotObserved('that day is past');
    assertStatus(response, 200);
  },

  '9/removal GET /pets/{petId} is removed on 5 December 2030': async (client) => {
    const response = await client.get(`/pets/${(await client.add(client.newPet())).id}`);
    if (removalIn(response) !== 'past') throw new NotObserved('that day is to come');
    assertRefused(response);
  },
});

export const rules: readonly Check[] = [
  ...unauthorized,
  ...authentication,
  ...errors,
  ...limits,
  ...versioning,
];
