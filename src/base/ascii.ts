/**
 * The characters of ASCII that the formats here are made of, as bytes.
 *
 * A file that looks at every byte takes them as constants of its own, `const { QUOTE } = ascii`:
 * what belongs to another module is loaded anew at each use, and the scan of a data file took a
 * fifth longer. `isDigit` has no name for its bounds for the same reason.
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

/** False for undefined too, which a read past the end of bytes gives. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
