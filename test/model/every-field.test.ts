/**
 * Every way that a pet takes keeps every field of the pet, and checks it if a value can be wrong.
 *
 * A field that is added to `NewPet` has to be added to the samples below before this compiles; then
 * a test fails for each way that forgets it. Each way gets all fields, none of the optional ones,
 * and each optional one alone, since a way may lose a field only if another one is absent.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { petFrom, type ServiceResponse } from '../../src/client/responses.ts';
import { encodeNewPet } from '../../src/client/requests.ts';
import type { NewPet } from '../../src/model/pet.ts';
import { createPetAccess } from '../../src/model/pet-access.ts';
import { KeyReusedError } from '../../src/model/pet-store.ts';
import {
  formatMembers,
  formatPet,
  InvalidPetError,
  parseNewPet,
  parsePet,
  readNewPet,
  TextPet,
} from '../../src/model/pet-text.ts';
import { COMPONENTS } from '../../src/web/openapi/components.ts';
import { replayedPet } from '../../src/stores/table/idempotency-keys.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';

const SAMPLE: Required<NewPet> = { name: 'Rex', categoryId: 7n, status: 'sold' };
/** Differs from the sample in each field. */
const OTHER: Required<NewPet> = { name: 'Mia', categoryId: 8n, status: 'pending' };
const FIELDS = Object.keys(SAMPLE) as (keyof NewPet)[];

/** Returns the text of a pet, written without the code under test. */
function textOf(sample: NewPet): string {
  return JSON.stringify({ id: 1, ...sample }, (_key, value: unknown) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
}

function responseWith(text: string): ServiceResponse {
  return { status: 200, headers: new Headers(), text };
}

const pets = createPetAccess(createMemoryStore, createMemoryStore, () => '');

type Way = readonly [way: string, keep: (sample: NewPet) => unknown];
const WAYS: readonly Way[] = [
  ['parseNewPet', (sample) => parseNewPet(textOf(sample))],
  ['readNewPet', (sample) => readNewPet(sample)],
  ['formatMembers', (sample) => parsePet(formatPet(1n, formatMembers(sample)))],
  ['parsePet', (sample) => parsePet(textOf(sample))],
  ['TextPet', (sample) => new TextPet(1n, textOf(sample))],
  ['createPetAccess', (sample) => pets.create(sample)],
  ['encodeNewPet of the client', (sample) => parsePet(`{"id":1,${encodeNewPet(sample).slice(1)}`)],
  ['petFrom of the client', (sample) => petFrom(responseWith(textOf(sample)))],
];

/** All fields, the required ones, and these with each optional field alone. */
const OPTIONAL = FIELDS.filter((field) => field !== 'name' && field !== 'categoryId');
const { name, categoryId } = SAMPLE;
const SAMPLES: readonly NewPet[] = [
  SAMPLE,
  { name, categoryId },
  ...OPTIONAL.map((field) => ({ name, categoryId, [field]: SAMPLE[field] })),
];

for (const [way, keep] of WAYS) {
  test(`${way} keeps every field of a pet`, async () => {
    for (const sample of SAMPLES) {
      const kept = (await keep(sample)) as NewPet;
      for (const field of FIELDS) assert.equal(kept[field], sample[field], field);
    }
  });
}

/** An array is invalid in each field. A store must not keep a pet that it cannot read again. */
test('formatMembers, the parsers and the client check every field of a pet', () => {
  for (const field of FIELDS) {
    const wrong = { ...SAMPLE, [field]: [7] };
    const text = textOf(wrong);
    assert.throws(() => formatMembers(wrong), InvalidPetError, field);
    assert.throws(() => parseNewPet(text), InvalidPetError, field);
    assert.throws(() => parsePet(text), InvalidPetError, field);
    assert.throws(() => petFrom(responseWith(text)), { code: 'invalid_answer' }, field);
  }
});

test('replayedPet compares every field', () => {
  const stored = new TextPet(1n, textOf(SAMPLE));
  assert.equal(replayedPet(stored, SAMPLE), stored);
  for (const field of FIELDS) {
    const other = { ...SAMPLE, [field]: OTHER[field] };
    assert.throws(() => replayedPet(stored, other), KeyReusedError, field);
  }
});

test('The description has every field of a pet', () => {
  const { NewPet, Pet } = COMPONENTS.schemas;
  assert.deepEqual(Object.keys(NewPet!.properties!), FIELDS);
  assert.deepEqual(Object.keys(Pet!.properties!), ['id', ...FIELDS]);
});
