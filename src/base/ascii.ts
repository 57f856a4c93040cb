/**
 * The ASCII characters of the formats, as bytes.
 *
 * Code that looks at every byte copies them into local constants, `const { QUOTE } = ascii`. An
 * imported binding is read again at each use, which made the scan of a data file 20 % slower.
 * `isDigit` has no names for its bounds for the same reason.
 */

export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

/** Returns false for undefined, too, which a read past the end of a buffer gives. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
