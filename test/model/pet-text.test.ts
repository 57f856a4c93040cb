/**
 * A pet's text: what is taken, what is refused and how, and that no value is changed on its way.
 *
 * Every way that a pet takes keeps every field of the pet, and checks it if a value can be wrong. A
 * field that is added to `NewPet` has to be added to the samples below before this compiles; then a
 * test fails for each way that forgets it. Each way gets all fields, none of the optional ones, and
 * each optional one alone, since a way may lose a field only if another one is absent.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeNewPet } from '../../src/extras/client/requests.ts';
import { petFrom, type ServiceResponse } from '../../src/extras/client/responses.ts';
import { createPetAccess } from '../../src/core/pets/pet-access.ts';
import {
  formatMembers,
  formatPet,
  InvalidPetError,
  MAX_PET_BYTES,
  parseFilePet,
  parseNewPet,
  parsePet,
  petsIn,
  readNewPet,
} from '../../src/core/pets/pet-text.ts';
import type { NewPet, Pet } from '../../src/core/pets/pet.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { COMPONENTS } from '../../src/extras/web/openapi/components.ts';
import { rounds } from '../support/extent.ts';
import { randomNewPet, randomPet, randomPetText } from '../support/pets/random-pet.ts';
import { forAll } from '../support/random.ts';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

test('A NewPet of a request is written with only the necessary escapes, and integers in plain digits', () => {
  const cases: readonly (readonly [text: string, pet: string])[] = [
    [' {\n"name" : "" ,\t"categoryId" : -0 }\r\n', '{"id":1,"name":"","categoryId":0}'],
    [
      '{"st\\u0061tus":"s\\u006fld","name":"\\u0052ex","categoryId":1e2}',
      '{"id":1,"name":"Rex","categoryId":100,"status":"sold"}',
    ],
    [
      '{"name":"\\/é🐶\\ud83d\\udc36\\uD800\\u0000\\u000A\\"\\u005c\u2028","categoryId":0}',
      '{"id":1,"name":"/é🐶🐶\\ud800\\u0000\\n\\"\\\\\u2028","categoryId":0}',
    ],
    [`{"name":"a","categoryId":${MIN}}`, `{"id":1,"name":"a","categoryId":${MIN}}`],
    [
      '{"id":"x","name":"a","categoryId":1,"extra":{"name":[2]},"__proto__":3}',
      '{"id":1,"name":"a","categoryId":1}',
    ],
    ['{"name":1,"categoryId":"x","name":"b","categoryId":2}', '{"id":1,"name":"b","categoryId":2}'],
  ];
  for (const [text, pet] of cases) {
    assert.equal(textOf({ id: 1n, ...parseNewPet(text) }), pet, text);
  }
});

test('JSON that is not a NewPet is refused with a sentence for each invalid field', () => {
  const expected = 'must be an integer of 64 bits, not';
  const statuses = 'status must be one of available, pending, sold, not';
  const cases: readonly (readonly [text: string, sentences: string])[] = [
    ['{}', 'name is required; categoryId is required'],
    [
      '{"Name":"Rex","category_id":1,"CATEGORYID":2}',
      'name is required, not "Name"; categoryId is required, not "category_id"',
    ],
    [
      '{"name":1,"categoryId":"7","status":"gone"}',
      `name must be a string, not 1; categoryId ${expected} "7"; ${statuses} "gone"`,
    ],
    [
      '{"name":null,"categoryId":null,"status":null}',
      `name must be a string, not null; categoryId ${expected} null; ${statuses} null`,
    ],
    [
      '{"name":["a"],"categoryId":1.5}',
      `name must be a string, not an array; categoryId ${expected} 1.5`,
    ],
    [`{"name":"a","categoryId":${MAX + 1n}}`, `categoryId ${expected} ${MAX + 1n}`],
    ['{"name":"a","categoryId":1,"status":["sold\\n"]}', `${statuses} an array`],
    ['{"name":"a","name":1,"categoryId":1}', 'name must be a string, not 1'],
    [' [] ', 'Expected an object but got an array'],
    [`"${'x'.repeat(61)}"`, `Expected an object but got "${'x'.repeat(60)}…"`],
    // No surrogate pair is split.
    [`"${'x'.repeat(59)}🐶y"`, `Expected an object but got "${'x'.repeat(59)}…"`],
    [`"${'x'.repeat(58)}🐶y"`, `Expected an object but got "${'x'.repeat(58)}🐶…"`],
  ];
  for (const [text, sentences] of cases) {
    assert.throws(() => parseNewPet(text), { name: 'InvalidPetError', message: sentences }, text);
  }
});

test('A NewPet may have as many bytes as a Pet that can be read back', () => {
  const newPetOf = (bytes: number): NewPet => {
    const rest = bytes - formatMembers({ name: '', categoryId: MIN, status: 'available' }).length;
    const name = 'é'.repeat(rest >> 1) + 'e'.repeat(rest & 1);
    return { name, categoryId: MIN, status: 'available' };
  };
  const longest = formatPet(MAX, formatMembers(newPetOf(MAX_PET_BYTES - 64)));
  assert.ok(Buffer.byteLength(longest) <= MAX_PET_BYTES);
  const message = `without its id a pet has at most ${MAX_PET_BYTES - 64} bytes`;
  const format = (): unknown => formatMembers(newPetOf(MAX_PET_BYTES - 63));
  assert.throws(format, { name: 'InvalidPetError', message });
});

test('A NewPet and a Pet are read in any layout', () => {
  forAll(rounds(1500, 5000), (random) => {
    const newPet = randomNewPet(random);
    const body = randomPetText(random, newPet);
    assert.deepEqual(parseNewPet(body), newPet, body);
    const pet = randomPet(random);
    assert.deepEqual(parsePet(textOf(pet)), pet);
    const text = randomPetText(random, pet);
    assert.deepEqual(parsePet(text), pet, text);
  });
});

test('An invalid Pet is refused with a message that names every invalid field', () => {
  for (const [members, message] of [
    ['', 'id is required; name is required; categoryId is required'],
    ['"id":-0,"name":"a","categoryId":1', 'id must be positive, not 0'],
    ['"id":1,"name":"a","categoryId":1,"__proto__":{}', '"__proto__" is no field of a Pet'],
    ['"id":1,"name":"a","n\\u0061me":"b","id":-1,"categoryId":1', 'id must be positive, not -1'],
  ] as const) {
    assert.throws(() => parsePet(`{${members}}`), { name: 'InvalidPetError', message });
  }
  assert.throws(() => parsePet('1e400'), { message: 'Expected a pet but got 1e400' });
});

test('A pet of a file may have an idempotency key, and no id', () => {
  const pet = parseFilePet('{"name":"a","categoryId":1,"idempotencyKey":"x"}', 5n);
  assert.deepEqual(pet, { id: 5n, name: 'a', categoryId: 1n, hasId: false, idempotencyKey: 'x' });
  assert.throws(() => parseFilePet('{"id":1.5}', 5n), {
    message: 'id must be an integer of 64 bits, not 1.5; name is required; categoryId is required',
  });
});

test('Of an array, all pets are read, or none', () => {
  const pet = '{"id":1,"name":"a","categoryId":1}';
  assert.deepEqual(petsIn(`[${pet}]`), [{ id: 1n, name: 'a', categoryId: 1n }]);
  for (const text of [`[${pet},7]`, `[${pet}`, pet]) assert.deepEqual(petsIn(text), []);
});

function textOf(pet: Pet): string {
  return formatPet(pet.id, formatMembers(pet));
}

const SAMPLE: Required<NewPet> = { name: 'Rex', categoryId: 7n, status: 'sold' };
const FIELDS = Object.keys(SAMPLE) as (keyof NewPet)[];

/** Returns the text of a pet, written without the code under test. */
function jsonOf(sample: NewPet): string {
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
  ['parseNewPet', (sample) => parseNewPet(jsonOf(sample))],
  ['readNewPet', (sample) => readNewPet(sample)],
  ['formatMembers', (sample) => parsePet(formatPet(1n, formatMembers(sample)))],
  ['parsePet', (sample) => parsePet(jsonOf(sample))],
  ['createPetAccess', (sample) => pets.create(sample)],
  ['encodeNewPet of the client', (sample) => parsePet(`{"id":1,${encodeNewPet(sample).slice(1)}`)],
  ['petFrom of the client', (sample) => petFrom(responseWith(jsonOf(sample)))],
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
    const text = jsonOf(wrong);
    assert.throws(() => formatMembers(wrong), InvalidPetError, field);
    assert.throws(() => parseNewPet(text), InvalidPetError, field);
    assert.throws(() => parsePet(text), InvalidPetError, field);
    assert.throws(() => petFrom(responseWith(text)), { code: 'invalid_answer' }, field);
  }
});

test('The description has every field of a pet', () => {
  const { NewPet, Pet } = COMPONENTS.schemas;
  assert.deepEqual(Object.keys(NewPet!.properties!), FIELDS);
  assert.deepEqual(Object.keys(Pet!.properties!), ['id', ...FIELDS]);
});
