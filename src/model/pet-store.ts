/**
 * PetStore: what the interface's operations need of a collection of pets, and its promises.
 *
 * It speaks in encoded pets, so that a pet's bytes are written once and pass through unchanged.
 * Each answer may be a promise, so that a store on another machine can stand behind it; a store
 * that holds its pets in memory answers reads at once.
 */

import type { ByteString } from '../base/byte-string.ts';
import type { EncodedNewPet, EncodedPet } from './encoded-pet.ts';
import type { PetStatus } from './pet.ts';

export interface PetStore {
  /** The pets that match, in ascending order of id: what has been answered or seen stays. */
  list(query: PetQuery): PetPage | Promise<PetPage>;

  /** The pet with this id, if there is one. */
  get(id: bigint): EncodedPet | undefined | Promise<EncodedPet | undefined>;

  /**
   * Adds a pet under an id one greater than the greatest so far.
   *
   * When the promise resolves, the pet is as durable as the store can make it, and only from then
   * on does any read show it. When it rejects, nothing was added: with StoreUnavailableError when
   * the same call may succeed later.
   */
  create(pet: EncodedNewPet): Promise<EncodedPet>;

  /** How many pets there are, in all and of each status. */
  count(): PetCount;

  /** Why the store cannot add pets at present; undefined while it can. */
  problem(): string | undefined;

  /**
   * Finishes the creates under way, refuses new ones, and lets go of what the store holds. After
   * that `count` and `problem` still answer.
   */
  close(): Promise<void>;
}

export interface PetQuery {
  /** At most so many pets, 1 or more. */
  readonly limit: number;
  readonly status?: PetStatus | undefined;
  /** Only pets with a greater id than this. */
  readonly after?: bigint | undefined;
}

export interface PetPage {
  /** The pets, as encodePets puts them together. */
  readonly json: ByteString;
  /** The last pet's id when more pets match beyond this page: the next query's `after`. */
  readonly next: bigint | undefined;
}

export interface PetCount {
  readonly total: number;
  readonly byStatus: Readonly<Record<PetStatus, number>>;
}

/** The store cannot add a pet now, and added nothing; the message tells why. */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
}
