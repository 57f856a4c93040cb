/**
 * A commit in etcd: all creates that are made durable together, as one JSON text.
 *
 *     {"after":7,"pets":[{"id":8,…},{"id":9,…}]}
 *     {"after":9,"pets":[{"id":10,…}],"keys":[["9f86d081…c55ad015",10,1795356000000]]}
 *
 * `after` is the last id before the commit. It chains the commits to each other, so that a missing
 * one is noticed. `keys` has the idempotency keys of those pets that came with one: the key, the
 * id, and when its 24 hours end by the time of day, in milliseconds since 1970. A process that reads
 * a key later may keep it for up to an hour more.
 */

import { stringifyPet, type PetStatus } from '../model/pet.ts';
import { formatPet, petsIn } from '../model/pet-text.ts';
import { flat, type KeyHash } from './table/idempotency-keys.ts';
import type { TablePet } from './table/pet-table.ts';

/** The approximate size of an idempotency key in a commit. */
export const KEY_BYTES = 80;

/** A key in a commit. */
export interface CommitKey {
  readonly key: KeyHash;
  /** The id of its pet. */
  readonly id: bigint;
  /** When its 24 hours end by the time of day, in milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface Commit {
  readonly after: bigint;
  /** At least one. The ids are after + 1, after + 2 and so on, unless the pets were imported. */
  readonly pets: readonly TablePet[];
  /** The keys of the pets that came with one, in the order of their ids. */
  readonly keys: readonly CommitKey[];
}

/** A NewPet that waits for its id. */
export interface PendingPet {
  /** The members in its text, as formatMembers wrote them. */
  readonly members: string;
  readonly status: PetStatus | undefined;
  readonly key?: KeyHash | undefined;
}

/** Returns the commit that adds these pets after the id `after`. Their keys end at `expiresAt`. */
export function createCommit(
  after: bigint,
  newPets: readonly PendingPet[],
  expiresAt: number,
): Commit {
  const pets: TablePet[] = [];
  const keys: CommitKey[] = [];
  let id = after;
  for (const { members, status, key } of newPets) {
    id += 1n;
    pets.push({ id, text: formatPet(id, members), status });
    if (key !== undefined) keys.push({ key, id, expiresAt });
  }
  return { after, pets, keys };
}

export function encodeCommit({ after, pets, keys }: Commit): string {
  return encodeTexts(after, pets.map(({ text }) => text).join(','), keys);
}

/** As `encodeCommit`, for the texts of pets that are joined by commas. */
export function encodeTexts(after: bigint, texts: string, keys: readonly CommitKey[]): string {
  return `${commitStart(after)}${texts}]${keys.length === 0 ? '' : `,${encodeKeys(keys)}`}}`;
}

function encodeKeys(keys: readonly CommitKey[]): string {
  const items = keys.map(({ key, id, expiresAt }) => `["${key}",${id},${expiresAt}]`);
  return `"keys":[${items.join(',')}]`;
}

/** Returns the keys after the pets of a commit, or undefined if the text has another form. */
function decodeKeys(text: string, after: bigint, lastId: bigint): readonly CommitKey[] | undefined {
  if (text === COMMIT_END) return [];
  const list = /^\],"keys":\[(\[.*\])\]\}$/.exec(text)?.[1];
  return list === undefined ? undefined : decodeKeyList(list, after, lastId);
}

function decodeKeyList(list: string, after: bigint, lastId: bigint): CommitKey[] | undefined {
  const keys: CommitKey[] = [];
  let last = after;
  for (const item of list.slice(1, -1).split('],[')) {
    const [, key = '', id = '', expiresAt = ''] = KEY.exec(item) ?? [];
    if (key === '' || BigInt(id) <= last || BigInt(id) > lastId) return undefined;
    last = BigInt(id);
    keys.push({ key: flat(key), id: last, expiresAt: Number(expiresAt) });
  }
  return keys;
}

const KEY: RegExp = /^"([0-9a-f]{32})",([1-9][0-9]{0,18}),(-?[0-9]{1,16})$/;

/** What the text of each commit after this id begins with. */
function commitStart(after: bigint): string {
  return `${COMMIT_MARK}${after},"pets":[`;
}

/** What follows the pets of a commit without keys. */
const COMMIT_END = ']}';

/** The beginning of a commit. No name contains it, because JSON escapes a quote in a name. */
export const COMMIT_MARK = '{"after":';

/**
 * Returns the commit in a text, or undefined if the text has another form. `mayHaveGaps` is for a
 * log with imported pets: their ids need only be ascending.
 */
export function decodeCommit(text: Buffer, mayHaveGaps = false): Commit | undefined {
  const [head, digits] =
    /^\{"after":(0|[1-9][0-9]{0,18}),"pets":/.exec(text.toString('latin1', 0, 50)) ?? [];
  if (digits === undefined) return undefined;
  const after = BigInt(digits);
  // No name contains it, because JSON escapes a quote in a name.
  const keysAt = text.indexOf('],"keys":[');
  const end = keysAt === -1 ? text.length - COMMIT_END.length : keysAt;
  const found = petsIn(text.toString('utf8', head!.length, end + 1));
  let lastId = after;
  const pets: TablePet[] = [];
  for (const pet of found) {
    if (pet instanceof Error) return undefined;
    const isNext = mayHaveGaps ? pet.id > lastId : pet.id === lastId + 1n;
    if (!isNext) return undefined;
    lastId = pet.id;
    pets.push({ id: pet.id, text: stringifyPet(pet), status: pet.status });
  }
  const keys = decodeKeys(text.toString('latin1', end), after, lastId);
  return keys === undefined || pets.length === 0 ? undefined : { after, pets, keys };
}
