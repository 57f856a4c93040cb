/**
 * JSON in which a 64-bit integer stays exact. It reads request bodies, arrays of pets that are no
 * data file of this store, and responses. It needs no module of Node.
 *
 * JSON.parse reads each number as a double, which rounds an int64, and only newer engines show a
 * number's text. So each number's text goes into a list, and its index in that list takes its
 * place; JSON.parse reads such indexes exactly:
 *
 *     {"id":12,"name":"12"}  →  {"id":0,"name":"12"} and the list ["12"]
 *
 * A valid number is replaced by a valid number, and nothing else is changed, so JSON.parse refuses
 * the same texts as before. The reader does not recurse: no nesting overflows the stack.
 */

import { int64FromLiteral } from './int64.ts';

/** A JSON value in which each number is the index of its text in `literals`. */
export interface IndexedJson {
  readonly value: unknown;
  readonly literals: readonly string[];
}

/** Throws a SyntaxError: the engine's, about the text as it was sent. */
export function parseIndexedJson(text: string): IndexedJson {
  const literals: string[] = [];
  let indexed = '';
  let copied = 0;
  let isInString = false;
  // A loop, not one replace(): its time does not depend on how many quotes a hostile text has.
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === '"') isInString = !isInString;
    else if (char === '\\') at += 1;
    else if (!isInString && (char === '-' || (char >= '0' && char <= '9'))) {
      NUMBER.lastIndex = at;
      // The text is not JSON: JSON.parse says so.
      if (!NUMBER.test(text)) break;
      indexed += text.slice(copied, at) + literals.length;
      copied = NUMBER.lastIndex;
      literals.push(text.slice(at, copied));
      at = copied - 1;
    }
  }
  try {
    return { value: JSON.parse(indexed + text.slice(copied)), literals };
  } catch (error) {
    JSON.parse(text);
    throw error;
  }
}

/** Matches a whole number: `1-2`, of which only a part is a number, would become a valid `01`. */
const NUMBER: RegExp = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![-+.0-9eE])/y;

/** False for an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the value of a JSON text, with a bigint for each number that is an int64, however it is
 * written, and a number for each other. Throws a SyntaxError.
 */
export function parseExactJson(text: string): unknown {
  const { value, literals } = parseIndexedJson(text);
  const root: Record<string, unknown> = { value };
  const containers = [root];
  for (let container = containers.pop(); container !== undefined; container = containers.pop()) {
    for (const [key, item] of Object.entries(container)) {
      if (typeof item === 'number') {
        const literal = literals[item]!;
        container[key] = int64FromLiteral(literal) ?? Number(literal);
      } else if (typeof item === 'object' && item !== null) {
        containers.push(item as Record<string, unknown>);
      }
    }
  }
  return root['value'];
}

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
