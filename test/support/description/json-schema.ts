/**
 * A validator for the part of JSON Schema that the OpenAPI description uses.
 *
 * An unknown keyword throws, so that nothing is accepted unchecked.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Returns the problems of a value, each with its path, or an empty list if it is valid. */
export function schemaProblems(schema: Json, value: Json, root: Json, at = '$'): readonly string[] {
  const keywords = asObject(schema);
  return Object.entries(keywords).flatMap(([keyword, operand]) => {
    if (ANNOTATIONS.has(keyword)) return [];
    const check = CHECKS.get(keyword);
    if (check === undefined) throw new Error(`The schema keyword ${keyword} is not known`);
    return check({ operand, value, keywords, root, at });
  });
}

/** Returns the target of a reference within the document (RFC 6901). Throws if it has none. */
export function resolveRef(root: Json, ref: Json): Json {
  if (typeof ref !== 'string' || !ref.startsWith('#/')) throw new Error(`Unknown reference ${ref}`);
  let target: Json | undefined = root;
  for (const token of ref.slice(2).split('/')) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    target = isObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
    if (target === undefined) throw new Error(`${ref} leads nowhere: there is no ${key}`);
  }
  return target;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Situation {
  /** The value of the keyword. */
  readonly operand: Json;
  readonly value: Json;
  /** The schema that contains the keyword. */
  readonly keywords: JsonObject;
  readonly root: Json;
  readonly at: string;
}

type Check = (situation: Situation) => readonly string[];

const ANNOTATIONS: ReadonlySet<string> = new Set(['description', 'default']);

const TYPES: ReadonlyMap<Json, (value: Json) => boolean> = new Map([
  ['object', isObject],
  ['array', (value: Json) => Array.isArray(value)],
  ['string', (value: Json) => typeof value === 'string'],
  ['integer', (value: Json) => Number.isInteger(value)],
]);

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    '$ref',
    ({ operand, value, root, at }) => {
      return schemaProblems(resolveRef(root, operand), value, root, at);
    },
  ],
  [
    'type',
    ({ operand, value, at }) => {
      const isOfType = TYPES.get(operand);
      if (isOfType === undefined) throw new Error(`The type ${operand} is not known`);
      return isOfType(value) ? [] : [`${at} is no ${operand}`];
    },
  ],
  [
    'format',
    ({ operand, value, at }) => {
      if (operand !== 'int64') throw new Error(`The format ${operand} is not known`);
      const isInt64 = typeof value !== 'number' || (value >= -(2 ** 63) && value < 2 ** 63);
      return isInt64 ? [] : [`${at} is no int64`];
    },
  ],
  [
    'enum',
    ({ operand, value, at }) => {
      return asArray(operand).includes(value) ? [] : [`${at} is none of ${operand}`];
    },
  ],
  [
    'minimum',
    ({ operand, value, at }) => {
      const isBelow = typeof value === 'number' && value < Number(operand);
      return isBelow ? [`${at} is below ${operand}`] : [];
    },
  ],
  [
    'maximum',
    ({ operand, value, at }) => {
      const isAbove = typeof value === 'number' && value > Number(operand);
      return isAbove ? [`${at} is above ${operand}`] : [];
    },
  ],
  [
    'required',
    ({ operand, value, at }) => {
      if (!isObject(value)) return [];
      const missing = asArray(operand).filter((name) => !Object.hasOwn(value, String(name)));
      return missing.map((name) => `${at}.${name} is missing`);
    },
  ],
  [
    'properties',
    ({ operand, value, root, at }) => {
      if (!isObject(value)) return [];
      return Object.entries(asObject(operand)).flatMap(([name, schema]) => {
        const isPresent = Object.hasOwn(value, name);
        return isPresent ? schemaProblems(schema, value[name]!, root, `${at}.${name}`) : [];
      });
    },
  ],
  [
    'additionalProperties',
    ({ operand, value, keywords, at }) => {
      if (operand !== false) throw new Error('Only additionalProperties: false is known');
      const known = asObject(keywords['properties'] ?? {});
      const names = isObject(value) ? Object.keys(value) : [];
      const unknown = names.filter((name) => !Object.hasOwn(known, name));
      return unknown.map((name) => `${at}.${name} must not be there`);
    },
  ],
  [
    'items',
    ({ operand, value, root, at }) => {
      if (!Array.isArray(value)) return [];
      return value.flatMap((item: Json, index) => {
        return schemaProblems(operand, item, root, `${at}[${index}]`);
      });
    },
  ],
]);

function asObject(value: Json): JsonObject {
  if (!isObject(value)) throw new Error(`Expected an object, not ${JSON.stringify(value)}`);
  return value;
}

function asArray(value: Json): readonly Json[] {
  if (!Array.isArray(value)) throw new Error(`Expected an array, not ${JSON.stringify(value)}`);
  return value as readonly Json[];
}
