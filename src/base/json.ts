/**
 * JSON read in place (RFC 8259): bytes in, offsets out.
 *
 * JSON.parse makes every number a double, which rounds an int64. This reader checks the grammar and
 * returns the offsets of the values; int64.ts then reads a number's digits.
 *
 * A list holds the nesting, so that no text can overflow the call stack. The bytes must be valid
 * UTF-8 (`buffer.isUtf8`). A read past their end gives undefined, for which most comparisons fail
 * by themselves.
 */

import * as ascii from './ascii.ts';

export class JsonSyntaxError extends Error {
  override readonly name: string = 'JsonSyntaxError';
  /** What was expected and what was found. */
  readonly complaint: string;
  /** The byte offset of the error. If the text ends too early, at least the length of the bytes. */
  readonly offset: number;

  constructor(expected: string, bytes: Uint8Array, offset: number) {
    const complaint = `Expected ${expected} but found ${describeByte(bytes[offset])}`;
    super(`${complaint} at byte ${offset}`);
    this.complaint = complaint;
    this.offset = offset;
  }
}

/** The offsets of a checked value in its text. */
export interface JsonValue {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads the object that starts at `at`, calls `onMember` with each member in order, and returns the
 * offset after the object. Throws JsonSyntaxError.
 */
export function readObject(
  bytes: Buffer,
  at: number,
  onMember: (key: string, value: JsonValue) => void,
): number {
  expectByte(bytes, at, OPEN_BRACE, 'an object');
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    const keyEnd = skipString(bytes, at);
    const start = skipColon(bytes, keyEnd);
    const end = skipValue(bytes, start);
    onMember(decodeString(bytes, { start: at, end: keyEnd }), { start, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    expectByte(bytes, at, COMMA, "',' or '}'");
    at = skipSpace(bytes, at + 1);
  }
}

/**
 * Checks the value that starts at `at`, and returns the offset after it. Throws JsonSyntaxError.
 */
export function skipValue(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return skipScalar(bytes, at);
  const closers: number[] = [];
  for (;;) {
    const opener = bytes[at];
    if (opener === OPEN_BRACE || opener === OPEN_BRACKET) {
      const closer = opener === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== closer) {
        closers.push(closer);
        if (closer === CLOSE_BRACE) at = skipColon(bytes, skipString(bytes, at));
        continue;
      }
      at += 1;
      // An empty container may be the whole value.
      if (closers.length === 0) return at;
    } else {
      at = skipScalar(bytes, at);
    }
    at = skipSpace(bytes, at);
    while (bytes[at] === closers.at(-1)) {
      closers.pop();
      at += 1;
      if (closers.length === 0) return at;
      at = skipSpace(bytes, at);
    }
    const inObject = closers.at(-1) === CLOSE_BRACE;
    expectByte(bytes, at, COMMA, inObject ? "',' or '}'" : "',' or ']'");
    at = skipSpace(bytes, at + 1);
    if (inObject) at = skipColon(bytes, skipString(bytes, at));
  }
}

/** Returns the offset of the first byte from `at` on that is not JSON whitespace. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  for (;;) {
    const byte = bytes[at];
    const isSpace =
      byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;
    if (!isSpace) return at;
    at += 1;
  }
}

/**
 * Checks the string whose opening quote is at `at`, and returns the offset after its closing quote.
 * Throws JsonSyntaxError.
 */
function skipString(bytes: Uint8Array, at: number): number {
  expectByte(bytes, at, QUOTE, 'a string');
  for (at += 1; ; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at = skipEscape(bytes, at + 1);
    else if (byte === undefined || byte < SPACE) {
      throw new JsonSyntaxError("'\"' at the end of a string", bytes, at);
    }
  }
}

/** Returns the value of a checked string. */
export function decodeString(bytes: Buffer, { start, end }: JsonValue): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  // Few strings have an escape.
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** Returns true if `text` begins at the offset `at`. */
export function startsWithAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i += 1) if (bytes[at + i] !== text[i]) return false;
  return true;
}

/**
 * Throws JsonSyntaxError if the byte at `at` is a different one. `expected` names the right one.
 */
function expectByte(bytes: Uint8Array, at: number, byte: number, expected: string): void {
  if (bytes[at] !== byte) throw new JsonSyntaxError(expected, bytes, at);
}

const {
  BACKSLASH,
  CARRIAGE_RETURN,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOT,
  LINE_FEED,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
  ZERO,
  isDigit,
} = ascii;

const LITERALS: readonly Buffer[] = ['true', 'false', 'null'].map((word) => Buffer.from(word));

function skipColon(bytes: Uint8Array, at: number): number {
  at = skipSpace(bytes, at);
  expectByte(bytes, at, COLON, "':'");
  return skipSpace(bytes, at + 1);
}

function skipScalar(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === QUOTE) return skipString(bytes, at);
  if (byte === MINUS || isDigit(byte)) return skipNumber(bytes, at);
  for (const literal of LITERALS) if (startsWithAt(bytes, at, literal)) return at + literal.length;
  // A text that ends within a literal has no wrong byte: it ends too early.
  const cut = LITERALS.some((literal) => startsWithAt(literal, 0, bytes.subarray(at)));
  throw new JsonSyntaxError('a value', bytes, cut ? bytes.length : at);
}

function skipNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at] === MINUS) at += 1;
  at = bytes[at] === ZERO ? at + 1 : skipDigits(bytes, at);
  if (bytes[at] === DOT) at = skipDigits(bytes, at + 1);
  const exponent = bytes[at];
  if (exponent === 0x65 || exponent === 0x45) {
    const sign = bytes[at + 1];
    at = skipDigits(bytes, sign === MINUS || sign === PLUS ? at + 2 : at + 1);
  }
  return at;
}

function skipDigits(bytes: Uint8Array, at: number): number {
  if (!isDigit(bytes[at])) throw new JsonSyntaxError('a digit', bytes, at);
  while (isDigit(bytes[at])) at += 1;
  return at;
}

function skipEscape(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === 0x75) {
    for (let i = 1; i <= 4; i += 1) {
      if (!isHexDigit(bytes[at + i])) throw new JsonSyntaxError('a hex digit', bytes, at + i);
    }
    return at + 4;
  }
  if (byte === undefined || !SHORT_ESCAPES.includes(byte)) {
    throw new JsonSyntaxError('one of the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u', bytes, at);
  }
  return at;
}

const SHORT_ESCAPES: Buffer = Buffer.from('"\\/bfnrt');

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const lower = byte | 0x20;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}

function describeByte(byte: number | undefined): string {
  if (byte === undefined) return 'the end';
  if (byte > 0x20 && byte < 0x7f) return `'${String.fromCharCode(byte)}'`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}
