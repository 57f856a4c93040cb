/**
 * PetStatus, NewPet and Pet (S2.1 to S2.3 of SPEC.md), as a program holds them, and StoredPet.
 *
 * The two integers are int64 and so bigint here: a number would round them above 2^53.
 */

import type { Int64 } from '../base/int64.ts';

export type PetStatus = 'available' | 'pending' | 'sold';

export const PET_STATUSES: readonly PetStatus[] = ['available', 'pending', 'sold'];
export const EXPECTED_STATUS: string = `one of ${PET_STATUSES.join(', ')}`;

/** The limit of a page (S8.1). A page of the longest pets still fits into one string. */
export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

export interface NewPet {
  /** Any string, the empty one and lone surrogates included. */
  readonly name: string;
  /** int64; it is not checked against any category. */
  readonly categoryId: bigint;
  /** Absent stays absent: such a pet matches no status filter. */
  readonly status?: PetStatus | undefined;
}

export interface Pet extends NewPet {
  /** int64, given by the store, positive and ascending in the order of creation. */
  readonly id: bigint;
}

/**
 * A Pet as a store keeps and returns it: its id, and its JSON text, as it is sent (pet-text.ts).
 * `parsePet` returns its other values.
 */
export interface StoredPet {
  readonly id: bigint;
  readonly text: string;
}

/** The values of a NewPet as a program gives them. */
export interface PetInput extends Omit<NewPet, 'categoryId'> {
  readonly categoryId: Int64;
}

/** Which pets a program asks for: all by default. */
export interface PetQuery {
  /** The most pets on a page: 20 by default, and for requests 100 at most. */
  readonly limit?: number | undefined;
  readonly status?: PetStatus | undefined;
  /** Only pets with a greater id than this. */
  readonly after?: Int64 | undefined;
}

export function isPetStatus(value: unknown): value is PetStatus {
  return (PET_STATUSES as readonly unknown[]).includes(value);
}

/**
 * Returns the JSON text of the pet, exact to the last digit, as the service sends it. It works in
 * browsers, too. JSON.stringify throws a TypeError for a bigint.
 */
export function stringifyPet(pet: Pet): string {
  return `{"id":${pet.id},${joinMembers(pet)}}`;
}

/** Returns the members of a pet in its JSON text, without its id. */
export function joinMembers({ name, categoryId, status }: NewPet): string {
  const statusMember = status === undefined ? '' : `,"status":"${status}"`;
  return `"name":${JSON.stringify(name)},"categoryId":${categoryId}${statusMember}`;
}

export const QUERY_NAMES: readonly (keyof PetQuery)[] = ['limit', 'status', 'after'];

/**
 * Throws a TypeError if a value has other members than these. Nothing else would show a misspelt
 * `idempotencyKey`, until a retry stores a second pet.
 */
export function assertNames(what: string, value: object, names: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what} may have ${names.join(', ')}, and no ${unknown}`);
}
