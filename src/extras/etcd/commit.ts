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

import { stringifyPet, type NewPet, type StoredPet } from '../../core/pets/pet.ts';
import { InvalidPetError, petsIn } from '../../core/pets/pet-text.ts';
import { petsOf, queuedCreate, type QueuedCreate } from '../../core/store/commit-queue.ts';
import type { KeyHash } from '../../core/store/idempotency-keys.ts';

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
  readonly pets: readonly StoredPet[];
  /** The keys of the pets that came with one, in the order of their ids. */
  readonly keys: readonly CommitKey[];
}

type CommitOfTexts = Omit<Commit, 'pets'> & { readonly pets: readonly Pick<StoredPet, 'text'>[] };

/** Returns the create of a pet that fits into a commit. Throws InvalidPetError. */
export function fittingCreate(newPet: NewPet, key?: KeyHash): QueuedCreate {
  const create = queuedCreate(newPet, key);
  if (Buffer.byteLength(create.members) <= MAX_MEMBERS_BYTES) return create;
  throw new InvalidPetError(`a pet in this store has at most ${MAX_MEMBERS_BYTES} bytes`);
}

/** Returns about how many bytes a create takes in a commit. */
export function bytesInCommit({ members, key }: QueuedCreate): number {
  return Buffer.byteLength(members) + BYTES_AROUND_PET + (key === undefined ? 0 : KEY_BYTES);
}

/** Returns the commit of these creates after the id `after`. Their keys end at `expiresAt`. */
export function createCommit(
  after: bigint,
  creates: readonly QueuedCreate[],
  expiresAt: number,
): Commit {
  const pets = petsOf(creates, after);
  const keys = creates.flatMap(({ key }, index): readonly CommitKey[] => {
    return key === undefined ? [] : [{ key, id: pets[index]!.id, expiresAt }];
  });
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
  const pets: StoredPet[] = [];
  for (const pet of petsIn(text.toString('utf8', head.length, end + 1))) {
    if (pet.id <= lastId) return undefined;
    lastId = pet.id;
    pets.push({ id: pet.id, text: stringifyPet(pet) });
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
