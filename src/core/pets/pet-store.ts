/**
 * PetStore: the collection of pets that the API's operations need, and its promises.
 *
 * It takes a NewPet, and returns a StoredPet or a page: JSON texts that are ready to be sent
 * (pet-text.ts). `count` and `unreadiness` are synchronous.
 */

import { INT64_MAX } from '../base/int64.ts';
import type { Measurement } from '../base/measurement.ts';
import type { NewPet, PetStatus, StoredPet } from './pet.ts';

export interface PetStore {
  /**
   * Resolves with a page of the pets that match, in ascending order of id. Once a pet was
   * acknowledged or returned, each later read has it. Rejects with StoreUnavailableError if the
   * store cannot be read now.
   */
  list(query: PageQuery): Promise<StoredPage>;

  /** Resolves with the pet with this id, or undefined if there is none. Rejects as `list` does. */
  get(id: bigint): Promise<StoredPet | undefined>;

  /**
   * Adds a pet under an id one greater than the greatest so far.
   *
   * When the promise resolves, the pet is as durable as the store can make it. No read shows the
   * pet before it is durable; each read after the promise resolves does.
   *
   * Rejects with InvalidPetError if the NewPet is invalid, and with StoreUnavailableError if the
   * store cannot add a pet now, or any more: nothing was added, and nothing of it will appear.
   * Rejects with OutcomeUnknownError if it is not known whether the pet was added.
   */
  create(newPet: NewPet): Promise<StoredPet>;

  /**
   * As `create`, but if an earlier call with this key has stored the same pet, adds nothing and
   * resolves with the stored pet. It rejects as `create` does, and with KeyReusedError if an
   * earlier call with this key has stored another pet. So concurrent calls add one pet, too.
   *
   * The key is 32 unguessable hex digits. A store keeps it as durably as its pet, for 24 hours or
   * until it has too many: it has at least the newest 1,000. A store that cannot promise this has
   * no such method.
   */
  createOnce?(newPet: NewPet, key: string): Promise<CreateOnceResult>;

  /** How many pets there are, in all and of each status, as far as the store knows. */
  count(): PetCount;

  /** Why pets cannot be added now, or could not a moment ago; undefined if all is well. */
  unreadiness(): string | undefined;

  /**
   * Finishes the creates in progress, refuses new ones, and releases what the store holds. `count`
   * and `unreadiness` still work afterwards. A read returns the pets, or rejects with
   * StoreUnavailableError.
   */
  close(): Promise<void>;

  // The rest is for the process that runs the store. A store may omit all of it.

  /** What the store measures, if it does. Each row has another name. */
  measurements?(): readonly Measurement[];

  /**
   * Resolves with the reason once the store cannot continue, its pets are safe, and only a new
   * process may continue with them. Otherwise it never settles.
   */
  readonly lost?: Promise<Error>;

  /**
   * Called when a shutdown begins, before `close`. From then on there is a limit to the time for
   * creates that fail, and for saving pets that no file has.
   */
  drain?(): void;

  /** Where the acknowledged pets are, for a store that keeps files. */
  durability?(): WherePetsAre | undefined;

  /** True while a call of the disk is in progress, which may hang. */
  isWriting?(): boolean;
}

/**
 * Where all acknowledged pets are: in the data file; in an extra file, since the data file may lack
 * some; or in memory only, so that they are lost if the process ends.
 */
export type WherePetsAre = 'data file' | 'saved file' | 'memory';

export interface CreateOnceResult {
  readonly pet: StoredPet;
  /** True if it was stored before, by an earlier call with the same key. */
  readonly isReplayed: boolean;
}

export interface PageQuery {
  /** The maximum number of pets on the page, 1 or more. */
  readonly limit: number;
  readonly status?: PetStatus | undefined;
  /** Only pets with a greater id than this. */
  readonly after?: bigint | undefined;
}

export interface StoredPage {
  /** The texts of the pets as one JSON array, as formatPets writes it. */
  readonly text: string;
  /** The last pet's id if more pets match beyond this page: the next query's `after`. */
  readonly next: bigint | undefined;
}

export interface PetCount {
  readonly total: number;
  readonly byStatus: Readonly<Record<PetStatus, number>>;
}

/*
 * What a create of a store rejects with, and what a client of the API gets:
 *
 *     error                  the pet                          response
 *     InvalidPetError        was not added                    400
 *     KeyReusedError         was not added: another one was   422
 *     StoreUnavailableError  was not added, and never will    503, and when to try again
 *     OutcomeUnknownError    may have been added              500 outcome_unknown
 *     any other              a bug of the store               500 internal_error
 */

/** The store cannot do this now, or any more, and added nothing; the message says why. */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
  /** When the same call may succeed. */
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds = 1) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * It is unknown whether the pet was added: it may appear after the next start, or after the store
 * has recovered. The message says why.
 */
export class OutcomeUnknownError extends Error {
  override readonly name: string = 'OutcomeUnknownError';
}

/** The key of a create was used for another pet; nothing was added. */
export class KeyReusedError extends Error {
  override readonly name: string = 'KeyReusedError';
}

/** Why the stores of this package add no more pets. */
export const CLOSED = 'The store is closed';
export const NO_ID_LEFT: string = `No id is left: the greatest one, ${INT64_MAX}, is taken`;
