/**
 * JSON in which a 64-bit integer stays exact: it becomes a bigint, however it is written.
 *
 * It is for the client (also in browsers), the conformance kit and the OpenAPI description. The
 * service reads requests with json.ts instead, which reports the position of a mistake. JSON.parse
 * returns doubles, and only newer engines show a number's text to a reviver. So each number becomes
 * a string before the parse, and a number again after it. A mark at the end of each string value
 * tells the two kinds apart:
 *
 *     {"id":12,"name":"12"}  →  {"id":"12#","name":"12$"}  →  { id: 12n, name: '12' }
 */

import { int64FromLiteral } from './int64.ts';

/**
 * Returns the value of a JSON text, with a bigint for each number that is an int64.
 *
 * Throws a SyntaxError if JSON.parse does, and a RangeError if the text is nested thousands of
 * levels deep, because a reviver recurses.
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
 * Matches a quote, with the colon that makes a string a key; an escape, which may hide a quote; or
 * a number, unless a colon follows: else `{1:2}`, which is invalid, would become valid.
 */
const TOKEN: RegExp =
  /"(\s*:)?|\\[^]|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?!\s*:)/g;

/**
 * Returns the value as JSON.stringify writes it, with the digits of each bigint. Omits members that
 * are undefined.
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
