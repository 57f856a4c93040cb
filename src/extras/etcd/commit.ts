/**
 * A commit in etcd: all creates that are made durable together, as one JSON text.
 *
 *     {"after":7,"pets":[{"id":8,…},{"id":9,…}]}
 *     {"after":9,"pets":[{"id":10,…}],"keys":[["9f86d081…c55ad015",10,1795356000000]]}
 *
 * `after` is the last id before the commit. It chains the commits to each other, so that a missing
 * one is noticed. `keys` has the idempotency keys of those pets that came with one: the key, the
 * id, and when its 24 hours end by the time of day, in milliseconds since 1970. A process that
 * reads a key later may keep it for up to an hour more.
 */

import { stringifyPet, type NewPet, type PetStatus } from '../../core/pets/pet.ts';
import { formatMembers, formatPet, InvalidPetError, petsIn } from '../../core/pets/pet-text.ts';
import type { KeyHash } from '../../core/store/idempotency-keys.ts';
import type { TablePet } from '../../core/store/pet-table.ts';

/**
 * A commit is full with about 1,000 pets. A commit of the longest pet after others fits into a
 * transaction.
 */
export const FULL_COMMIT_BYTES: number = 64 << 10;
/** The approximate size of a pet in a commit beside its members, and of an idempotency key. */
const BYTES_AROUND_PET = 28;
const KEY_BYTES = 80;
/** The longest pet, without and with its id. */
const MAX_MEMBERS_BYTES: number = (1 << 20) + 1024;
export const MAX_PET_BYTES: number = MAX_MEMBERS_BYTES + BYTES_AROUND_PET;

/** A NewPet that waits for its id. */
export interface PendingPet {
  /** The members in its text, as formatMembers wrote them. */
  readonly members: string;
  readonly status: PetStatus | undefined;
  readonly key: KeyHash | undefined;
  /** About how many bytes it takes in a commit. */
  readonly bytes: number;
}

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

type CommitOfTexts = Omit<Commit, 'pets'> & { readonly pets: readonly Pick<TablePet, 'text'>[] };

/** Returns the pet as it waits for its id. Throws InvalidPetError. */
export function pendingPet(newPet: NewPet, key?: KeyHash): PendingPet {
  const members = formatMembers(newPet);
  const length = Buffer.byteLength(members);
  if (length > MAX_MEMBERS_BYTES) {
    throw new InvalidPetError(`a pet in this store has at most ${MAX_MEMBERS_BYTES} bytes`);
  }
  const bytes = length + BYTES_AROUND_PET + (key === undefined ? 0 : KEY_BYTES);
  return { members, status: newPet.status, key, bytes };
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

/** Returns the text of a commit, of whose pets only the texts are used. */
export function encodeCommit({ after, pets, keys }: CommitOfTexts): string {
  const texts = pets.map(({ text }) => text).join(',');
  const items = keys.map(({ key, id, expiresAt }) => `["${key}",${id},${expiresAt}]`);
  const keyList = keys.length === 0 ? '' : `,"keys":[${items.join(',')}]`;
  return `{"after":${after},"pets":[${texts}]${keyList}}`;
}

/** Returns the commit in a text, or undefined if the text has another form. */
export function decodeCommit(text: Buffer): Commit | undefined {
  const [head, digits] = HEAD.exec(text.toString('latin1', 0, 50)) ?? [];
  if (head === undefined || digits === undefined) return undefined;
  const after = BigInt(digits);
  // No name contains it, because JSON escapes a quote in a name.
  const keysAt = text.indexOf('],"keys":[');
  const end = keysAt === -1 ? text.length - COMMIT_END.length : keysAt;
  let lastId = after;
  const pets: TablePet[] = [];
  for (const pet of petsIn(text.toString('utf8', head.length, end + 1))) {
    if (pet instanceof Error || pet.id <= lastId) return undefined;
    lastId = pet.id;
    pets.push({ id: pet.id, text: stringifyPet(pet), status: pet.status });
  }
  const keys = decodeKeys(text.toString('latin1', end), after, lastId);
  return keys === undefined || pets.length === 0 ? undefined : { after, pets, keys };
}

const HEAD: RegExp = /^\{"after":(0|[1-9][0-9]{0,18}),"pets":/;

/** What follows the pets of a commit without keys. */
const COMMIT_END = ']}';

/** Returns the keys after the pets of a commit, or undefined if the text has another form. */
function decodeKeys(text: string, after: bigint, lastId: bigint): readonly CommitKey[] | undefined {
  if (text === COMMIT_END) return [];
  const list = /^\],"keys":\[\[(.*)\]\]\}$/.exec(text)?.[1];
  if (list === undefined) return undefined;
  const keys: CommitKey[] = [];
  let last = after;
  for (const item of list.split('],[')) {
    const [, key = '', id = '', expiresAt = ''] = KEY.exec(item) ?? [];
    if (key === '' || BigInt(id) <= last || BigInt(id) > lastId) return undefined;
    last = BigInt(id);
    keys.push({ key, id: last, expiresAt: Number(expiresAt) });
  }
  return keys;
}

const KEY: RegExp = /^"([0-9a-f]{32})",([1-9][0-9]{0,18}),(-?[0-9]{1,16})$/;
