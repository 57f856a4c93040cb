/**
 * Exact int64: signed 64-bit integers, -2^63 to 2^63 - 1, the format int64 of S2.2.2 (SPEC.md).
 *
 * A JSON number names an exact decimal value. JSON Schema calls it an integer if that value is one,
 * however it is written: 1.0, 1e2 and 100e-2 are integers, 1.5 is not. So the value is computed
 * from the literal's digits, and never from a double, which holds only 53 bits.
 */

import { cut, quoteValue } from './quote.ts';

// Not as powers of 2n: a tool that compiles the client for old browsers makes Math.pow of `**`,
// which throws for a bigint.
export const INT64_MIN: bigint = -0x8000000000000000n;
export const INT64_MAX: bigint = 0x7fffffffffffffffn;

/** An int64 in a program's call: a bigint, or a number that is a safe integer. */
export type Int64 = bigint | number;

/**
 * Returns the value as a bigint. Throws a TypeError or a RangeError that names it. Refuses a number
 * outside the safe integers, because it may have been rounded.
 */
export function toInt64(name: string, value: Int64): bigint {
  const error = findInt64Error(name, value);
  if (error !== undefined) throw error;
  return BigInt(value);
}

/** Returns an error that says why a value is not an Int64, or undefined if it is one. */
export function findInt64Error(name: string, value: unknown): Error | undefined {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
    return new TypeError(`${name} must be a bigint or a safe integer, not ${quoteValue(value)}`);
  }
  if (inRange(BigInt(value as Int64)) !== undefined) return undefined;
  return new RangeError(
    `${name} must be from ${INT64_MIN} to ${INT64_MAX}, not ${cut(`${value}`)}`,
  );
}

/**
 * Returns the exact value of a JSON number literal, or undefined if it is not an integer or does
 * not fit an int64.
 */
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
  // The value is digits[start..end) × 10^scale. An exponent that a double cannot hold becomes
  // infinite, and the two comparisons are right for that, too.
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  if (scale < 0 || end - start + scale > MAX_DIGITS) return undefined;
  return inRange(BigInt(`${sign}${digits.slice(start, end)}${'0'.repeat(scale)}`));
}

/**
 * Returns the value of decimal digits with an optional minus, as paths and queries have them, or
 * undefined for any other text.
 */
export function parseInt64(text: string): bigint | undefined {
  return /^-?0*[0-9]{1,19}$/.test(text) ? inRange(BigInt(text)) : undefined;
}

const MAX_DIGITS = 19;

function inRange(value: bigint): bigint | undefined {
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}
