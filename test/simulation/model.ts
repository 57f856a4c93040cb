/**
 * The model: what clients know of a store, and so may expect of it after any failure. The
 * simulations of the file store and of the etcd store share it.
 *
 * A pet that was acknowledged or read stays, byte for byte, under its id. A create that is in
 * progress, or whose outcome is unknown, may come out either way. A refused create leaves nothing.
 * A client with an idempotency key retries until it is acknowledged: then its pet exists once.
 */

import type { NewPet, StoredPet } from '../../src/core/pets/pet.ts';
import type { KeyHash } from '../../src/core/store/idempotency-keys.ts';

/** A client that sends one pet with its key until the pet is acknowledged. */
export interface KeyedClient {
  readonly key: KeyHash;
  readonly pet: NewPet;
  /** The text of the pet after its id. */
  readonly members: string;
  /** The acknowledged id; undefined before that. */
  readonly id: bigint | undefined;
}

/** What is known at one moment. */
export interface Knowledge {
  /** The text of the pet with id 1, 2, 3 and so on; NOT_READ if nobody knows it yet. */
  readonly pets: readonly string[];
  /** The members of the creates in progress, and of those whose outcome is unknown. */
  readonly inProgress: readonly string[];
  readonly unknown: readonly string[];
  /** All members in the order in which they were sent. */
  readonly sent: readonly string[];
  readonly clients: readonly KeyedClient[];
}

const NOTHING: Knowledge = { pets: [], inProgress: [], unknown: [], sent: [], clients: [] };
const NOT_READ = '';

export class Model {
  /** What is known now: an object that never changes, and is replaced by the next one. */
  known: Knowledge;
  /** How many creates had an unknown outcome. */
  unknownCount = 0;
  /** True if one process stores the pets, in the order in which they were sent. */
  readonly #isOrdered: boolean;

  constructor(known: Knowledge = NOTHING, isOrdered = true) {
    this.known = known;
    this.#isOrdered = isOrdered;
  }

  get petCount(): number {
    return this.known.pets.length;
  }

  addClient(client: KeyedClient): void {
    this.#learn({ clients: [...this.known.clients, client] });
  }

  /** Returns how many pets have these members. */
  countOf(members: string): number {
    return this.known.pets.filter((text, index) => text === textOf(index + 1, members)).length;
  }

  /** A create is sent, for the first time or again with its key. */
  sent(members: string): void {
    const { unknown, inProgress, sent } = this.known;
    // A pet that may still appear is expected in its old position.
    if (unknown.includes(members) || this.countOf(members) > 0) return;
    this.#learn({ inProgress: [...inProgress, members], sent: [...sent, members] });
  }

  /** A create is acknowledged. Throws if that contradicts what is known. */
  acknowledged(members: string, { id: petId, text }: StoredPet): void {
    this.ended(members);
    const id = Number(petId);
    if (text !== textOf(id, members)) throw new Error(`Acknowledged ${text} for ${members}`);
    const pets = [...this.known.pets];
    const known = pets[id - 1] ?? NOT_READ;
    if (known !== NOT_READ && known !== text) throw new Error(`Id ${id} again: ${text}, ${known}`);
    while (pets.length < id) pets.push(NOT_READ);
    pets[id - 1] = text;
    this.#learn({ pets });
  }

  /** As `acknowledged`. Throws, too, if the pet of this key has two ids or exists twice. */
  acknowledgedOnce({ key, members, id }: KeyedClient, pet: StoredPet): void {
    this.acknowledged(members, pet);
    const clients = this.known.clients.map((client) =>
      client.key === key ? { ...client, id: pet.id } : client,
    );
    this.#learn({ clients });
    if (id !== undefined && id !== pet.id) throw new Error(`Pet ${id} again, as ${pet.id}`);
    const count = this.countOf(members);
    if (count !== 1) throw new Error(`A pet with a key exists ${count} times: ${pet.text}`);
  }

  /** A create is in progress no more; a retry may never have been. A refused one leaves nothing. */
  ended(members: string): void {
    const inProgress = [...this.known.inProgress];
    const index = inProgress.indexOf(members);
    if (index !== -1) inProgress.splice(index, 1);
    this.#learn({ inProgress });
  }

  unknown(members: string): void {
    const { inProgress, unknown } = this.known;
    if (inProgress.includes(members)) this.#learn({ unknown: [...unknown, members] });
    this.ended(members);
    this.unknownCount += 1;
  }

  /**
   * A read shows these pets. `knownBefore` is the `petCount` when the read began: the read must
   * show so many. Throws if it contradicts what is known.
   */
  read(pets: readonly string[], knownBefore: number = this.petCount): void {
    const { known } = this;
    this.#learn({ pets: [...pets, ...known.pets.slice(Math.max(pets.length, knownBefore))] });
    const complaint = compare(pets, known, knownBefore, this.#isOrdered);
    if (complaint !== undefined) throw new Error(`A read shows the wrong pets: ${complaint}`);
  }

  /** The first read after a start that decides every create in doubt. Throws as `read` does. */
  reopened(pets: readonly string[]): void {
    try {
      this.read(pets);
    } finally {
      this.#learn({ inProgress: [], unknown: [] });
    }
  }

  #learn(news: Partial<Knowledge>): void {
    this.known = { ...this.known, ...news };
  }
}

/** Returns what is wrong with these pets as the content of a store, or undefined. */
function compare(
  pets: readonly string[],
  known: Knowledge,
  knownBefore: number,
  isOrdered: boolean,
): string | undefined {
  // Their pets appear in the order in which they were sent.
  const order = (members: string): number => known.sent.lastIndexOf(members);
  const possible = [...known.unknown, ...known.inProgress];
  possible.sort((one, other) => order(one) - order(other));
  for (let index = 0; index < Math.max(pets.length, knownBefore); index += 1) {
    const pet = pets[index];
    const expected = known.pets[index] ?? NOT_READ;
    if (expected !== NOT_READ) {
      if (pet !== expected) return `expected ${brief(expected)}, found ${brief(pet)}`;
      continue;
    }
    const found = possible.findIndex((members) => pet === textOf(index + 1, members));
    if (found === -1) return `nobody expects ${brief(pet)}`;
    if (isOrdered) possible.splice(0, found + 1);
    else possible.splice(found, 1);
  }
  return undefined;
}

function textOf(id: number, members: string): string {
  return `{"id":${id},${members}}`;
}

function brief(pet: string | undefined): string {
  return pet === undefined ? 'nothing' : pet.slice(0, 60);
}
