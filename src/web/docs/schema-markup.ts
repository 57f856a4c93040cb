/** Schemas of the description in words: a type with its limits, and the properties of an object. */

import type { Named, Schema } from '../openapi/types.ts';
import { code, inline, joined, markup, type Markup } from './markup.ts';

/** A list entry with its own anchor: a parameter, a header field or a property. */
export function entry(id: string, name: string, facts: readonly Markup[], text = ''): Markup {
  return markup`
<div id="${id}"><dt>${code(name)}</dt><dd class="hint">${joined(facts, ' · ')}</dd>
<dd>${inline(text)}</dd></div>`;
}

export const presence = (isRequired: boolean): Markup =>
  isRequired ? markup`required` : markup`optional`;

/** Returns what a schema allows, in words, one fact per keyword. */
export function schemaFacts(schema: Schema): readonly Markup[] {
  const { $ref, type, format, items, minimum, maximum, minLength, maxLength } = schema;
  const facts: Markup[] = [];
  if ($ref !== undefined) facts.push(refLink($ref));
  if (items !== undefined) facts.push(markup`array of ${schemaFacts(items)}`);
  else if (type !== undefined) facts.push(markup`${type}`);
  if (format !== undefined) facts.push(markup`${format}`);
  if (minimum !== undefined) facts.push(markup`at least ${minimum}`);
  if (maximum !== undefined) facts.push(markup`at most ${maximum}`);
  if (minLength !== undefined) facts.push(markup`length at least ${minLength}`);
  if (maxLength !== undefined) facts.push(markup`length at most ${maxLength}`);
  if (schema.enum !== undefined) facts.push(markup`one of ${joined(schema.enum.map(code), ', ')}`);
  if (schema.default !== undefined) facts.push(markup`default ${schema.default}`);
  if (schema.additionalProperties === false) facts.push(markup`no other fields`);
  return facts;
}

/** Returns a link to a shared part. The anchor of `#/components/schemas/Pet` is `schemas-Pet`. */
export function refLink(ref: string): Markup {
  const parts = ref.split('/').slice(-2);
  return markup`<a href="#${parts.join('-')}">${parts.at(-1)!}</a>`;
}

export function schemaSections(schemas: Named<Schema>): readonly Markup[] {
  return Object.entries(schemas).map(([name, schema]) => {
    const { description = '', properties = {}, required = [] } = schema;
    const id = `schemas-${name}`;
    const entries = Object.entries(properties).map(([property, its]) => {
      const facts = [presence(required.includes(property)), ...schemaFacts(its)];
      return entry(`${id}-${property}`, property, facts, its.description);
    });
    return markup`
<section class="card" id="${id}">
<h3><a href="#${id}">${name}</a></h3>
<p class="hint">${joined(schemaFacts(schema), ' · ')}</p>
<p>${inline(description)}</p>
<dl>${entries}</dl>
</section>`;
  });
}
