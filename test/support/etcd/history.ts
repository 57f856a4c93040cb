/**
 * A history: the calls of clients to several processes, in the order in which they begin and end.
 * It checks if one log of pets explains their results.
 *
 * The log only grows, and has the ids 1, 2, 3 and so on. So each result says how long the log was
 * at a moment of the call: at least its id for a pet that was found, less than its id for one that
 * was not. The history is linearizable if no call finds a shorter log than one that ended before it
 * began. A create whose outcome is unknown began when it was first sent.
 */

import assert from 'node:assert/strict';

export interface SeenPet {
  readonly id: number;
  readonly name: string;
}

export class History {
  /** The number of calls that ended with a result. */
  length = 0;
  /** The length that the log has at least: the greatest id that a call returned. */
  lastId = 0;
  /** The first violation, which no log of pets explains. */
  violation: string | undefined;
  /** The `lastId` when a pet was first sent, by its name: its id is greater. */
  readonly #sentAt: Map<string, number> = new Map();
  /** The ids of the pets that were acknowledged or read, by their names. */
  readonly #idOf: Map<string, number> = new Map();
  readonly #refused: Set<string> = new Set();

  violated(what: string): void {
    this.violation ??= what;
  }

  sent(name: string): void {
    if (!this.#sentAt.has(name)) this.#sentAt.set(name, this.lastId);
  }

  created(pet: SeenPet): void {
    this.#saw(pet);
    this.#ended(pet.id);
  }

  /** Records a create that was refused: its pet must not be stored. */
  refused(name: string): void {
    this.#refused.add(name);
  }

  /** Records a page of at most `limit` pets after an id. `lastId` is as of the call's begin. */
  listed(page: { after: number; limit: number; lastId: number }, pets: readonly SeenPet[]): void {
    const end = page.after + pets.length;
    for (const [index, pet] of pets.entries()) {
      this.#saw(pet);
      const id = page.after + index + 1;
      if (pet.id !== id) this.violated(`a page has the pet ${pet.id} instead of ${id}`);
    }
    // A page that is not full is the end of the log.
    if (pets.length < page.limit && end < page.lastId) {
      this.violated(`not linearizable: a page ends at ${end} after ${page.lastId} was seen`);
    }
    this.#ended(pets.length === 0 ? 0 : end);
  }

  /** Checks all results against the pets that the log has at the end. */
  check(pets: readonly SeenPet[]): void {
    const names = new Map(pets.map(({ id, name }) => [name, id]));
    for (const [index, pet] of pets.entries()) {
      this.#saw(pet);
      if (pet.id !== index + 1) this.violated(`the ids have a gap before ${pet.id}`);
      if (this.#refused.has(pet.name)) this.violated(`${pet.name} was refused, and is stored`);
    }
    for (const [name, id] of this.#idOf) {
      if (names.get(name) !== id) this.violated(`${name} was seen as ${id}, and is not stored so`);
    }
    if (this.violation !== undefined) assert.fail(this.violation);
  }

  #saw({ id, name }: SeenPet): void {
    const known = this.#idOf.get(name) ?? id;
    if (known !== id) this.violated(`${name} was seen as ${known} and as ${id}`);
    this.#idOf.set(name, id);
    const sentAt = this.#sentAt.get(name);
    if (sentAt === undefined) this.violated(`${name} was never sent`);
    else if (id <= sentAt) this.violated(`not linearizable: ${name} is ${id}, sent at ${sentAt}`);
  }

  #ended(length: number): void {
    this.length += 1;
    this.lastId = Math.max(this.lastId, length);
  }
}
