/** JSON with exact integers: the same texts as JSON.parse, the same values except numbers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactJson, stringifyExactJson } from '../../src/base/exact-json.ts';
import { forAll, mutate, type Random } from '../support/random.ts';
import { randomJson } from '../support/random-json.ts';

test('A key __proto__ is a key like any other, and the last of duplicate members wins', () => {
  const value = parseExactJson('{"__proto__":{"id":1},"a":1,"a":"2","a":3}') as { id?: unknown };
  assert.deepEqual(Object.keys(value), ['__proto__', 'a']);
  assert.deepEqual([value.id, (value as { a?: unknown }).a], [undefined, 3n]);
});

test('A text that is not JSON is refused, even if strings for numbers would make it valid', () => {
  for (const text of [
    '{1:2}',
    '{1 :2}',
    '{-1e5:2}',
    '{"a":"b":1}',
    '["a":1]',
    '\\"',
    "'1'",
    '1n',
  ]) {
    assert.throws(() => parseExactJson(text), SyntaxError, text);
  }
});

test('parseExactJson returns the values of JSON.parse, but exact, for generated texts', () => {
  forAll(2000, (random) => {
    const { text, value } = randomJson(random, 3, keyOf);
    assert.deepEqual(parseExactJson(text), value);
    assert.deepEqual(toNumbers(value), toNumbers(JSON.parse(text)));
    const written = stringifyExactJson(value);
    assert.equal(stringifyExactJson(parseExactJson(written)), written);
  });
});

test('parseExactJson refuses a damaged text exactly if JSON.parse does', () => {
  let [valid, invalid] = [0, 0];
  forAll(5000, (random) => {
    const { text } = randomJson(random, 2, keyOf);
    const damaged = mutate(random, Buffer.from(text)).toString();
    let expected: unknown;
    try {
      expected = JSON.parse(damaged);
    } catch {
      invalid += 1;
      assert.throws(() => parseExactJson(damaged), SyntaxError, damaged);
      return;
    }
    valid += 1;
    assert.deepEqual(toNumbers(parseExactJson(damaged)), toNumbers(expected), damaged);
  });
  assert.ok(valid > 500 && invalid > 500, `${valid} valid, ${invalid} not`);
});

test('stringifyExactJson writes the text of JSON.stringify, with the digits of bigints', () => {
  const values = ['a"\ud800', 1.5, null, true, [], {}, [1, [undefined]], { a: undefined, b: [{}] }];
  for (const value of values) assert.equal(stringifyExactJson(value), JSON.stringify(value));
  const exact = { id: 2n ** 63n - 1n, ids: [-(2n ** 63n)], name: '1n', status: undefined };
  const text = '{"id":9223372036854775807,"ids":[-9223372036854775808],"name":"1n"}';
  assert.equal(stringifyExactJson(exact), text);
});

test('A long name of quotes and backslashes does not overflow the stack', () => {
  const name = '\\"1'.repeat(300_000);
  assert.deepEqual(parseExactJson(JSON.stringify([{ name }])), [{ name }]);
});

test('Nesting too deep for the stack throws a RangeError', () => {
  const text = '['.repeat(200_000) + ']'.repeat(200_000);
  assert.throws(() => parseExactJson(text), RangeError);
});

/**
 * Keys without a quote or a backslash, and none twice: from Node 24 on, JSON.parse may take such
 * an object for one with other keys.
 */
function keyOf(random: Random, index: number): string {
  return `${random.pick(['', '1', '__proto__', 'é'])}${index}`;
}

function toNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value;
  if (Array.isArray(value)) return value.map(toNumbers);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toNumbers(item)]));
}
