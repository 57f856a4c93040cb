/** What the interface itself says of answers, and nothing more: status, Pet, Error, the removal. */

import assert from 'node:assert/strict';
import { fieldsOf, petsOf, type Answer, type Client, type Fields } from './client.ts';

/** The PetStatus values (part 2). */
export const STATUSES = ['available', 'pending', 'sold'] as const;

/** No list has more (part 8), so a shorter one has all that match. */
export const LONGEST_LIST = 100;

export function assertStatus(answer: Answer, status: number): void {
  assert.equal(answer.status, status, 'the status');
}

/** 4xx: refused, by whatever status, where the interface names none. */
export function assertRefused({ status }: Answer): void {
  assert.ok(status >= 400 && status <= 499, `a refusal with a status 4xx, not ${status}`);
}

/** An Error object (parts 2 and 7) that repeats the answer's status. */
export function assertErrorObject(answer: Answer): void {
  const { code, message, status } = fieldsOf(answer);
  assert.equal(typeof code, 'string', 'the type of code');
  assert.equal(typeof message, 'string', 'the type of message');
  assert.equal(status, BigInt(answer.status), 'the status in the body');
}

/** application/json, with or without parameters. */
export function assertJsonType({ headers }: Answer): void {
  const [type = ''] = (headers.get('Content-Type') ?? '').split(';');
  assert.equal(type.trim().toLowerCase(), 'application/json', 'the Content-Type');
}

/** What a Pet always carries (part 2): an id, a name and a categoryId. */
export function assertCarries({ id, name, categoryId }: Fields): void {
  assert.ok(typeof id === 'bigint', `an id that is an integer, not ${String(id)}`);
  assert.equal(typeof name, 'string', 'the type of name');
  const isInteger = typeof categoryId === 'bigint';
  assert.ok(isInteger, `a categoryId that is an integer, not ${String(categoryId)}`);
}

/** A Pet (part 2), with these fields. */
export function assertPet(pet: Fields, expected: Fields): void {
  assertCarries(pet);
  const { id, status } = pet;
  assert.ok(BigInt.asIntN(64, id as bigint) === id, `an id that is an int64, not ${String(id)}`);
  const isStatus = status === undefined || STATUSES.some((known) => known === status);
  assert.ok(isStatus, `a status that is a PetStatus or absent, not ${String(status)}`);
  for (const [field, value] of Object.entries(expected)) {
    const exact = typeof value === 'number' ? BigInt(value) : value;
    assert.equal(pet[field], exact, `the ${field} of the Pet`);
  }
}

/** Fails when a list that has room for the pet does not show it, or shows it otherwise. */
export function assertListed(listed: readonly Fields[], pet: Fields): void {
  const found = listed.find(({ id }) => id === pet['id']);
  assert.ok(found !== undefined || listed.length >= LONGEST_LIST, `pet ${pet['id']} in the list`);
  if (found !== undefined) assert.deepEqual(found, pet, 'the pet in the list');
}

/** Fails when the service finds the pet, but not as the answer to its creation had it. */
export async function assertKept(client: Client, pet: Fields): Promise<void> {
  const answer = await client.get(`/pets/${pet['id']}`);
  // Whether it is found is for a check of its own to say (4.3).
  if (answer.status !== 200) return;
  assert.deepEqual(fieldsOf(answer), pet, 'the pet as it was answered to its creation');
}

/** Fails unless every pet of a filtered list has the status. */
export function assertFiltered(pets: readonly Fields[], status: string): void {
  for (const pet of pets) assert.equal(pet['status'], status, 'the status of a pet in the list');
}

/** The list of at most 100 with this filter. */
export async function listed(client: Client, query = ''): Promise<readonly Fields[]> {
  const answer = await client.get(`/pets?limit=100${query}`);
  assertStatus(answer, 200);
  return petsOf(answer);
}

/** Fails unless getPet gives this status, as it does until it is removed (4.3). */
export function assertGetPetStatus(answer: Answer, status: number): void {
  const removal = removalIn(answer);
  if (removal === 'to come' || (removal === 'today' && answer.status === status)) {
    assertStatus(answer, status);
  } else {
    assertRefused(answer);
  }
}

/**
 * Where the answer stands to the removal of getPet on 5 December 2030, by the service's clock.
 *
 * That day is no longer than from the first place on earth where it begins to the last where it
 * ends, since the interface names no time zone.
 */
export function removalIn({ headers }: Answer): 'to come' | 'today' | 'past' {
  const date = Date.parse(headers.get('Date') ?? '');
  const now = Number.isNaN(date) ? Date.now() : date;
  if (now < Date.parse('2030-12-05T00:00:00+14:00')) return 'to come';
  return now < Date.parse('2030-12-06T00:00:00-12:00') ? 'today' : 'past';
}
