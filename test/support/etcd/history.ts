/**
 * A history: the calls of clients to several processes, with times and results. It checks if one
 * log of pets explains them.
 *
 * The log only grows, and is known at the end. So each result says how long the log was at a moment
 * of the call: at least its id for a pet that was found, less than its id for one that was not. The
 * history is linearizable if no call that starts after another one's end finds a shorter log.
 */

import assert from 'node:assert/strict';

export interface SeenPet {
  readonly id: number;
  readonly name: string;
}

interface Operation {
  readonly what: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The fewest and the most pets that the log can have had at a moment of the operation. */
  readonly least: number;
  readonly most: number;
}

export class History {
  readonly #operations: Operation[] = [];
  /** When each pet was first sent, by its name. */
  readonly #sentAt: Map<string, number> = new Map();
  /** The ids of the pets that were acknowledged or read, by their names. */
  readonly #idOf: Map<string, number> = new Map();
  readonly #refused: Set<string> = new Set();
  #violation: string | undefined;

  /** The number of operations with a result. */
  get length(): number {
    return this.#operations.length;
  }

  /** The first violation that was found before the end, if any. */
  get violation(): string | undefined {
    return this.#violation;
  }

  /** Records a violation that no log of pets explains. */
  violated(what: string): void {
    this.#violation ??= what;
  }

  /** The greatest id that was acknowledged or seen. */
  lastId = 0;

  sent(name: string, at: number): void {
    if (!this.#sentAt.has(name)) this.#sentAt.set(name, at);
  }

  created(pet: SeenPet, startedAt: number, endedAt: number): void {
    this.#saw(pet);
    const { id, name } = pet;
    this.#add({ what: `create ${name}`, startedAt, endedAt, least: id, most: Infinity });
  }

  /** Records a create that was refused: its pet must not be stored. */
  refused(name: string): void {
    this.#refused.add(name);
  }

  /** Records a page of at most `limit` pets after the id `after`. */
  listed(
    { after, limit }: { readonly after: number; readonly limit: number },
    pets: readonly SeenPet[],
    startedAt: number,
    endedAt: number,
  ): void {
    pets.forEach((pet, index) => {
      this.#saw(pet);
      const id = after + index + 1;
      if (pet.id !== id) this.violated(`a page has the pet ${pet.id} instead of ${id}`);
    });
    const least = pets.length === 0 ? 0 : after + pets.length;
    // A page that is not full is the end of the log.
    const most = pets.length < limit ? after + pets.length : Infinity;
    this.#add({ what: `list after ${after}`, startedAt, endedAt, least, most });
  }

  /** Checks all results against the pets that the log has at the end. */
  check(pets: readonly SeenPet[]): void {
    if (this.#violation !== undefined) assert.fail(this.#violation);
    const names = pets.map(({ name }) => name);
    for (const [index, { id }] of pets.entries()) {
      assert.equal(id, index + 1, `the ids have a gap before ${id}`);
    }
    const idOf = new Map(pets.map(({ id, name }) => [name, id]));
    const twice = names.find((name, index) => idOf.get(name) !== index + 1);
    assert.equal(twice, undefined, `${twice} is stored twice`);
    for (const [name, id] of this.#idOf) {
      assert.equal(idOf.get(name), id, `${name} was seen as ${id}`);
    }
    for (const name of names) {
      assert.ok(this.#sentAt.has(name), `${name} was never sent`);
      assert.ok(!this.#refused.has(name), `${name} was refused, and is stored`);
    }
    this.#checkOrder(idOf);
  }

  /** Throws if an operation found a shorter log than one that ended before it started. */
  #checkOrder(idOf: ReadonlyMap<string, number>): void {
    // Before a pet was sent, the log did not have it.
    const unsent = [...this.#sentAt].flatMap(([name, at]): Operation[] => {
      const id = idOf.get(name);
      if (id === undefined) return [];
      return [{ what: `before ${name}`, startedAt: at, endedAt: at, least: 0, most: id - 1 }];
    });
    for (const { what, startedAt, most } of [...this.#operations, ...unsent]) {
      const isLonger = ({ endedAt, least }: Operation): boolean =>
        endedAt < startedAt && least > most;
      const ended = this.#operations.find(isLonger);
      const why = `${what} found at most ${most} pets, after ${ended?.what} found ${ended?.least}`;
      assert.equal(ended, undefined, `not linearizable: ${why}`);
    }
  }

  #saw({ id, name }: SeenPet): void {
    const known = this.#idOf.get(name) ?? id;
    if (known !== id) this.violated(`${name} was seen as ${known} and as ${id}`);
    this.#idOf.set(name, id);
  }

  #add(operation: Operation): void {
    this.#operations.push(operation);
    this.lastId = Math.max(this.lastId, operation.least);
  }
}
