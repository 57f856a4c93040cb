/**
 * What the specification itself says of responses, and nothing more: the status, an Error, a Pet,
 * and where a pet is found again. What a check cannot see here is *not observed*, never "holds".
 */

import assert from 'node:assert/strict';
import { findLink } from '../base/link-header.ts';
import { NotObserved } from './check.ts';
import {
  fieldsOf,
  petsOf,
  type Fields,
  type ServiceResponse,
  type TestClient,
} from './test-client.ts';

/** The PetStatus values (spec section 2). */
export const STATUSES = ['available', 'pending', 'sold'] as const;

/** The most pets of a list (spec section 8): a shorter list has all that match. */
export const LONGEST_LIST = 100;

/** An id that no service is likely to have reached. */
export const LOST_ID: bigint = 2n ** 63n - 1n;

/** `about` names the request, if a check has several. */
export function assertStatus(response: ServiceResponse, status: number, about = ''): void {
  assert.equal(response.status, status, `${about === '' ? '' : `${about}: `}the status`);
}

/** 4xx, whichever: for a request to which the specification gives no status. */
export function assertRefused({ status }: ServiceResponse): void {
  assert.ok(isRefused(status), `expected a status 4xx, not ${status}`);
}

export function isRefused(status: number): boolean {
  return status >= 400 && status <= 499;
}

/** An Error object (spec sections 2 and 7) that repeats the response's status. */
export function assertErrorObject(response: ServiceResponse): void {
  const { code, message, status } = fieldsOf(response);
  assert.equal(typeof code, 'string', 'the type of code');
  assert.equal(typeof message, 'string', 'the type of message');
  assert.equal(status, BigInt(response.status), 'the status in the body');
}

/** application/json, with or without parameters. */
export function assertJsonType({ headers }: ServiceResponse): void {
  const [type = ''] = (headers.get('Content-Type') ?? '').split(';');
  assert.equal(type.trim().toLowerCase(), 'application/json', 'the Content-Type');
}

/** A Pet (spec section 2), with these fields. */
export function assertPet(pet: Fields, expected: Fields = {}): void {
  const { id, name, categoryId, status } = pet;
  for (const [field, value] of Object.entries({ id, categoryId })) {
    assert.ok(
      typeof value === 'bigint',
      `expected a Pet whose ${field} is an int64, not ${String(value)}`,
    );
  }
  assert.equal(typeof name, 'string', 'the type of name');
  const isStatus = status === undefined || STATUSES.some((known) => known === status);
  assert.ok(isStatus, `expected a status that is a PetStatus or absent, not ${String(status)}`);
  for (const [field, value] of Object.entries(expected)) {
    if (value !== undefined) assert.equal(pet[field], value, `the ${field} of the Pet`);
  }
}

/** Fails unless the service, asked again, has the pet as it was when it was added. */
export async function assertKept(client: TestClient, pet: Fields): Promise<void> {
  const response = await client.get(`/pets/${pet['id']}`);
  const found = response.status === 200 ? fieldsOf(response) : await findListed(client, pet);
  for (const field of ['id', 'name', 'categoryId', 'status']) {
    assert.equal(found[field], pet[field], `the ${field} of the Pet, asked for again`);
  }
}

/**
 * The pet as the lists show it, on any page that a Link with rel="next" leads to. Throws
 * NotObserved if there may be more pets than the lists show.
 */
export async function findListed(client: TestClient, pet: Fields): Promise<Fields> {
  const status = pet['status'] === undefined ? '' : `&status=${String(pet['status'])}`;
  const pages = await pagesFrom(client, `/pets?limit=${LONGEST_LIST}${status}`, MOST_PAGES);
  const pets = pages.flat();
  const found = pets.find(({ id }) => id === pet['id']);
  if (found !== undefined) return found;
  const isAll = pages.length > 1 ? pages.length < MOST_PAGES : pets.length < LONGEST_LIST;
  assert.ok(!isAll, `expected pet ${String(pet['id'])} in the list, which has room for it`);
  throw new NotObserved('there are more pets than a list shows');
}

const MOST_PAGES = 50;

/** The pets of a page and of those after it, up to so many pages. */
export async function pagesFrom(
  client: TestClient,
  path: string,
  mostPages: number,
): Promise<readonly (readonly Fields[])[]> {
  const pages: (readonly Fields[])[] = [];
  for (let next: string | undefined = path; next !== undefined && pages.length < mostPages;) {
    const response = await client.get(next);
    assertStatus(response, 200, 'the list');
    pages.push(petsOf(response));
    next = nextPage(client, response);
  }
  return pages;
}

/** Where the response's Link leads to, below the base URL (RFC 8288); undefined without one. */
export function nextPage(client: TestClient, { headers }: ServiceResponse): string | undefined {
  const field = headers.get('Link');
  if (field === null) return undefined;
  const base = new URL(client.target.baseUrl).pathname;
  try {
    const link = findLink(field, 'next');
    if (link === undefined) return undefined;
    const { pathname, search } = new URL(link, `${client.target.baseUrl}/pets`);
    return pathname.startsWith(base) ? `${pathname.slice(base.length)}${search}` : undefined;
  } catch {
    return assert.fail('expected a Link that can be read (RFC 8288)');
  }
}

/** Fails unless every pet of a filtered list has the status. */
export function assertFiltered(pets: readonly Fields[], status: string): void {
  for (const pet of pets) assert.equal(pet['status'], status, 'the status of a pet in the list');
}

/** Fails unless a list has so many pets: for a service that has at least this many. */
export async function assertLength(
  client: TestClient,
  query: string,
  length: number,
): Promise<void> {
  const response = await client.get(`/pets${query}`);
  assertStatus(response, 200);
  assert.equal(
    petsOf(response).length,
    length,
    `the number of pets in the list of ${query || 'all'}`,
  );
}

/** Fails unless getPet gives this status, as it does until it is removed (4.3). */
export function assertGetPetStatus(response: ServiceResponse, status: number, about = ''): void {
  const removal = removalIn(response);
  if (removal === 'to come' || (removal === 'today' && response.status === status)) {
    assertStatus(response, status, about);
  } else {
    assertRefused(response);
  }
}

/**
 * Where the response is in relation to the removal of getPet on 5 December 2030, by the service's
 * clock. The specification names no time zone: the day lasts from its beginning in the first zone
 * on earth to its end in the last.
 */
export function removalIn({ headers }: ServiceResponse): 'to come' | 'today' | 'past' {
  const date = Date.parse(headers.get('Date') ?? '');
  const now = Number.isNaN(date) ? Date.now() : date;
  if (now < Date.parse('2030-12-05T00:00:00+14:00')) return 'to come';
  return now < Date.parse('2030-12-06T00:00:00-12:00') ? 'today' : 'past';
}
