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
  /** By name: the id of each pet that was answered or seen. */
  readonly #ids = new Map<string, number>();

  /** The names of the pets that were refused, and not sent again. */
  readonly #refused = new Set<string>();

  /** How much longer a name may be. */
  maxPaddingBytes = 4000;
  /** The bodies of creates with a key that got no 201, to be sent again. */
  readonly unanswered: string[] = [];
  /** How many pets were answered with 201. */
  answered = 0;
  /** The greatest id that was answered or seen. */
  lastId = 0;

  /** How many were sent, whatever became of them. */
  get sent(): number {
    return this.#sent.size;
  }

  /** A body for createPet, with a name that no other has and that may be so much longer. */
  newPet(random: Random): string {
    const unit = random.pick(['x', 'é', '\u{1f436}"', '\\/\u2028']);
    const bound = Math.floor(this.maxPaddingBytes / Buffer.byteLength(JSON.stringify(unit)));
    const name = `Pet ${this.#sent.size + 1} ${unit.repeat(random.below(bound))}`;
    const status = random.pick([undefined, 'available', 'pending', 'sold']);
    const body = JSON.stringify({ name, categoryId: random.below(1000), status });
    this.#sent.set(name, body);
    return body;
  }

  /** Takes down a 201, the answer to `body`. */
  addAnswer(answer: Outcome, body: string): void {
    const [pet = ''] = petsOf(answer);
    assert.equal(pet, withId(this.#see(pet), body));
    this.answered += 1;
  }

  /** Takes down a 503, the answer to `body`, which is not sent again. */
  addRefusal(body: string): void {
    this.#refused.add((JSON.parse(body) as { name: string }).name);
  }

  /** Takes down what a 200 shows: an array of pets, or one. */
  addSeen(answer: Outcome): void {
    for (const pet of petsOf(answer)) this.#see(pet);
  }

  /** Holds all pets of a service, in its order and as texts, against the ledger. */
  check(pets: readonly string[]): void {
    const ids = pets.map((pet) => this.#see(pet));
    assert.ok(
      ids.every((id, index) => id > (ids[index - 1] ?? 0)),
      'The ids do not ascend',
    );
    const listed = new Set(pets);
    const lost = [...this.#ids].filter(([name, id]) => !listed.has(this.#textOf(name, id)));
    assert.deepEqual(lost, [], 'Pets that were answered or seen are not there');
  }

  /** Returns the id. Throws if the pet is not as it was sent, or has had another id. */
  #see(text: string): number {
    const { id, name } = JSON.parse(text) as { id: number; name: string };
    assert.equal(text, this.#textOf(name, id));
    assert.equal(id, this.#ids.get(name) ?? id, `${name} is there twice`);
    assert.ok(!this.#refused.has(name), `${name} was refused`);
    this.#ids.set(name, id);
    this.lastId = Math.max(this.lastId, id);
    return id;
  }

  #textOf(name: string, id: number): string {
    return withId(id, this.#sent.get(name) ?? '{a pet that nobody sent');
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
