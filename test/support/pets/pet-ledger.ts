/**
 * A ledger of pets: what clients sent to a service and what it told them, to be held against what
 * it says after a restart. The promise: a pet that was answered or seen is there, once, byte for
 * byte; one that was only sent may be there, once, as it was sent.
 */

import assert from 'node:assert/strict';
import type { Outcome } from '../http/wire.ts';
import type { Random } from '../random.ts';

export class PetLedger {
  /** By name, which no two have in common: the body of the request. */
  readonly #sent = new Map<string, string>();
  /** By id: the text of each pet that was answered or seen. */
  readonly #told = new Map<number, string>();
  readonly #answered = new Set<number>();

  /** The bodies of creates with a key that got no 201, to be sent again. */
  readonly unanswered: string[] = [];

  /** How many pets were answered with 201. */
  get answered(): number {
    return this.#answered.size;
  }

  /** How many were sent, whatever became of them. */
  get sent(): number {
    return this.#sent.size;
  }

  /** The greatest id that was answered or seen. */
  lastId = 0;

  /** A body for createPet, with a name that no other has and that may be so much longer. */
  newPet(random: Random, maxPaddingBytes = 4000): string {
    const unit = random.pick(['x', 'é', '\u{1f436}"', '\\/\u2028']);
    const bound = Math.floor(maxPaddingBytes / Buffer.byteLength(JSON.stringify(unit)));
    const name = `Pet ${this.#sent.size + 1} ${unit.repeat(random.below(bound))}`;
    const status = random.pick([undefined, 'available', 'pending', 'sold']);
    const body = JSON.stringify({ name, categoryId: random.below(1000), status });
    this.#sent.set(name, body);
    return body;
  }

  /** Takes down a 201, the answer to `body`. */
  addAnswer(answer: Outcome, body: string): void {
    const [pet = ''] = petsOf(answer);
    const id = idOf(pet);
    assert.equal(pet, withId(id, body));
    assert.ok(!this.#answered.has(id), `${id} was given out twice`);
    this.#answered.add(id);
    this.#tell(id, pet);
  }

  /** Takes down what a 200 shows: an array of pets, or one. */
  addSeen(answer: Outcome): void {
    for (const pet of petsOf(answer)) {
      const { id, name } = JSON.parse(pet) as { id: number; name: string };
      assert.equal(pet, this.#asSent(id, name));
      this.#tell(id, pet);
    }
  }

  /** Holds all pets of a service, in its order and as texts, against the ledger. */
  check(pets: readonly string[]): void {
    const names = new Set<string>();
    let lastId = 0;
    for (const text of pets) {
      const { id, name } = JSON.parse(text) as { id: number; name: string };
      assert.ok(id > lastId, `${id} comes after ${lastId}`);
      assert.equal(text, this.#told.get(id) ?? this.#asSent(id, name));
      assert.ok(!names.has(name), `${name} is there twice`);
      names.add(name);
      lastId = id;
    }
    const ids = new Set(pets.map(idOf));
    assert.deepEqual(
      [...this.#told.keys()].filter((id) => !ids.has(id)),
      [],
      'Pets that were answered or seen are not there',
    );
  }

  #asSent(id: number, name: string): string {
    return withId(id, this.#sent.get(name) ?? '{a pet that nobody sent');
  }

  #tell(id: number, pet: string): void {
    assert.equal(pet, this.#told.get(id) ?? pet);
    this.#told.set(id, pet);
    this.lastId = Math.max(this.lastId, id);
  }
}

/** The text of each pet in an answer, an array or one pet. */
export function petsOf(answer: Outcome): readonly string[] {
  assert.ok(answer.status !== 'cut');
  const text = Buffer.from(answer.body, 'latin1').toString();
  if (text === '[]') return [];
  // JSON writes no line feed inside a string as it is, so these are between pets.
  return text.startsWith('[') ? text.slice(1, -1).split(',\n') : [text];
}

function withId(id: number, body: string): string {
  return `{"id":${id},${body.slice(1)}`;
}

function idOf(pet: string): number {
  return Number(/^\{"id":([0-9]+),/.exec(pet)?.[1]);
}
