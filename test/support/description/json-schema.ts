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
  const { properties = {} } = schema as { properties?: JsonObject };
  const members = isObject(value) ? value : {};
  const items: readonly Json[] = Array.isArray(value) ? value : [];
  const check = (inner: Json, part: Json, step: string): readonly string[] =>
    schemaProblems(inner, part, root, `${at}${step}`);
  return Object.entries(schema as JsonObject).flatMap(([keyword, operand]) => {
    const rule = (holds: boolean): readonly string[] => {
      if (holds) return [];
      return [`${at}: ${JSON.stringify(value)} breaks ${keyword} ${JSON.stringify(operand)}`];
    };
    switch (keyword) {
      case 'description':
      case 'default':
      // An int64 has bounds, too.
      case 'format':
        return [];
      case '$ref':
        return check(resolveRef(root, operand), value, '');
      case 'items':
        return items.flatMap((item, index) => check(operand, item, `[${index}]`));
      case 'properties':
        return Object.entries(properties).flatMap(([name, inner]) =>
          Object.hasOwn(members, name) ? check(inner, members[name]!, `.${name}`) : [],
        );
      case 'type':
        return rule(TYPES.get(operand)!(value));
      case 'enum':
        return rule((operand as readonly Json[]).includes(value));
      case 'minimum':
        return rule(!(Number(value) < Number(operand)));
      case 'maximum':
        return rule(!(Number(value) > Number(operand)));
      case 'required':
        return rule((operand as readonly string[]).every((name) => Object.hasOwn(members, name)));
      case 'additionalProperties':
        return rule(Object.keys(members).every((name) => Object.hasOwn(properties, name)));
    }
    throw new Error(`The schema keyword ${keyword} is not known`);
  });
}

const TYPES: ReadonlyMap<Json, (value: Json) => boolean> = new Map([
  ['object', isObject],
  ['array', (value: Json) => Array.isArray(value)],
  ['string', (value: Json) => typeof value === 'string'],
  ['integer', (value: Json) => Number.isInteger(value)],
]);

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

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
