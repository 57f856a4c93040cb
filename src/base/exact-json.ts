/**
 * JSON in which an integer of 64 bits stays exact: it is a bigint, however it is written.
 *
 * The client, which browsers load, and the conformance kit share it. The service reads requests
 * with json.ts instead, which reports where a mistake is. JSON.parse gives doubles, and only newer
 * engines let a reviver see a number's text. So each number is written as a string before the parse
 * and turned back after it; to tell the two kinds of strings apart, a mark is put at the end of
 * every string that is a value:
 *
 *     {"id":12,"name":"12"}  →  {"id":"12#","name":"12$"}  →  { id: 12n, name: '12' }
 */

import { int64FromLiteral } from './int64.ts';

/**
 * The value of a JSON text: bigint for each number that is an int64, number for every other.
 *
 * Throws a SyntaxError for the texts that JSON.parse throws for, and a RangeError for one nested
 * thousands of levels deep: a reviver recurses.
 */
export function parseExactJson(text: string): unknown {
  let isInString = false;
  const marked = text.replace(TOKEN, (token, colon: string | undefined) => {
    if (token.startsWith('"')) {
      isInString = !isInString;
      return isInString || colon !== undefined ? token : `$${token}`;
    }
    return isInString || token.startsWith('\\') ? token : `"${token}#"`;
  });
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== 'string') return value;
    const content = value.slice(0, -1);
    return value.endsWith('$') ? content : (int64FromLiteral(content) ?? Number(content));
  });
}

/**
 * A quote, with the colon that makes a string a key; an escape, which may hide a quote; or a
 * number, unless it stands as a key: as a string it would be a valid one.
 */
const TOKEN: RegExp =
  /"(\s*:)?|\\[^]|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?!\s*:)/g;

/**
 * Returns the value as JSON.stringify writes it, with the digits of each bigint. Members that are
 * undefined are left out.
 */
export function stringifyExactJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(stringifyExactJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const texts = members.map(([key, member]) => {
    return `${JSON.stringify(key)}:${stringifyExactJson(member)}`;
  });
  return `{${texts.join()}}`;
}
