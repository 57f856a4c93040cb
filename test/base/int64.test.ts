/** Exact int64: which literals are integers of 64 bits, and that none is ever rounded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INT64_MAX, INT64_MIN, int64FromLiteral, parseInt64 } from '../../src/base/int64.ts';

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

test('Long rows of digits are read in linear time', () => {
  const zeros = '0'.repeat(60_000);
  const nines = '9'.repeat(60_000);
  const cases: readonly (readonly [literal: string, value: bigint | undefined])[] = [
    [`-7${zeros}e-59999`, -70n],
    [`0.${zeros}1e60001`, 1n],
    [`1.${zeros}`, 1n],
    [`1e${zeros}2`, 100n],
    [`0e${nines}`, 0n],
    [`1${zeros}e-60001`, undefined],
    [`${nines}.${nines}`, undefined],
    [`1e-${nines}`, undefined],
    [`${zeros}x`, undefined],
    [`1e${nines}x`, undefined],
  ];
  // Were the time quadratic in the digits, so many rounds would take minutes.
  for (let round = 0; round < 20; round += 1) {
    for (const [literal, value] of cases) assert.equal(int64FromLiteral(literal), value);
    assert.equal(parseInt64(`${zeros}7`), 7n);
    assert.equal(parseInt64(`${zeros}x`), undefined);
    assert.equal(parseInt64(nines), undefined);
  }
});
