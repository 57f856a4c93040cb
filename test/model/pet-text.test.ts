/** The encoded pet: what is taken, what is refused and how, and that nothing sent is changed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteString, stringToBytes, textOf } from '../../src/base/byte-string.ts';
import { JsonSyntaxError } from '../../src/base/json.ts';
import {
  decodePet,
  decodePets,
  encodeNewPet,
  encodeNewPetText,
  encodePet,
  encodePets,
  InvalidPetError,
  readPet,
} from '../../src/model/encoded-pet.ts';
import type { NewPet } from '../../src/model/pet.ts';
import { forAll, mutate } from '../support/random.ts';
import { randomNewPet, randomPet, randomPetText } from '../support/random-pet.ts';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

test('A NewPet is encoded with its name as it was sent and its integers in plain digits', () => {
  const cases: readonly (readonly [text: string, pet: string])[] = [
    ['{"name":"Rex","categoryId":7}', '{"id":1,"name":"Rex","categoryId":7}'],
    ['{"categoryId":7,"name":"Rex"}', '{"id":1,"name":"Rex","categoryId":7}'],
    [' {\n"name" : "" ,\t"categoryId" : -0 }\r\n', '{"id":1,"name":"","categoryId":0}'],
    [
      '{"status":"sold","name":"\\u0052ex","categoryId":1e2}',
      '{"id":1,"name":"\\u0052ex","categoryId":100,"status":"sold"}',
    ],
    [
      '{"name":"\\/é🐶\\ud800\\u0000","categoryId":0}',
      '{"id":1,"name":"\\/é🐶\\ud800\\u0000","categoryId":0}',
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
    const { tail, status } = encodeNewPetText(Buffer.from(text));
    assert.equal(textOf(encodePet(1n, tail)), pet, text);
    assert.equal(status, (JSON.parse(pet) as NewPet).status, text);
  }
});

test('What is JSON but no NewPet is refused, and every field at fault is named at once', () => {
  const expected = 'must be an integer of 64 bits, not';
  const statuses = 'status must be one of available, pending, sold, not';
  const cases: readonly (readonly [text: string, message: string])[] = [
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
  for (const [text, message] of cases) {
    const encode = (): unknown => encodeNewPetText(Buffer.from(text));
    assert.throws(encode, { name: 'InvalidPetError', message }, text);
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
    const encode = (): unknown => encodeNewPetText(Buffer.from(text));
    assert.throws(encode, { name: 'JsonSyntaxError', offset }, text);
  }
});

test('A NewPet of a program that no client could send is refused', () => {
  const pets: readonly NewPet[] = [
    { name: 'a', categoryId: MAX + 1n },
    { name: 'a', categoryId: MIN - 1n },
    { name: 'a', categoryId: 1n, status: 'gone' as 'sold' },
    { name: 1 as unknown as string, categoryId: 1n },
  ];
  for (const pet of pets) assert.throws(() => encodeNewPet(pet), InvalidPetError);
});

test('A NewPet of a program that is typed otherwise is refused, and never written as it is', () => {
  const name = { toJSON: () => 'Rex' };
  const categoryId = { toString: () => '1,"status":"sold"' };
  const status = { toJSON: () => 'sold' };
  const cases: readonly (readonly [pet: object, message: string])[] = [
    [{ name, categoryId: 1n }, 'name must be a string'],
    [{ name: undefined, categoryId: 1n }, 'name must be a string'],
    [{ name: 'a', categoryId: 2 ** 53 }, 'categoryId must be a bigint'],
    [{ name: 'a', categoryId: '7' }, 'categoryId must be a bigint'],
    [{ name: 'a', categoryId }, 'categoryId must be a bigint'],
    [{ name: 'a', categoryId: 1n, status }, 'status must be a string'],
    [{ name: 'a', categoryId: 1n, status: null }, 'status must be a string'],
    [{ status: 1 }, 'name must be a string; categoryId must be a bigint; status must be a string'],
  ];
  for (const [pet, message] of cases) {
    assert.throws(() => encodeNewPet(pet as NewPet), { name: 'InvalidPetError', message });
  }
});

test('Every pet comes back from its encoded form, NUL and lone surrogates included', () => {
  forAll(5000, (random) => {
    const pet = randomPet(random);
    const bytes = encodePet(pet.id, encodeNewPet(pet).tail);
    assert.deepEqual(decodePet(bytes), pet);
    assert.equal(encodeNewPet(pet).status, pet.status);
    const { name, status } = JSON.parse(textOf(bytes)) as Record<string, unknown>;
    assert.deepEqual({ name, status }, { name: pet.name, status: pet.status });
  });
});

test('A body means the same NewPet however it is laid out', () => {
  forAll(5000, (random) => {
    const newPet = randomNewPet(random);
    const text = randomPetText(random, newPet, { withKeysTwice: true });
    const { tail, status } = encodeNewPetText(Buffer.from(text));
    assert.deepEqual(decodePet(encodePet(1n, tail)), { id: 1n, ...newPet }, text);
    assert.equal(status, newPet.status);
  });
});

test('A Pet is read in any layout, wherever it stands, into the same encoded form', () => {
  forAll(5000, (random) => {
    const pet = randomPet(random);
    const text = randomPetText(random, pet);
    const before = '[\n'.repeat(random.below(3));
    const bytes = Buffer.from(`${before}${text} , {`);
    const found = readPet(bytes, before.length);
    assert.equal(found.end, before.length + Buffer.byteLength(text));
    assert.equal(found.id, pet.id);
    assert.equal(found.status, pet.status);
    assert.deepEqual(decodePet(found.pet), pet, text);
    assert.deepEqual(readPet(stringToBytes(found.pet), 0).pet, found.pet);
  });
});

test('A text in any layout is decoded, its integers in any form', () => {
  const cases: readonly (readonly [text: string, categoryId: bigint])[] = [
    ['{"id":1,"name":"a","categoryId":1.0}', 1n],
    ['{"categoryId":-1e2,"name":"\\u0061","id":1.0}', -100n],
    [` {"id" : 10e-1, "name":"a" , "categoryId":${MAX}.00 }\n`, MAX],
  ];
  for (const [text, categoryId] of cases) {
    assert.deepEqual(decodePet(byteString(text)), { id: 1n, name: 'a', categoryId }, text);
  }
});

test('A list is decoded in the layout that encodePets gives it, and in any other', () => {
  forAll(500, (random) => {
    const pets = Array.from({ length: random.below(5) }, () => randomPet(random));
    const written = pets.map((pet) => encodePet(pet.id, encodeNewPet(pet).tail));
    assert.deepEqual(decodePets(encodePets(written)), pets);
    const texts = pets.map((pet) => randomPetText(random, pet));
    for (const [before, between] of [
      ['', ','],
      ['\n', ' ,\r\n'],
      ['\t', '\n,'],
    ] as const) {
      const text = `${before}[${before}${texts.join(between)}${before}]${before}`;
      assert.deepEqual(decodePets(byteString(text)), pets, text);
    }
  });
});

test('What is no list is refused, and nothing is left out', () => {
  const pet = '{"id":1,"name":"a","categoryId":1}';
  const cases: readonly (readonly [text: string, offset: number])[] = [
    ['', 0],
    ['nonsense', 0],
    [pet, 0],
    ['[', 1],
    ['[,]', 1],
    ['[1]', 1],
    [`[${pet}`, 35],
    [`[${pet},`, 36],
    [`[${pet},]`, 36],
    [`[${pet} ${pet}]`, 36],
    [`[${pet}];`, 36],
    [`[[${pet}]]`, 1],
  ];
  for (const [text, offset] of cases) {
    const decode = (): unknown => decodePets(byteString(text));
    assert.throws(decode, { name: 'JsonSyntaxError', offset }, text);
  }
  assert.throws(() => decodePets(byteString(`[${pet},{"id":2}]`)), InvalidPetError);
  assert.throws(() => decodePet(byteString(`${pet},`)), { name: 'JsonSyntaxError', offset: 34 });
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
      '{"id":1.5,"name":"a","categoryId":"b"}',
      'id must be an integer of 64 bits, not 1.5; ' +
        'categoryId must be an integer of 64 bits, not "b"',
    ],
    [
      `{"id":${MAX + 1n},"name":"a","categoryId":1}`,
      `id must be an integer of 64 bits, not ${MAX + 1n}`,
    ],
    ['{"id":1,"name":"a","categoryId":1,"age":3}', '"age" is no field of a Pet'],
    [
      '{"id":1,"name":"a","status":1,"__proto__":{}}',
      'categoryId is required; status must be one of available, pending, sold, not 1; ' +
        '"__proto__" is no field of a Pet',
    ],
  ];
  for (const [text, message] of cases) {
    const read = (): unknown => readPet(Buffer.from(text), 0);
    assert.throws(read, { name: 'InvalidPetError', message }, text);
    assert.throws(() => decodePet(byteString(text)), { name: 'InvalidPetError', message }, text);
  }
});

test('A Pet that is cut off anywhere is told from one that is wrong', () => {
  forAll(300, (random) => {
    const text = Buffer.from(randomPetText(random, randomPet(random)));
    for (let length = 0; length < text.length; length += 1) {
      const isCut = (error: unknown): boolean =>
        error instanceof JsonSyntaxError && error.offset >= length;
      assert.throws(() => readPet(text.subarray(0, length), 0), isCut, text.toString());
    }
  });
});

test('Whatever is read from a damaged Pet, it fails with one of the two errors or is a Pet', () => {
  forAll(10_000, (random) => {
    const bytes = mutate(random, Buffer.from(randomPetText(random, randomPet(random))));
    try {
      const { pet, id, end } = readPet(bytes, 0);
      assert.ok(id > 0n && end <= bytes.length);
      assert.equal(readPet(stringToBytes(pet), 0).end, pet.length);
    } catch (error) {
      const isKnown = error instanceof JsonSyntaxError || error instanceof InvalidPetError;
      assert.ok(isKnown, `${String(error)} in ${bytes.toString()}`);
    }
  });
});
