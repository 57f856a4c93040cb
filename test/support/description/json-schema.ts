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
  const check = (inner: Json, part: Json, step: string): readonly string[] =>
    schemaProblems(inner, part, root, `${at}${step}`);
  return Object.entries(keywords).flatMap(([keyword, operand]) => {
    switch (keyword) {
      case 'description':
      case 'default':
      // An int64 has bounds, too.
      case 'format':
        return [];
      case '$ref':
        return check(resolveRef(root, operand), value, '');
      case 'items':
        return asArray(value).flatMap((item, index) => check(operand, item, `[${index}]`));
      case 'properties':
        return Object.entries(asObject(operand)).flatMap(([name, inner]) =>
          isObject(value) && Object.hasOwn(value, name)
            ? check(inner, value[name]!, `.${name}`)
            : [],
        );
    }
    const holds = RULES.get(keyword);
    if (holds === undefined) throw new Error(`The schema keyword ${keyword} is not known`);
    if (holds(operand, value, keywords)) return [];
    return [`${at}: ${JSON.stringify(value)} breaks ${keyword} ${JSON.stringify(operand)}`];
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

/** Returns true if a value keeps a rule, or is of a type for which the rule says nothing. */
type Rule = (operand: Json, value: Json, keywords: JsonObject) => boolean;

const TYPES: ReadonlyMap<Json, (value: Json) => boolean> = new Map([
  ['object', isObject],
  ['array', (value: Json) => Array.isArray(value)],
  ['string', (value: Json) => typeof value === 'string'],
  ['integer', (value: Json) => Number.isInteger(value)],
]);

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['type', (operand, value) => TYPES.get(operand)!(value)],
  ['enum', (operand, value) => asArray(operand).includes(value)],
  ['minimum', (operand, value) => !(Number(value) < Number(operand))],
  ['maximum', (operand, value) => !(Number(value) > Number(operand))],
  [
    'required',
    (operand, value) => asArray(operand).every((name) => Object.hasOwn(asObject(value), `${name}`)),
  ],
  [
    'additionalProperties',
    (isOpen, value, { properties = {} }) =>
      isOpen === true ||
      Object.keys(asObject(value)).every((name) => Object.hasOwn(asObject(properties), name)),
  ],
]);

function asObject(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

function asArray(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
