/**
 * The model: what the outside knows of the store, and so may expect of it after anything.
 *
 * A pet that was answered or seen by a read stays, byte for byte, under its id. A create that is
 * under way, or whose outcome is unknown, may come out either way. One that was refused leaves
 * nothing, ever, whatever fails. A client with a key sends its pet until it is answered, and again
 * after that: the pet is there exactly once.
 */

import type { NewPet, StoredPet } from '../../src/model/pet.ts';
import type { KeyHash } from '../../src/stores/idempotency/key-table.ts';

/** A client that sends one pet with its key, until it is answered. */
export interface KeyedClient {
  readonly key: KeyHash;
  readonly pet: NewPet;
  /** The pet's members, as its text has them after its id. */
  readonly members: string;
  /** The id that was answered; undefined before that. */
  readonly id: bigint | undefined;
}

/** What is known at one moment. */
export interface Knowledge {
  /** The text of the pet with id 1, 2, 3 and so on. */
  readonly pets: readonly string[];
  /** The members of the others, as the text of a pet has them after its id. */
  readonly underWay: readonly string[];
  readonly unknown: readonly string[];
  readonly clients: readonly KeyedClient[];
}

const NOTHING: Knowledge = { pets: [], underWay: [], unknown: [], clients: [] };

export class Model {
  #pets: string[];
  #underWay: string[];
  #unknown: string[];
  #clients: readonly KeyedClient[];
  /** Changes whenever the knowledge does. */
  version = 0;
  /** How many creates were refused, and of how many the outcome was unknown. */
  refusedCount = 0;
  unknownCount = 0;

  constructor({ pets, underWay, unknown, clients }: Knowledge = NOTHING) {
    this.#pets = [...pets];
    this.#underWay = [...underWay];
    this.#unknown = [...unknown];
    this.#clients = clients;
  }

  get petCount(): number {
    return this.#pets.length;
  }

  get clients(): readonly KeyedClient[] {
    return this.#clients;
  }

  knowledge(): Knowledge {
    return {
      pets: [...this.#pets],
      underWay: [...this.#underWay],
      unknown: [...this.#unknown],
      clients: this.#clients,
    };
  }

  addClient(client: KeyedClient): void {
    this.#clients = [...this.#clients, client];
  }

  /** How often a pet with these members is there. */
  countOf(members: string): number {
    return this.#pets.filter((text, index) => text === textOf(index + 1, members)).length;
  }

  /** For the first time, or again with a key. */
  sent(members: string): void {
    // What may still appear is expected in its old place.
    if (this.#unknown.includes(members) || this.countOf(members) > 0) return;
    this.#underWay.push(members);
    this.version += 1;
  }

  /** Throws when the answer contradicts what is known. */
  answered(members: string, { id: petId, text }: StoredPet): void {
    this.#settle(members);
    const id = Number(petId);
    if (text !== textOf(id, members)) throw new Error(`Answered ${text} to ${members}`);
    const known = this.#pets[id - 1];
    if (id > this.#pets.length + 1) throw new Error(`Pet ${id} leaves a gap`);
    if (known !== undefined && known !== text) throw new Error(`Id ${id} again: ${text}, ${known}`);
    this.#pets[id - 1] = text;
  }

  /** Throws when the pet is another one than an earlier answer gave, or is there twice. */
  answeredOnce({ key, members, id }: KeyedClient, pet: StoredPet): void {
    this.answered(members, pet);
    this.#clients = this.#clients.map((client) =>
      client.key === key ? { ...client, id: pet.id } : client,
    );
    if (id !== undefined && id !== pet.id) throw new Error(`Pet ${id} again, as ${pet.id}`);
    const count = this.countOf(members);
    if (count !== 1) throw new Error(`A pet with a key is there ${count} times: ${pet.text}`);
  }

  refused(members: string): void {
    this.#settle(members);
    this.refusedCount += 1;
  }

  unknown(members: string): void {
    if (this.#settle(members)) this.#unknown.push(members);
    this.unknownCount += 1;
  }

  /** All pets, as a read shows them while the store is open. Throws when they cannot be. */
  seen(pets: readonly string[]): void {
    this.#expect(pets, this.knowledge());
  }

  /** All pets, as the first read shows them after a start. Throws when they cannot be. */
  reopened(pets: readonly string[]): void {
    const known = this.knowledge();
    // A start decides what was open.
    this.#underWay = [];
    this.#unknown = [];
    this.#expect(pets, known);
  }

  #expect(pets: readonly string[], known: Knowledge): void {
    this.#pets = [...pets];
    this.version += 1;
    const complaint = compare(pets, known);
    if (complaint !== undefined) throw new Error(`A read shows the wrong pets: ${complaint}`);
  }

  /** True when the pet was under way; what was sent again may not be. */
  #settle(members: string): boolean {
    this.version += 1;
    const index = this.#underWay.indexOf(members);
    if (index === -1) return false;
    this.#underWay.splice(index, 1);
    return true;
  }
}

/** What is wrong with these pets, as all that a store holds; undefined when nothing is. */
export function compare(pets: readonly string[], known: Knowledge): string | undefined {
  const lost = known.pets.findIndex((pet, index) => pet !== pets[index]);
  if (lost !== -1) return `expected ${brief(known.pets[lost])}, found ${brief(pets[lost])}`;
  const possible = [...known.unknown, ...known.underWay];
  for (let index = known.pets.length; index < pets.length; index += 1) {
    const found = possible.findIndex((members) => pets[index] === textOf(index + 1, members));
    if (found === -1) return `nobody expects ${brief(pets[index])}`;
    // Later pets were sent later.
    possible.splice(0, found + 1);
  }
  return undefined;
}

function textOf(id: number, members: string): string {
  return `{"id":${id},${members}}`;
}

function brief(pet: string | undefined): string {
  return pet === undefined ? 'nothing' : pet.slice(0, 60);
}
