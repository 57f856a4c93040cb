/**
 * A pet's text: what is taken, what is refused and how, and that no value is changed on its way.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewPet, Pet } from '../../src/model/pet.ts';
import {
  formatMembers,
  formatPet,
  MAX_PET_BYTES,
  parseNewPet,
  parsePet,
  parsePets,
} from '../../src/model/pet-text.ts';
import { forAll } from '../support/random.ts';
import { randomNewPet, randomPet, randomPetText } from '../support/pets/random-pet.ts';

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
  forAll(5000, (random) => {
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

test('Of an array, each pet is read by itself', () => {
  const [pet, ...others] = parsePets('[{"id":1,"name":"a","categoryId":1}, 7, {"id":1.5}]');
  assert.deepEqual(pet, { id: 1n, name: 'a', categoryId: 1n });
  assert.deepEqual(
    others.map((other) => (other as Error).message),
    [
      'Expected a pet but got 7',
      'id must be an integer of 64 bits, not 1.5; name is required; categoryId is required',
    ],
  );
  assert.throws(() => parsePets('{}'), /Expected an array of pets but got an object/);
});

function textOf(pet: Pet): string {
  return formatPet(pet.id, formatMembers(pet));
}
