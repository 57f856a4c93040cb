/**
 * Exact int64: signed 64-bit integers, -2^63 to 2^63 - 1, the `format: int64` of the interface.
 *
 * A JSON number names an exact decimal value, and JSON Schema calls it an integer when that value
 * is one, however it is written: 1.0, 1e2 and 100e-2 are integers, 1.5 is not. The value is
 * therefore worked out from the literal's digits; no double, which holds 53 bits only, comes into
 * it.
 */

import { cut, quoteValue } from './quote.ts';

export const INT64_MIN: bigint = -(2n ** 63n);
export const INT64_MAX: bigint = 2n ** 63n - 1n;

/** An int64 as a program gives it: a bigint, or a number that is a safe integer. */
export type Int64 = bigint | number;

/**
 * Returns the value as a bigint. Throws a TypeError or a RangeError that names it. A number beyond
 * the safe integers is refused, since it may be a rounded one.
 */
export function toInt64(name: string, value: Int64): bigint {
  const error = findInt64Error(name, value);
  if (error !== undefined) throw error;
  return BigInt(value);
}

/** Returns what is wrong with a value that should be an Int64; undefined if nothing is. */
export function findInt64Error(name: string, value: unknown): Error | undefined {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
    return new TypeError(`${name} must be a bigint or a safe integer, not ${quoteValue(value)}`);
  }
  if (inRange(BigInt(value as Int64)) !== undefined) return undefined;
  return new RangeError(
    `${name} must be from ${INT64_MIN} to ${INT64_MAX}, not ${cut(`${value}`)}`,
  );
}

/** The exact value of a JSON number literal; undefined where it is no integer or no int64. */
export function int64FromLiteral(literal: string): bigint | undefined {
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(literal);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === '0') start += 1;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return 0n;
  // The value is digits[start..end) × 10^scale. An exponent beyond a double's reach becomes
  // infinite, which the two comparisons below judge rightly.
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  if (scale < 0 || end - start + scale > MAX_DIGITS) return undefined;
  return inRange(BigInt(`${sign}${digits.slice(start, end)}${'0'.repeat(scale)}`));
}

/** The value of plain decimal digits with an optional minus, as paths and queries carry them. */
export function parseInt64(text: string): bigint | undefined {
  return /^-?0*[0-9]{1,19}$/.test(text) ? inRange(BigInt(text)) : undefined;
}

const MAX_DIGITS = 19;

function inRange(value: bigint): bigint | undefined {
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}
