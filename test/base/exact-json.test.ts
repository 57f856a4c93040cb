/**
 * JSON with exact integers: the same texts as JSON.parse, with the same errors, and the same values
 * except int64, which are exact: which literals are integers of 64 bits, and that none is rounded.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactJson, stringifyExactJson } from '../../src/core/base/exact-json.ts';
import { INT64_MAX, INT64_MIN, int64FromLiteral, parseInt64 } from '../../src/core/base/int64.ts';
import { rounds } from '../support/extent.ts';
import { forAll, mutate } from '../support/random.ts';

test('A long text of anything is read as JSON.parse reads it', () => {
  const length = rounds(1 << 17, 1 << 20);
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
  const depth = rounds(50_000, 200_000);
  for (const [open, inner, close, innermost] of [
    ['[', '', ']', []],
    ['{"a":', '7', '}', { a: 7n }],
  ] as const) {
    let value = parseExactJson(open.repeat(depth) + inner + close.repeat(depth));
    for (let level = 1; level < depth; level += 1) [value] = Object.values(value as object);
    assert.deepEqual(value, innermost);
  }
});

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

const MAX = '9223372036854775807';
const ABOVE_MAX = '9223372036854775808';
const BELOW_MIN = '-9223372036854775809';

/** Literals by the integer that is their exact value. */
const INTEGERS: readonly (readonly [value: bigint, literals: readonly string[]])[] = [
  [0n, ['0', '-0', '0.0', '-0.000e5', '0e99999999999999999999', '0e-99999999999999999999']],
  [1n, ['1', '1.0', '100e-2', '0.001e3', '0.0000000000000000000000000000001e31']],
  [-1n, ['-100e-2']],
  [100n, ['1e2', '1E+2']],
  [125n, ['12.50e1']],
  [9007199254740993n, ['9007199254740993', '9007199254740993.0']],
  [INT64_MAX, [MAX, `${MAX}.000`, '9.223372036854775807e18', '92233720368547758070e-1']],
  [INT64_MIN, ['-9223372036854775808', '-9.223372036854775808E+18']],
];

test('A literal is an integer if its exact value is one, however it is written', () => {
  for (const [value, literals] of INTEGERS) {
    for (const literal of literals) assert.equal(int64FromLiteral(literal), value, literal);
  }
});

test('Any other literal is not an integer', () => {
  const others = [
    ...['1.5', '-1.5', '1e-1', '101e-2', '1e-400', '0.5e0', '1.00000000000000000000000001'],
    ...['4503599627370497.5', '9223372036854775806.5', `${MAX}.5`],
    ...[ABOVE_MAX, BELOW_MIN, `${ABOVE_MAX}.0`, '9.3e18', '-9.3e18', '1e19', '1e400'],
    ...['1e99999999999999999999', '1e-99999999999999999999'],
    ...['"1"', '', '-', '+1', 'true', '{}', ' 1', '1 ', '1\n', '0x1', '1n', '1_0'],
    ...['1.', '.1', '1e', '1e+', 'Infinity', 'NaN', '--1', '１', '1.5.0'],
  ];
  for (const literal of others) assert.equal(int64FromLiteral(literal), undefined, literal);
});

/** Literals with long rows of digits, and their values. */
function longLiterals(digits: number): readonly (readonly [string, bigint | undefined])[] {
  const zeros = '0'.repeat(digits);
  const nines = '9'.repeat(digits);
  return [
    [`-7${zeros}e-${digits - 1}`, -70n],
    [`0.${zeros}1e${digits + 1}`, 1n],
    [`1.${zeros}`, 1n],
    [`1e${zeros}2`, 100n],
    [`0e${nines}`, 0n],
    [`1${zeros}e-${digits + 1}`, undefined],
    [`${nines}.${nines}`, undefined],
    [`1e-${nines}`, undefined],
    [`${zeros}x`, undefined],
    [`1e${nines}x`, undefined],
  ];
}

test('Long rows of digits are read in linear time', () => {
  /** Returns the processor time that reading takes, the least of several, in microseconds. */
  const costOf = (read: () => void): number => {
    const costs = Array.from({ length: 4 }, () => {
      const before = process.cpuUsage();
      for (let round = 0; round < 4; round += 1) read();
      const { user, system } = process.cpuUsage(before);
      return user + system;
    });
    return Math.min(...costs);
  };
  const [few, many] = [2_000, 32_000].map((digits) => {
    const cases = longLiterals(digits);
    const zeros = '0'.repeat(digits);
    return [
      ...cases.map(
        ([literal, value]) =>
          () =>
            assert.equal(int64FromLiteral(literal), value),
      ),
      () => assert.equal(parseInt64(`${zeros}7`), 7n),
      () => assert.equal(parseInt64(`${zeros}x`), undefined),
      () => assert.equal(parseInt64('9'.repeat(digits)), undefined),
    ];
  });
  for (const [index, read] of many!.entries()) {
    const costs = [costOf(few![index]!), costOf(read)] as const;
    // Sixteen times the digits: 256 times the time, were it quadratic. Small times vary.
    assert.ok(costs[1] < 80 * (costs[0] + 50), `literal ${index}: ${costs.join(', ')}`);
  }
});
