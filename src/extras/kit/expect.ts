/**
 * Assertions of what SPEC.md says about responses, and nothing more. If an assertion
 * cannot see what it must judge, it throws NotObserved: the check must not count as "holds".
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { inspect, isDeepStrictEqual } from 'node:util';
import { cut } from '../../core/base/quote.ts';
import { NotObserved } from './check.ts';
import {
  fieldsOf,
  idsOf,
  petsOf,
  type Fields,
  type HeaderFields,
  type ServiceResponse,
  type TestClient,
} from './test-client.ts';

/** The PetStatus values (S2.1). */
export const STATUSES = ['available', 'pending', 'sold'] as const;

/** The most pets in a list (S8.1). A shorter list has all pets that match. */
export const LONGEST_LIST = 100;

/** An id that no service is likely to have assigned. */
export const LOST_ID: bigint = 2n ** 63n - 1n;

/** Throws an error that says what was expected and received, on one line. */
export function assertEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  assert.fail(`${what}: expected ${shown(expected)}, received ${shown(actual)}`);
}

/** Returns a value on one line, with bigints as JSON numbers. */
function shown(value: unknown): string {
  // An integer beyond int64, which inspect would round.
  if (Number.isInteger(value)) return String(BigInt(value as number));
  const options = { breakLength: Infinity, compact: true, depth: 5, maxArrayLength: 20 };
  return cut(inspect(value, options).replace(/(?<=[0-9])n\b/g, ''), 200);
}

/** After the removal of getPet (S4.3.5) any 4xx of it is valid. */
export function assertStatus(response: ServiceResponse, status: number): void {
  const removal = /\/pets\/[^/?]+$/.test(response.path) ? removalIn(response) : 'to come';
  if (removal === 'past' || (removal === 'today' && response.status !== status)) {
    assertRefused(response);
  } else assertEqual(response.status, status, 'the status');
}

/** Any status 4xx: for a request for which SPEC.md names no status. */
export function assertRefused({ status }: ServiceResponse): void {
  assert.ok(isRefused(status), `expected a status 4xx, not ${status}`);
}

export function isRefused(status: number): boolean {
  return status >= 400 && status <= 499;
}

/** An Error object (S2.5, S7.1) with the status of the response. */
export function assertErrorObject(response: ServiceResponse): void {
  const { code, message, status } = fieldsOf(response);
  assertEqual(typeof code, 'string', 'the type of code');
  assertEqual(typeof message, 'string', 'the type of message');
  assertEqual(status, BigInt(response.status), 'the status in the body');
}

/** application/json, with or without parameters. */
export function assertJsonType({ headers }: ServiceResponse): void {
  const [type = ''] = (headers.get('Content-Type') ?? '').split(';');
  assertEqual(type.trim().toLowerCase(), 'application/json', 'the Content-Type');
}

/** A Pet (S2.3) with the expected fields. */
export function assertPet(pet: Fields, expected: Fields = {}): void {
  const { id, name, categoryId, status } = pet;
  for (const [field, value] of Object.entries({ id, categoryId })) {
    assertEqual(typeof value === 'bigint' ? 'int64' : value, 'int64', `the ${field} of the Pet`);
  }
  assertEqual(typeof name, 'string', 'the type of name');
  const isStatus = status === undefined || STATUSES.some((known) => known === status);
  assert.ok(isStatus, `expected a status that is a PetStatus or absent, not ${String(status)}`);
  for (const [field, value] of Object.entries(expected)) {
    if (value !== undefined) assertEqual(pet[field], value, `the ${field} of the Pet`);
  }
}

/** Adds a pet with this status. Asserts that the response and a later one have the Pet. */
export async function assertAdds(client: TestClient, status?: string): Promise<void> {
  const newPet = client.newPet({ status });
  const { pet } = await client.add(newPet);
  assertPet(pet, newPet);
  await assertKept(client, pet);
}

/** Adds a pet with this status, and asserts that the lists with the status as filter have it. */
export async function assertLists(client: TestClient, status?: string): Promise<void> {
  const { pet } = await client.add(client.newPet({ status }));
  if (status !== undefined) {
    assertFiltered(await listOf(client, `?status=${status}`), status);
  }
  const { id, name, categoryId } = pet;
  assertPet(await findListed(client, pet), { id, name, categoryId });
}

/** Resolves with the pets in a list. Its status must be 200. */
export async function listOf(client: TestClient, query = ''): Promise<readonly Fields[]> {
  const response = await client.get(`/pets${query}`);
  assertStatus(response, 200);
  return petsOf(response);
}

/** Asserts that the list of all pets is an array of Pets, and is not empty. */
export async function assertHasPets(client: TestClient): Promise<void> {
  await client.havePets(1);
  const pets = await listOf(client);
  assert.ok(pets.length > 0, 'expected a list with pets');
  for (const pet of pets) assertPet(pet);
}

/**
 * Asserts that the service still has the pets: the first of them by their ids, and all of them in
 * the lists, each once, with its name and category. What lists without pages do not show is asked
 * for by its id.
 */
export async function assertStay(client: TestClient, pets: readonly Fields[]): Promise<void> {
  for (const pet of pets.slice(0, FIRST)) {
    assertStatus(await client.get(`/pets/${pet['id']}`), 200);
    await assertKept(client, pet);
  }
  const added = new Map(pets.map((pet) => [pet['id'], pet]));
  const { pets: listed, isAll } = await listAll(client);
  const found = listed.filter(({ id }) => added.has(id));
  const ids = idsOf(found);
  assertDifferent(ids);
  for (const pet of found) {
    const { name, categoryId } = added.get(pet['id'])!;
    // What becomes of unusual names is for other checks.
    if (String(name).startsWith('Conformance')) assertPet(pet, { name, categoryId });
  }
  const unseen = [...added.keys()].filter((id) => !ids.includes(id));
  if (isAll) return assertEqual(unseen, [], 'the ids of pets that the lists do not show');
  for (const id of unseen) {
    const response = await client.get(`/pets/${String(id)}`);
    assertStatus(response, 200);
    if (response.status !== 200) throw new NotObserved(MORE_PETS);
  }
}

const FIRST = 10;

/** Asserts that the service still has the pet as it was added: by its id, or else in a list. */
export async function assertKept(client: TestClient, pet: Fields): Promise<void> {
  const response = await client.get(`/pets/${pet['id']}`);
  const found = response.status === 200 ? fieldsOf(response) : await findListed(client, pet);
  for (const field of ['id', 'name', 'categoryId', 'status']) {
    assertEqual(found[field], pet[field], `the ${field} of the Pet in a later response`);
  }
}

/** Like `assertKept`, but also asserts that the lists, if they show the pet, have it as added. */
export async function assertComesBack(client: TestClient, pet: Fields): Promise<void> {
  await assertKept(client, pet);
  const { id, name, categoryId } = pet;
  const { pets } = await listAll(client, pet['status'], id);
  for (const one of pets) if (one['id'] === id) assertPet(one, { name, categoryId });
}

/**
 * Resolves with the pet from the lists, on any page that a Link with rel="next" leads to. Rejects
 * with NotObserved if there may be more pets than the lists show.
 */
async function findListed(client: TestClient, pet: Fields): Promise<Fields> {
  const { pets, isAll } = await listAll(client, pet['status'], pet['id']);
  const found = pets.at(-1);
  if (found?.['id'] === pet['id']) return found!;
  assert.ok(!isAll, `expected pet ${String(pet['id'])} in the list, which is not full`);
  throw new NotObserved(MORE_PETS);
}

export const MORE_PETS = 'there are more pets than a list shows';
const MOST_PAGES = 50;

/**
 * Resolves with the pets of all pages, up to the one with the id `lastId`, if there is one. `isAll`
 * is false if the service may have more.
 */
export async function listAll(
  client: TestClient,
  status?: unknown,
  lastId?: unknown,
): Promise<{ readonly pets: readonly Fields[]; readonly isAll: boolean }> {
  const filter = status === undefined ? '' : `&status=${String(status)}`;
  const found: Fields[] = [];
  let [pages, lastLength] = [0, 0];
  for await (const pets of pagesFrom(client, `/pets?limit=${LONGEST_LIST}${filter}`, MOST_PAGES)) {
    const end = lastId === undefined ? -1 : idsOf(pets).indexOf(lastId);
    found.push(...(end < 0 ? pets : pets.slice(0, end + 1)));
    if (end >= 0) return { pets: found, isAll: false };
    [pages, lastLength] = [pages + 1, pets.length];
  }
  const isAll = pages > 1 ? pages < MOST_PAGES : lastLength < LONGEST_LIST;
  return { pets: found, isAll };
}

/** Adds a pet. Rejects with NotObserved if the service refuses it, as a valid service may. */
export async function addIfAccepted(client: TestClient, fields: Fields): Promise<Fields> {
  const response = await client.post(client.newPet(fields));
  if (isRefused(response.status)) throw new NotObserved('the service refuses such a NewPet');
  return fieldsOf(response);
}

/** The most ids that are tried one by one. */
const NEAR = 30n;

/**
 * Asserts that the service adds the pets whose ids `act` resolves with, and no others with the name
 * that `act` gets, except one that shows that the service accepts the name. If the lists do not
 * show all pets, it tries the ids between that pet and one that is added after them. Rejects with
 * NotObserved if these are far apart, too, or if the name is refused.
 */
export async function assertAddsOnly(
  client: TestClient,
  act: (name: string) => Promise<readonly unknown[]>,
): Promise<void> {
  // A service may limit the length and the characters of names: this is like the default name.
  const name = `Kit ${String.fromCharCode(...randomBytes(8).map((byte) => 97 + (byte % 26)))}`;
  const before = (await addIfAccepted(client, { name }))['id'] as bigint;
  const ids = await act(name);
  const { id: after } = await client.add(client.newPet());
  const found = new Set<unknown>();
  const [all, pending] = [await listAll(client), await listAll(client, 'pending')];
  for (const pet of [...all.pets, ...pending.pets]) if (pet['name'] === name) found.add(pet['id']);
  const isNear =
    after - before > 0n &&
    after - before <= NEAR &&
    (await client.get(`/pets/${before}`)).status === 200;
  for (let id = before + 1n; isNear && id < after; id += 1n) {
    const response = await client.get(`/pets/${id}`);
    if (response.status === 200 && fieldsOf(response)['name'] === name) found.add(id);
  }
  const others = Array.from(found).filter((id) => id !== before && !ids.includes(id));
  assertEqual(others, [], `the ids of other pets with the name ${JSON.stringify(name)}`);
  if (!all.isAll && !pending.isAll && !isNear) throw new NotObserved(MORE_PETS);
}

/** A request with a body, which a service may leave on the connection. */
type WithBody = readonly [what: string, method: string, path: string, fields: HeaderFields];

export const KEYLESS = { Authorization: '' };
export const JSON_TYPE = { 'Content-Type': 'application/json' };
const CHUNKED = { 'Transfer-Encoding': 'chunked' };

export const WITH_BODY: readonly WithBody[] = [
  ['a create', 'POST', '/pets', JSON_TYPE],
  ['a create without a key', 'POST', '/pets', { ...JSON_TYPE, ...KEYLESS }],
  ['a create of another media type', 'POST', '/pets', { 'Content-Type': 'text/plain' }],
  ['another method', 'PUT', '/pets', JSON_TYPE],
  ['another path', 'POST', '/nothing', JSON_TYPE],
  ['a list with a body', 'GET', '/pets?limit=1', JSON_TYPE],
  ['a create in chunks', 'POST', '/pets', { ...JSON_TYPE, ...CHUNKED }],
  ['a create in chunks without a key', 'POST', '/pets', { ...JSON_TYPE, ...CHUNKED, ...KEYLESS }],
];

/** Asserts that the service takes nothing of the body for the next request on the connection. */
export async function assertNothingLeft(
  client: TestClient,
  [, method, path, fields]: WithBody,
): Promise<void> {
  // It is no NewPet, so that a probe adds none.
  const body = '{"name":"Conformance rest"}';
  const isChunked = 'Transfer-Encoding' in fields;
  const sent = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  const length: HeaderFields = isChunked ? {} : { 'Content-Length': `${body.length}` };
  const status = await client.statusAfter(method, path, { ...fields, ...length }, sent);
  if (status === 429) throw new NotObserved('the service limits the rate of requests');
  const isSound = status === undefined || status === 200;
  assert.ok(isSound, `expected 200 for the next request on the connection, not ${status}`);
}

/**
 * Yields the pets of a page and of the pages after it. While the caller judges a page, that page is
 * the client's last exchange, and so the evidence of a failure.
 */
export async function* pagesFrom(
  client: TestClient,
  path: string,
  mostPages: number,
): AsyncGenerator<readonly Fields[], void, undefined> {
  let next: string | undefined = path;
  for (let page = 0; next !== undefined && page < mostPages; page += 1) {
    const response = await client.get(next);
    assertStatus(response, 200);
    yield petsOf(response);
    const { pathname = '', search } = nextPage(client, response) ?? {};
    const base = new URL(client.target.baseUrl).pathname;
    next = pathname.startsWith(base) ? `${pathname.slice(base.length)}${search}` : undefined;
  }
}

/** Returns the address of the next page (RFC 8288), or undefined if no Link leads to one. */
export function nextPage(client: TestClient, { headers }: ServiceResponse): URL | undefined {
  const field = headers.get('Link') ?? '';
  const links = [...field.matchAll(LINK)];
  const isReadable = links.map(([link]) => link).join('') === field;
  assert.ok(isReadable, 'expected a Link that can be read (RFC 8288)');
  const next = links.find(([, , parameters = '']) => {
    const pairs = Array.from(parameters.matchAll(PARAMETER), ([, name = '', quoted, token]) => {
      return { name: name.toLowerCase(), value: quoted ?? token ?? '' };
    });
    const relations = pairs.find(({ name }) => name === 'rel')?.value.toLowerCase() ?? '';
    // A link with an anchor is about another resource.
    const isElsewhere = pairs.some(({ name }) => name === 'anchor');
    return relations.split(/[ \t]+/).includes('next') && !isElsewhere;
  });
  if (next === undefined) return undefined;
  const base = `${client.target.baseUrl}/pets`;
  assert.ok(URL.canParse(next[1]!, base), 'expected a Link to a URL');
  return new URL(next[1]!, base);
}

/**
 * A parameter of a link: its name, and its value in quotes or as a token. Each part begins with the
 * whitespace before it, so that a long field of a wrong service is read in one way only.
 */
const PARAMETER: RegExp =
  /[ \t]*;(?:[ \t]*([^\s"(),/:;<=>?@[\\\]{}]+))?(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+)))?/g;
/** A link with its target and its parameters, and the comma behind it. */
const LINK = new RegExp(`[ \\t,]*<([^>]*)>((?:${PARAMETER.source})*)[ \\t]*(?:,[ \\t,]*|$)`, 'gy');

/** Asserts that a client may send its API key to the address. */
export function assertBelowBase({ target }: TestClient, { href }: URL): void {
  const base = `${new URL(target.baseUrl).href}/`;
  assert.ok(href.startsWith(base), `expected an address below ${base}, not ${href}`);
}

/** Adds pets one after the other. Resolves with their ids. */
export async function addInTurn(client: TestClient, count: number): Promise<readonly bigint[]> {
  const ids: bigint[] = [];
  for (let i = 0; i < count; i += 1) ids.push((await client.add(client.newPet())).id);
  return ids;
}

export function assertDifferent(ids: readonly unknown[]): void {
  assertEqual(new Set(ids).size, ids.length, `the number of different ids in ${ids.join()}`);
}

/** Asserts that every pet of a filtered list has the status. */
export function assertFiltered(pets: readonly Fields[], status: string): void {
  for (const pet of pets) assertEqual(pet['status'], status, 'the status of a pet in the list');
}

/**
 * Returns whether getPet is removed, by the service's clock. SPEC.md names no time zone
 * for 5 December 2030: the day begins in the first zone on earth and ends in the last.
 */
export function removalIn({ headers }: ServiceResponse): 'to come' | 'today' | 'past' {
  const date = Date.parse(headers.get('Date') ?? '');
  const now = Number.isNaN(date) ? Date.now() : date;
  if (now < Date.parse('2030-12-05T00:00:00+14:00')) return 'to come';
  return now < Date.parse('2030-12-06T00:00:00-12:00') ? 'today' : 'past';
}
