/**
 * Assertions of what SPEC.md says about responses, and nothing more. If an assertion
 * cannot see what it must judge, it throws NotObserved: the check must not count as "holds".
 */

import assert from 'node:assert/strict';
import { inspect, isDeepStrictEqual } from 'node:util';
import { cut } from '../../core/base/quote.ts';
import { NotObserved } from './check.ts';
import {
  fieldsOf,
  petsOf,
  type Fields,
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

/** Asserts that the service still has the pet as it was added: by its id, or else in a list. */
export async function assertKept(client: TestClient, pet: Fields): Promise<void> {
  const response = await client.get(`/pets/${pet['id']}`);
  const found = response.status === 200 ? fieldsOf(response) : await findListed(client, pet);
  for (const field of ['id', 'name', 'categoryId', 'status']) {
    assertEqual(found[field], pet[field], `the ${field} of the Pet in a later response`);
  }
}

/**
 * Resolves with the pet from the lists, on any page that a Link with rel="next" leads to. Rejects
 * with NotObserved if there may be more pets than the lists show.
 */
async function findListed(client: TestClient, pet: Fields): Promise<Fields> {
  const status = pet['status'] === undefined ? '' : `&status=${String(pet['status'])}`;
  const path = `/pets?limit=${LONGEST_LIST}${status}`;
  let [pages, lastLength] = [0, 0];
  for await (const pets of pagesFrom(client, path, MOST_PAGES)) {
    const found = pets.find(({ id }) => id === pet['id']);
    if (found !== undefined) return found;
    [pages, lastLength] = [pages + 1, pets.length];
  }
  const isAll = pages > 1 ? pages < MOST_PAGES : lastLength < LONGEST_LIST;
  assert.ok(!isAll, `expected pet ${String(pet['id'])} in the list, which is not full`);
  throw new NotObserved('there are more pets than a list shows');
}

const MOST_PAGES = 50;

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
    const [, quoted, token = ''] = REL.exec(parameters) ?? [];
    const relations = (quoted ?? token).toLowerCase().split(/[ \t]+/);
    // A link with an anchor is about another resource.
    return relations.includes('next') && !/;[ \t]*anchor\b/i.test(parameters);
  });
  if (next === undefined) return undefined;
  const base = `${client.target.baseUrl}/pets`;
  assert.ok(URL.canParse(next[1]!, base), 'expected a Link to a URL');
  return new URL(next[1]!, base);
}

/** A link with its target and its parameters, and the comma behind it. */
const LINK: RegExp =
  /[ \t,]*<([^>]*)>((?:[ \t]*;[ \t]*[^\s"(),/:;<=>?@[\\\]{}]*(?:[ \t]*=[ \t]*(?:"(?:[^"\\]|\\.)*"|[^\s",;]+))?)*)[ \t]*(?:,[ \t,]*|$)/gy;
/** The first rel of a link's parameters. */
const REL: RegExp = /;[ \t]*rel[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))/i;

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
