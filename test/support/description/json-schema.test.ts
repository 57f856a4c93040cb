/** The tests' own validator of JSON Schema. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaProblems, type Json } from './json-schema.ts';

const ROOT: Json = { schemas: { 'a/b': { type: 'string' } } };
const PET: Json = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'integer' }, name: { type: 'string', description: 'Its name' } },
  additionalProperties: false,
};

const CASES: readonly { schema: Json; good: readonly Json[]; bad: readonly Json[] }[] = [
  { schema: { type: 'integer' }, good: [0, -1, 1e3], bad: [1.5, '1', null] },
  { schema: { type: 'string' }, good: ['', 'a'], bad: [1, null, {}] },
  { schema: { type: 'array' }, good: [[], [1]], bad: [{}, 'a'] },
  { schema: { type: 'object' }, good: [{}, { a: 1 }], bad: [[], null, 'a'] },
  { schema: { format: 'int64' }, good: [0, -(2 ** 63), 'a'], bad: [2 ** 63, -(2 ** 63) - 2048] },
  { schema: { enum: ['a', 'b'] }, good: ['a', 'b'], bad: ['c', 1] },
  { schema: { minimum: 1, maximum: 3, default: 2 }, good: [1, 3, 'a'], bad: [0, 4] },
  { schema: { items: { type: 'string' } }, good: [[], ['a'], 'a'], bad: [[1], ['a', 1]] },
  { schema: { $ref: '#/schemas/a~1b' }, good: ['a'], bad: [1] },
  {
    schema: PET,
    good: [{ id: 1 }, { id: 1, name: 'a' }],
    bad: [{}, { name: 'a' }, { id: '1' }, { id: 1, name: 2 }, { id: 1, age: 3 }],
  },
];

for (const { schema, good, bad } of CASES) {
  test(`The validator accepts what matches ${JSON.stringify(schema)}, and nothing else`, () => {
    for (const value of good) assert.deepEqual(schemaProblems(schema, value, ROOT), []);
    for (const value of bad) {
      assert.notDeepEqual(schemaProblems(schema, value, ROOT), [], JSON.stringify(value));
    }
  });
}

test('The validator refuses an unknown keyword, type or reference', () => {
  for (const schema of [{ pattern: 'a' }, { type: 'number' }, { $ref: '#/schemas/c' }]) {
    assert.throws(() => schemaProblems(schema, 'a', ROOT), Error, JSON.stringify(schema));
  }
});
