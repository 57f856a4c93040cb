/** The ASCII characters of the formats, as bytes. */

export const LINE_FEED = 0x0a;
export const ZERO = 0x30;
export const CLOSE_BRACKET = 0x5d;

/** Returns false for undefined, too, which a read past the end of a buffer gives. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
