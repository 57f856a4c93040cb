/**
 * Every field of a pet is kept on every way that a pet takes. A field that is added to `NewPet` has
 * to be added to the samples below before this compiles; then a test fails for each way that
 * forgets it.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { petFrom } from '../../src/client/responses.ts';
import { encodeNewPet } from '../../src/client/requests.ts';
import type { NewPet } from '../../src/model/pet.ts';
import { createPetAccess } from '../../src/model/pet-access.ts';
import { KeyReusedError } from '../../src/model/pet-store.ts';
import {
  formatMembers,
  formatPet,
  parseNewPet,
  parsePet,
  readNewPet,
} from '../../src/model/pet-text.ts';
import { storedPetOf } from '../../src/model/stored-pet.ts';
import { COMPONENTS } from '../../src/openapi/components.ts';
import { replayedPet } from '../../src/stores/idempotency/idempotent-creates.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';

const SAMPLE: Required<NewPet> = { name: 'Rex', categoryId: 7n, status: 'sold' };
/** Differs from the sample in each field. */
const OTHER: Required<NewPet> = { name: 'Mia', categoryId: 8n, status: 'pending' };
const FIELDS = Object.keys(SAMPLE) as (keyof NewPet)[];

const text = `{"id":1,${FIELDS.map((field) => `"${field}":${json(SAMPLE[field])}`).join()}}`;
const stored = storedPetOf(1n, text);

function json(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

const pets = createPetAccess(
  () => createMemoryStore(),
  () => createMemoryStore(),
  () => '',
);

const WAYS: readonly (readonly [way: string, pet: () => unknown])[] = [
  ['parseNewPet', () => (parseNewPet(Buffer.from(text)) as { newPet: NewPet }).newPet],
  ['readNewPet', () => readNewPet(SAMPLE)],
  ['formatMembers', () => parsePet(formatPet(1n, formatMembers(SAMPLE)))],
  ['parsePet', () => parsePet(text)],
  ['storedPetOf', () => stored],
  ['createPetAccess', () => pets.create(SAMPLE)],
  ['encodeNewPet of the client', () => parsePet(`{"id":1,${encodeNewPet(SAMPLE).slice(1)}`)],
  ['petFrom of the client', () => petFrom({ status: 200, headers: new Headers(), text })],
];

for (const [way, pet] of WAYS) {
  test(`${way} keeps every field of a pet`, async () => {
    const kept = (await pet()) as NewPet;
    for (const field of FIELDS) assert.equal(kept[field], SAMPLE[field], `${way} loses ${field}`);
  });
}

test('replayedPet compares every field', () => {
  assert.equal(replayedPet(stored, SAMPLE), stored);
  for (const field of FIELDS) {
    const other = { ...SAMPLE, [field]: OTHER[field] };
    assert.throws(
      () => replayedPet(stored, other),
      KeyReusedError,
      `replayedPet passes over ${field}`,
    );
  }
});

test('The description has every field of a pet', () => {
  const { NewPet, Pet } = COMPONENTS.schemas;
  assert.deepEqual(Object.keys(NewPet!.properties!), FIELDS);
  assert.deepEqual(Object.keys(Pet!.properties!), ['id', ...FIELDS]);
});
