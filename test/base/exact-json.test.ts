/**
 * JSON with exact integers: the same texts as JSON.parse, with the same errors, and the same values
 * except int64, which are exact.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactJson, stringifyExactJson } from '../../src/base/exact-json.ts';
import { rounds } from '../support/extent.ts';
import { forAll, mutate } from '../support/random.ts';

test('A key __proto__ is a key like any other, and the last of duplicate members wins', () => {
  const value = parseExactJson('{"__proto__":{"id":1},"a":1,"a":"2","a":3}') as { id?: unknown };
  assert.deepEqual(Object.keys(value), ['__proto__', 'a']);
  assert.deepEqual([value.id, (value as { a?: unknown }).a], [undefined, 3n]);
});

test('A text that is not JSON is refused, even if another number would make it valid', () => {
  for (const text of [
    ...['01', '[0,1,2,3,4,5,6,7,8,9,01]', '1-2', '--5', '+5', '.5', '1.', '1e', '1.5.5', '0x1'],
    ...['true5', '{1:2}', '{1 :2}', '{-1e5:2}', '{"a":"b":1}', '["a":1]', '\\"', "'1'", '1n'],
  ]) {
    assert.equal(assertAsJsonParse(text), false);
  }
});

test('A text may be a megabyte of anything', () => {
  const length = 1 << 20;
  const parts = ['"', '\\', '1', '-', '1 ', '1,', '1-', '1.1e', '{', '"a":', '\ud800', '"\\"1'];
  for (const part of parts) {
    const text = part.repeat(length / part.length);
    for (const full of [text, `"${text}`, `[${text}1]`, JSON.stringify(text)]) {
      assertAsJsonParse(full, full.slice(0, 20));
    }
  }
});

/** Everything that JSON has. A key has no backslash: some versions of Node read it wrong. */
const SAMPLE = Buffer.from(
  ' {"ab" :[1, -0.5e+3,true,null,"x\\"1,-2\\\\",{"":[ ],"__proto__0":"\\uD83d-é"}],\n"98": 12.50e1}\r\n',
);

test('parseExactJson accepts a damaged text exactly if JSON.parse does, with its values, or its message', () => {
  let [valid, invalid] = [0, 0];
  forAll(rounds(5000, 50_000), (random) => {
    if (assertAsJsonParse(mutate(random, SAMPLE).toString())) valid += 1;
    else invalid += 1;
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

test('Nesting of any depth is read', () => {
  const depth = 200_000;
  for (const [open, inner, close] of [
    ['[', '', ']'],
    ['{"a":', '7', '}'],
  ] as const) {
    let value = parseExactJson(open.repeat(depth) + inner + close.repeat(depth));
    for (let level = 1; level < depth; level += 1) [value] = Object.values(value as object);
    assert.deepEqual(value, JSON.parse(open + inner.replace('7', '"7n"') + close, toBigInt));
  }
});

function toBigInt(_key: string, value: unknown): unknown {
  return value === '7n' ? 7n : value;
}

/** Compares with JSON.parse: the values as doubles, or the error. Returns true if it is JSON. */
function assertAsJsonParse(text: string, message = text): boolean {
  let expected: unknown;
  try {
    expected = JSON.parse(text);
  } catch (error) {
    assert.ok(error instanceof SyntaxError);
    const same = { name: 'SyntaxError', message: error.message };
    assert.throws(() => parseExactJson(text), same, message);
    return false;
  }
  assert.deepEqual(toNumbers(parseExactJson(text)), toNumbers(expected), message);
  return true;
}

function toNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value;
  if (Array.isArray(value)) return value.map(toNumbers);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toNumbers(item)]));
}
