/**
 * Exact int64: signed 64-bit integers, -2^63 to 2^63 - 1, the `format: int64` of the interface.
 *
 * A JSON number names an exact decimal value, and JSON Schema calls it an integer when that value
 * is one, however it is written: 1.0, 1e2 and 100e-2 are integers, 1.5 is not. The value is
 * therefore worked out from the literal's digits; no double, which holds 53 bits only, comes into
 * it.
 */

export const INT64_MIN: bigint = -(2n ** 63n);
export const INT64_MAX: bigint = 2n ** 63n - 1n;

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
