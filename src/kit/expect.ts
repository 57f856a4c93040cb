/**
 * What the interface itself says of responses, and nothing more: the status, an Error, a Pet, and
 * where a pet is found again. What a check cannot see here is *not observed*, never "holds".
 */

import assert from 'node:assert/strict';
import { NotObserved } from './check.ts';
import { fieldsOf, petsOf, type Client, type Fields, type ServiceResponse } from './client.ts';

/** The PetStatus values (part 2). */
export const STATUSES = ['available', 'pending', 'sold'] as const;

/** No list has more (part 8), so a shorter one has all that match. */
export const LONGEST_LIST = 100;

/** An identifier that no service is likely to have come to. */
export const LOST_ID: bigint = 2n ** 63n - 1n;

/** Two credentials that no service accepts, the first of which is none. */
export const BAD_CREDENTIALS = ['', 'Bearer no'] as const;

/** `about` names the case, where a check has several. */
export function assertStatus(response: ServiceResponse, status: number, about = ''): void {
  assert.equal(response.status, status, `${about === '' ? '' : `${about}: `}the status`);
}

/** 4xx: refused, by whatever status, where the interface names none. */
export function assertRefused({ status }: ServiceResponse): void {
  assert.ok(isRefused(status), `expected a status 4xx, not ${status}`);
}

export function isRefused(status: number): boolean {
  return status >= 400 && status <= 499;
}

/** An Error object (parts 2 and 7) that repeats the response's status. */
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

/** A Pet (part 2), with these fields. */
export function assertPet(pet: Fields, expected: Fields = {}): void {
  const { id, name, categoryId, status } = pet;
  for (const [field, value] of Object.entries({ id, categoryId })) {
    const isInt64 = typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
    assert.ok(isInt64, `expected a Pet whose ${field} is an int64, not ${String(value)}`);
  }
  assert.equal(typeof name, 'string', 'the type of name');
  const isStatus = status === undefined || STATUSES.some((known) => known === status);
  assert.ok(isStatus, `expected a status that is a PetStatus or absent, not ${String(status)}`);
  for (const [field, value] of Object.entries(expected)) {
    if (value !== undefined) assert.equal(pet[field], value, `the ${field} of the Pet`);
  }
}

/** Fails unless the service, asked again, has the pet as it was when it was added. */
export async function assertKept(client: Client, pet: Fields): Promise<void> {
  const found = await findAgain(client, pet);
  for (const field of ['id', 'name', 'categoryId', 'status']) {
    assert.equal(found[field], pet[field], `the ${field} of the Pet, asked for again`);
  }
}

/** By its id or else by the lists. Throws NotObserved where neither reaches as far. */
async function findAgain(client: Client, pet: Fields): Promise<Fields> {
  const response = await client.get(`/pets/${pet['id']}`);
  if (response.status === 200) return fieldsOf(response);
  const found = await findListed(client, pet);
  if (found !== undefined) return found;
  throw new NotObserved('the pet cannot be got by its id, and more than 100 pets hide it in lists');
}

/**
 * The pet as the lists show it: as long as they come, and on to the next page where a Link with
 * rel="next" leads there. Undefined where there may be more than they show.
 */
export async function findListed(client: Client, pet: Fields): Promise<Fields | undefined> {
  const status = pet['status'] === undefined ? '' : `&status=${String(pet['status'])}`;
  let next: string | undefined = `/pets?limit=${LONGEST_LIST}${status}`;
  let length = 0;
  let pages = 0;
  while (next !== undefined && pages < MOST_PAGES) {
    const response = await client.get(next);
    assertStatus(response, 200, 'the list');
    const pets = petsOf(response);
    const found = pets.find(({ id }) => id === pet['id']);
    if (found !== undefined) return found;
    length = pets.length;
    pages += 1;
    next = nextPage(client, response);
  }
  const isAll = next === undefined && (length < LONGEST_LIST || pages > 1);
  assert.ok(!isAll, `expected pet ${String(pet['id'])} in the list, which has room for it`);
  return undefined;
}

const MOST_PAGES = 50;

/** Where the response's Link leads to, below the base address (RFC 8288); undefined without one. */
export function nextPage(client: Client, { headers }: ServiceResponse): string | undefined {
  const link = /<([^>]*)>[^,]*;\s*rel="?next"?/i.exec(headers.get('Link') ?? '')?.[1];
  if (link === undefined) return undefined;
  const { pathname, search } = new URL(link, `${client.target.baseUrl}/pets`);
  const base = new URL(client.target.baseUrl).pathname;
  return pathname.startsWith(base) ? `${pathname.slice(base.length)}${search}` : undefined;
}

/** Fails unless every pet of a filtered list has the status. */
export function assertFiltered(pets: readonly Fields[], status: string): void {
  for (const pet of pets) assert.equal(pet['status'], status, 'the status of a pet in the list');
}

/** Fails unless a list has so many pets: of a service that has at least so many. */
export async function assertLength(client: Client, query: string, length: number): Promise<void> {
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
 * Where the response stands to the removal of getPet on 5 December 2030, by the service's clock.
 *
 * That day is no longer than from the first place on earth where it begins to the last where it
 * ends, since the interface names no time zone.
 */
export function removalIn({ headers }: ServiceResponse): 'to come' | 'today' | 'past' {
  const date = Date.parse(headers.get('Date') ?? '');
  const now = Number.isNaN(date) ? Date.now() : date;
  if (now < Date.parse('2030-12-05T00:00:00+14:00')) return 'to come';
  return now < Date.parse('2030-12-06T00:00:00-12:00') ? 'today' : 'past';
}
