/**
 * A pet's text: what is taken, what is refused and how, and that no value is changed on its way.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonSyntaxError } from '../../src/base/json.ts';
import type { NewPet, Pet } from '../../src/model/pet.ts';
import {
  formatMembers,
  formatPet,
  formatPets,
  InvalidPetError,
  MAX_PET_BYTES,
  parseNewPet,
  parsePet,
  parsePetAt,
} from '../../src/model/pet-text.ts';
import { petPageOf } from '../../src/model/stored-pet.ts';
import { forAll, mutate } from '../support/random.ts';
import { randomNewPet, randomPet, randomPetText } from '../support/pets/random-pet.ts';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

test('A NewPet of a request is written with no escape but those it needs, its integers in plain digits', () => {
  const cases: readonly (readonly [text: string, pet: string])[] = [
    ['{"name":"Rex","categoryId":7}', '{"id":1,"name":"Rex","categoryId":7}'],
    ['{"categoryId":7,"name":"Rex"}', '{"id":1,"name":"Rex","categoryId":7}'],
    [' {\n"name" : "" ,\t"categoryId" : -0 }\r\n', '{"id":1,"name":"","categoryId":0}'],
    [
      '{"status":"sold","name":"\\u0052ex","categoryId":1e2}',
      '{"id":1,"name":"Rex","categoryId":100,"status":"sold"}',
    ],
    [
      '{"name":"\\/é🐶\\ud83d\\udc36\\uD800\\u0000\\u000A\\"\\u005c\u2028","categoryId":0}',
      '{"id":1,"name":"/é🐶🐶\\ud800\\u0000\\n\\"\\\\\u2028","categoryId":0}',
    ],
    [
      '{"name":"a","categoryId":1.0,"st\\u0061tus":"s\\u006fld"}',
      '{"id":1,"name":"a","categoryId":1,"status":"sold"}',
    ],
    [`{"name":"a","categoryId":${MAX}}`, `{"id":1,"name":"a","categoryId":${MAX}}`],
    [`{"name":"a","categoryId":${MIN}}`, `{"id":1,"name":"a","categoryId":${MIN}}`],
    ['{"id":"x","name":"a","categoryId":1}', '{"id":1,"name":"a","categoryId":1}'],
    [
      '{"name":"a","categoryId":1,"extra":{"name":[2]},"__proto__":3}',
      '{"id":1,"name":"a","categoryId":1}',
    ],
    ['{"name":1,"categoryId":"x","name":"b","categoryId":2}', '{"id":1,"name":"b","categoryId":2}'],
    [
      '{"status":null,"name":"a","categoryId":1,"status":"pending"}',
      '{"id":1,"name":"a","categoryId":1,"status":"pending"}',
    ],
  ];
  for (const [text, pet] of cases) {
    assert.equal(textOf({ id: 1n, ...newPetOf(text) }), pet, text);
  }
});

test('What is JSON but no NewPet is refused, with a sentence for each field at fault', () => {
  const expected = 'must be an integer of 64 bits, not';
  const statuses = 'status must be one of available, pending, sold, not';
  const cases: readonly (readonly [text: string, sentences: string])[] = [
    ['{}', 'name is required; categoryId is required'],
    ['{"name":"a"}', 'categoryId is required'],
    ['{"Name":"a","categoryID":1}', 'name is required; categoryId is required'],
    [
      '{"name":1,"categoryId":"7","status":"gone"}',
      `name must be a string, not 1; categoryId ${expected} "7"; ${statuses} "gone"`,
    ],
    [
      '{"name":null,"categoryId":null,"status":null}',
      `name must be a string, not null; categoryId ${expected} null; ${statuses} null`,
    ],
    ['{"name":["a"],"categoryId":1}', 'name must be a string, not ["a"]'],
    ['{"name":"a","categoryId":1.5}', `categoryId ${expected} 1.5`],
    ['{"name":"a","categoryId":9007199254740993.5}', `categoryId ${expected} 9007199254740993.5`],
    ['{"name":"a","categoryId":1e400}', `categoryId ${expected} 1e400`],
    [`{"name":"a","categoryId":${MAX + 1n}}`, `categoryId ${expected} ${MAX + 1n}`],
    [`{"name":"a","categoryId":${MIN - 1n}}`, `categoryId ${expected} ${MIN - 1n}`],
    ['{"name":"a","categoryId":true}', `categoryId ${expected} true`],
    ['{"name":"a","categoryId":{}}', `categoryId ${expected} {}`],
    ['{"name":"a","categoryId":1,"status":""}', `${statuses} ""`],
    ['{"name":"a","categoryId":1,"status":"Sold"}', `${statuses} "Sold"`],
    ['{"name":"a","categoryId":1,"status":["sold"]}', `${statuses} ["sold"]`],
    ['{"name":"a","name":1,"categoryId":1}', 'name must be a string, not 1'],
    ['[]', 'Expected an object but got []'],
    [' [] ', 'Expected an object but got []'],
    ['"{}"', 'Expected an object but got "{}"'],
    ['null', 'Expected an object but got null'],
    [`"${'x'.repeat(70)}"`, `Expected an object but got "${'x'.repeat(59)}…`],
  ];
  for (const [text, sentences] of cases) {
    const invalid = sentences.split('; ');
    assert.deepEqual(parseNewPet(Buffer.from(text)), { invalid }, text);
  }
});

test('What is no JSON is refused with the place of the mistake', () => {
  const cases: readonly (readonly [text: string, offset: number])[] = [
    ['', 0],
    ['  ', 2],
    ['{', 1],
    ['{"name":"a","categoryId":1', 26],
    ['{"name":"a","categoryId":01}', 26],
    ['{"name":"a","categoryId":1}}', 27],
    ['{"name":"a","categoryId":1} {}', 28],
    ['{"name":1,"categoryId":1,}', 25],
    ['{"name":"a","categoryId":1,"x":[}', 32],
    ['[] 1', 3],
    ['\ufeff{}', 0],
  ];
  for (const [text, offset] of cases) {
    const parse = (): unknown => parseNewPet(Buffer.from(text));
    assert.throws(parse, { name: 'JsonSyntaxError', offset }, text);
  }
});

test('A NewPet of a program that no client could send is refused, and never written as it is', () => {
  const name = { toJSON: () => 'Rex' };
  const categoryId = { toString: () => '1,"status":"sold"' };
  const status = { toString: () => 'sold' };
  const statuses = 'status must be one of available, pending, sold';
  const cases: readonly (readonly [pet: object, message: string])[] = [
    [{ name, categoryId: 1n }, 'name must be a string'],
    [{ name: undefined, categoryId: 1n }, 'name must be a string'],
    [{ name: 'a', categoryId: 7 }, 'categoryId must be a bigint'],
    ...([2 ** 53, 1.5, NaN, null, undefined] as const).map(
      (value) =>
        [
          { name: 'a', categoryId: value },
          `categoryId must be a bigint or a safe integer, not ${value}`,
        ] as const,
    ),
    [{ name: 'a', categoryId: '7' }, 'categoryId must be a bigint or a safe integer, not "7"'],
    [{ name: 'a', categoryId }, 'categoryId must be a bigint or a safe integer, not an object'],
    ...[MAX + 1n, MIN - 1n].map(
      (value) =>
        [
          { name: 'a', categoryId: value },
          `categoryId must be from ${MIN} to ${MAX}, not ${value}`,
        ] as const,
    ),
    [{ name: 'a', categoryId: 1n, status: 'gone' }, statuses],
    [{ name: 'a', categoryId: 1n, status }, statuses],
    [{ name: 'a', categoryId: 1n, status: null }, statuses],
    [
      { status: 1 },
      'name must be a string; ' +
        `categoryId must be a bigint or a safe integer, not undefined; ${statuses}`,
    ],
  ];
  for (const [pet, message] of cases) {
    assert.throws(() => formatMembers(pet as NewPet), { name: 'InvalidPetError', message });
  }
});

test('A NewPet may be as long as a Pet that is read back, in bytes, and no longer', () => {
  const newPetOf = (bytes: number): NewPet => {
    const rest = bytes - formatMembers({ name: '', categoryId: MIN, status: 'available' }).length;
    const name = 'é'.repeat(rest >> 1) + 'e'.repeat(rest & 1);
    return { name, categoryId: MIN, status: 'available' };
  };
  const longest = formatPet(MAX, formatMembers(newPetOf(MAX_PET_BYTES - 64)));
  assert.ok(parsePetAt(Buffer.from(longest), 0).end <= MAX_PET_BYTES);
  const message = `without its id a pet has at most ${MAX_PET_BYTES - 64} bytes`;
  const format = (): unknown => formatMembers(newPetOf(MAX_PET_BYTES - 63));
  assert.throws(format, { name: 'InvalidPetError', message });
  const spaced = (bytes: number): Buffer =>
    Buffer.from('{"id":1,"name":"a","categoryId":1}'.replace('}', '}'.padStart(bytes - 33)));
  assert.equal(parsePetAt(spaced(MAX_PET_BYTES), 0).end, MAX_PET_BYTES);
  const read = (): unknown => parsePetAt(spaced(MAX_PET_BYTES + 1), 0);
  assert.throws(read, { message: `A pet has at most ${MAX_PET_BYTES} bytes` });
});

test('Every pet comes back from its text, NUL and lone surrogates included', () => {
  forAll(5000, (random) => {
    const pet = randomPet(random);
    const text = textOf(pet);
    assert.deepEqual(parsePet(text), pet);
    const { name, status } = JSON.parse(text) as Record<string, unknown>;
    assert.deepEqual({ name, status }, { name: pet.name, status: pet.status });
  });
});

test('A body means the same NewPet however it is laid out', () => {
  forAll(5000, (random) => {
    const newPet = randomNewPet(random);
    const text = randomPetText(random, newPet, { withKeysTwice: true });
    assert.deepEqual(newPetOf(text), newPet, text);
  });
});

test('A Pet is read in any layout, wherever it stands, up to its end', () => {
  forAll(5000, (random) => {
    const pet = randomPet(random);
    const text = randomPetText(random, pet);
    const before = '[\n'.repeat(random.below(3));
    const bytes = Buffer.from(`${before}${text} , {`);
    const end = before.length + Buffer.byteLength(text);
    assert.deepEqual(parsePetAt(bytes, before.length), { pet, end }, text);
  });
});

test('The text of a Pet is parsed, space around it and integers in any form', () => {
  const cases: readonly (readonly [text: string, categoryId: bigint])[] = [
    ['{"id":1,"name":"a","categoryId":1.0}', 1n],
    ['{"categoryId":-1e2,"name":"\\u0061","id":1.0}', -100n],
    [` {"id" : 10e-1, "name":"a" , "categoryId":${MAX}.00 }\n`, MAX],
  ];
  for (const [text, categoryId] of cases) {
    assert.deepEqual(parsePet(text), { id: 1n, name: 'a', categoryId }, text);
  }
});

test('A page has the pets whose texts formatPets has put together', () => {
  forAll(500, (random) => {
    const pets = Array.from({ length: random.below(5) }, () => randomPet(random));
    const texts = pets.map(textOf);
    const expected = pets.map((pet, index) => ({ ...pet, text: texts[index] }));
    assert.deepEqual(petPageOf(formatPets(texts), undefined).pets, expected);
  });
});

test('A text with anything after its Pet is refused', () => {
  const text = '{"id":1,"name":"a","categoryId":1},';
  assert.throws(() => parsePet(text), { name: 'JsonSyntaxError', offset: 34 });
});

test('What is no Pet is refused, and every field at fault is named at once', () => {
  const cases: readonly (readonly [text: string, message: string])[] = [
    ['{}', 'id is required; name is required; categoryId is required'],
    ['{"name":"a","categoryId":1}', 'id is required'],
    ['{"id":0,"name":"a","categoryId":1}', 'id must be positive, not 0'],
    ['{"id":-0,"name":"a","categoryId":1}', 'id must be positive, not 0'],
    [
      '{"id":-1,"name":2,"categoryId":1}',
      'id must be positive, not -1; name must be a string, not 2',
    ],
    [
      '{"id":1.5,"name":"a","categoryId":"é"}',
      'id must be an integer of 64 bits, not 1.5; ' +
        'categoryId must be an integer of 64 bits, not "é"',
    ],
    [
      `{"id":${MAX + 1n},"name":"a","categoryId":1}`,
      `id must be an integer of 64 bits, not ${MAX + 1n}`,
    ],
    ['{"id":1,"name":"a","categoryId":1,"age":3}', '"age" is no field of a Pet'],
    [
      '{"id":1,"name":"a","status":1,"__proto__":{}}',
      '"__proto__" is no field of a Pet; categoryId is required; ' +
        'status must be one of available, pending, sold, not 1',
    ],
    [
      '{"id":1,"name":"a","n\\u0061me":"b","id":2,"categoryId":1}',
      'name is given twice; id is given twice',
    ],
    [
      `{"id":1,"name":"a","categoryId":1,"${'é"'.repeat(70).replaceAll('"', '\\"')}":1}`,
      `"${'é\\"'.repeat(19)}é\\… is no field of a Pet`,
    ],
  ];
  for (const [text, message] of cases) {
    const read = (): unknown => parsePetAt(Buffer.from(text), 0);
    assert.throws(read, { name: 'InvalidPetError', message }, text);
    assert.throws(() => parsePet(text), { name: 'InvalidPetError', message }, text);
  }
});

test('A Pet that is cut off anywhere is told from one that is wrong', () => {
  forAll(300, (random) => {
    const text = Buffer.from(randomPetText(random, randomPet(random)));
    for (let length = 0; length < text.length; length += 1) {
      const isCut = (error: unknown): boolean =>
        error instanceof JsonSyntaxError && error.offset >= length;
      assert.throws(() => parsePetAt(text.subarray(0, length), 0), isCut, text.toString());
    }
  });
});

test('Whatever is read from a damaged Pet, it fails with one of the two errors or is a Pet', () => {
  forAll(10_000, (random) => {
    const bytes = mutate(random, Buffer.from(randomPetText(random, randomPet(random))));
    try {
      const { pet, end } = parsePetAt(bytes, 0);
      assert.ok(pet.id > 0n && end <= bytes.length);
      assert.deepEqual(parsePet(textOf(pet)), pet);
    } catch (error) {
      const isKnown = error instanceof JsonSyntaxError || error instanceof InvalidPetError;
      assert.ok(isKnown, `${String(error)} in ${bytes.toString()}`);
    }
  });
});

/** The NewPet that a request's body holds. */
function newPetOf(text: string): NewPet {
  const parsed = parseNewPet(Buffer.from(text));
  assert.ok('newPet' in parsed, text);
  return parsed.newPet;
}

function textOf(pet: Pet): string {
  return formatPet(pet.id, formatMembers(pet));
}
