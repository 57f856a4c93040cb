/**
 * A ledger of what stores answered: many callers create pets with names of their own, and in the
 * end a new process must find every answered pet under its id, the ids without a gap, and no pet
 * twice.
 */

import assert from 'node:assert/strict';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../../../src/model/pet-store.ts';

export class Ledger {
  /** The names of answered pets, by id. */
  readonly answered: Map<bigint, string> = new Map();
  /** Names of pets of which nobody could tell. */
  readonly unknown: Set<string> = new Set();
  refused = 0;
  #names = 0;

  /** Creates pets in the store until `isOver`, with so many callers, and reads now and then. */
  async load(store: PetStore, callers: number, isOver: () => boolean): Promise<void> {
    const call = async (): Promise<void> => {
      while (!isOver()) await this.#createOne(store);
    };
    await Promise.all([...Array.from({ length: callers }, call), this.#read(store, isOver)]);
  }

  async #createOne(store: PetStore): Promise<void> {
    const name = `pet-${(this.#names += 1)}`;
    try {
      const { id } = await store.create({ name, categoryId: 1n });
      assert.ok(!this.answered.has(id), `the id ${id} was answered twice`);
      this.answered.set(id, name);
    } catch (error) {
      if (error instanceof OutcomeUnknownError) this.unknown.add(name);
      else if (error instanceof StoreUnavailableError) this.refused += 1;
      else throw error;
    }
  }

  /** What was answered before a read began, by any store, is in it. */
  async #read(store: PetStore, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const last = [...this.answered].at(-1);
      if (last === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        continue;
      }
      const [id, name] = last;
      const pet = await Promise.resolve(store.get(id)).catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) return null;
        throw error;
      });
      if (pet !== null) assert.equal(pet?.name, name, `a stale read of the pet ${id}`);
    }
  }

  /** Holds all answers against what a store has. */
  async check(store: PetStore): Promise<void> {
    const found = new Map<bigint, string>();
    let after: bigint | undefined;
    do {
      const page = await store.list({ limit: 1000, after });
      for (const { id, name } of page.pets) found.set(id, name);
      after = page.next;
    } while (after !== undefined);
    const ids = [...found.keys()];
    assert.deepEqual(
      ids,
      ids.map((_, index) => BigInt(index + 1)),
      'the ids have a gap',
    );
    for (const [id, name] of this.answered) assert.equal(found.get(id), name, `the pet ${id}`);
    const names = [...found.values()];
    assert.equal(new Set(names).size, names.length, 'a pet is there twice');
    const answered = new Set(this.answered.values());
    for (const name of names) {
      assert.ok(answered.has(name) || this.unknown.has(name), `${name} was refused, and is there`);
    }
  }
}
