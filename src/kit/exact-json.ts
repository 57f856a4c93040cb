/**
 * JSON in which an integer stays exact: it is read as a bigint, every other number as a number.
 *
 * JSON.parse would round an int64. So each integer is put into a string under a mark that no
 * response can hold, and taken out again as the text is parsed.
 */

import { randomUUID } from 'node:crypto';

/** Throws a SyntaxError where the text is not JSON. */
export function readJson(text: string): unknown {
  JSON.parse(text); // Within strings 01 and -01 would pass.
  const marked = text.replace(STRING_OR_NUMBER, (token) =>
    /^-?[0-9]+$/.test(token) ? `"${MARK}${token}"` : token,
  );
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

const MARK = `integer-${randomUUID()}:`;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*/g;
