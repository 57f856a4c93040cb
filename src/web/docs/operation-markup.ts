/**
 * One operation of the description: its parameters, body and responses, and examples. The curl line
 * has the service's address and the API key as shell variables: the address depends on how a reader
 * reaches the service, and a line without the key can be shared.
 */

import { curlLine } from '../page/curl-line.ts';
import { PANEL_IDS } from '../page/html.ts';
import type * as api from '../openapi/types.ts';
import { code, inline, joined, markup, prose, sample, type Markup, type Part } from './markup.ts';

export interface DescribedOperation {
  readonly method: string;
  /** With the prefix of the app. */
  readonly path: string;
  readonly needsKey: boolean;
  readonly operation: api.OperationObject;
}

type Responses = api.Named<api.ResponseObject>;

export function operationSection(described: DescribedOperation, shared: Responses): Markup {
  const { method, path, needsKey, operation } = described;
  const { operationId: id, parameters = [], requestBody } = operation;
  return markup`
<section class="card" id="${id}">
<h3><a href="#${id}">${method} ${code(path)}</a>${operation.deprecated ? DEPRECATED : ''}</h3>
<p><b>${operation.summary}</b></p>
<p class="hint">${id} · ${needsKey ? NEEDS_KEY : 'needs no API key'}</p>
${prose(operation.description)}
${parameters.length === 0 ? '' : markup`<h4>Parameters</h4>`}
<dl>${parameters.map(({ name, in: where, required, schema, example, description }) => {
    const facts = [where, presence(required), ...schemaFacts(schema), ...exampleFact(example)];
    return entry(`${id}-${name}`, name, facts, description);
  })}</dl>
${requestBody === undefined ? '' : bodyOf(requestBody)}
<h4>Example</h4>
${samples(described)}
${tryIt(described)}
<h4>Responses</h4>
${Object.entries(operation.responses).map(([status, response]) => {
  return responseMarkup(`${id}-${status}`, status, response, shared);
})}
</section>`;
}

const DEPRECATED: Markup = markup` <span class="mark">Deprecated</span>`;
const NEEDS_KEY: Markup = markup`needs an <a href="#authentication">API key</a>`;

function bodyOf({ description, required, content }: api.RequestBody): Markup {
  return markup`<h4>Body</h4>
<p>${inline(description)} (${presence(required)})</p>
${contentOf(content)}`;
}

/** Of a shared response an operation shows only what it means, and a link to its own section. */
export function responseMarkup(
  id: string,
  title: Part,
  response: api.ResponseObject | api.Reference,
  shared: Responses,
): Markup {
  const ref = '$ref' in response ? response.$ref : '';
  const {
    description,
    headers = {},
    content,
  } = '$ref' in response ? shared[nameOf(ref)]! : response;
  const entries = Object.entries(headers).map(([name, { required, schema, ...header }]) => {
    const facts = [required ? 'always' : 'sometimes', ...schemaFacts(schema)];
    return entry(
      `${id}-${name}`,
      name,
      [...facts, ...exampleFact(header.example)],
      header.description,
    );
  });
  const values = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
  const codes = new Set(values.flatMap(({ value }) => (value as { code?: string }).code ?? []));
  return markup`
<div class="response" id="${id}">
<p><b>${title}</b> ${inline(description)}${ref && [': ', refLink(ref)]}</p>
<p class="row">${Array.from(codes, (name) => markup`<a href="#code-${name}">${code(name)}</a>`)}</p>
${ref === '' ? markup`<dl>${entries}</dl>${contentOf(content)}` : ''}</div>`;
}

function contentOf(content: api.ResponseObject['content']): Part {
  return Object.entries(content).map(([type, { schema, examples = {} }]) => {
    const bodies = Object.entries(examples).map(
      ([name, { value }]) => markup`<figure><figcaption class="hint">${name}</figcaption>
<pre>${JSON.stringify(value, null, 2)}</pre></figure>`,
    );
    return markup`<p class="hint">${type} · ${schemaFacts(schema)}</p>${bodies}`;
  });
}

/** A list entry with its own anchor: a parameter, a header field or a property. */
function entry(id: string, name: string, facts: readonly Part[], text = ''): Markup {
  return markup`
<div id="${id}"><dt>${code(name)}</dt><dd class="hint">${joined(facts, ' · ')}</dd>
<dd>${inline(text)}</dd></div>`;
}

const presence = (isRequired = false): string => (isRequired ? 'required' : 'optional');

function exampleFact(example?: string | number): readonly Part[] {
  return example === undefined ? [] : [markup`for example ${code(`${example}`)}`];
}

const LIMITS = {
  minimum: 'at least',
  maximum: 'at most',
  minLength: 'length at least',
  maxLength: 'length at most',
  default: 'default',
} as const;

/** Returns what a schema allows, in words, one fact per keyword. */
function schemaFacts(schema: api.Schema): readonly Part[] {
  const { $ref, type, format, items, additionalProperties } = schema;
  const facts: (Part | undefined)[] = [$ref && refLink($ref)];
  facts.push(items ? ['array of ', schemaFacts(items)] : type, format);
  for (const [name, words] of Object.entries(LIMITS)) {
    const limit = schema[name as keyof typeof LIMITS];
    if (limit !== undefined) facts.push(`${words} ${limit}`);
  }
  if (schema.enum) facts.push(['one of ', joined(schema.enum.map(code), ', ')]);
  if (additionalProperties === false) facts.push('no other fields');
  return facts.filter((fact) => fact !== undefined);
}

const nameOf = (ref: string): string => ref.split('/').at(-1)!;

/** Returns a link to a shared part. The anchor of `#/components/schemas/Pet` is `schemas-Pet`. */
function refLink(ref: string): Markup {
  return markup`<a href="#${ref.split('/').slice(-2).join('-')}">${nameOf(ref)}</a>`;
}

export function schemaSection([name, schema]: readonly [string, api.Schema]): Markup {
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
}

/** Calls of the client with the examples of the description. */
const CLIENT_CALLS: Readonly<Record<string, string>> = {
  listPets: "const { pets, next } = await client.listPets({ limit: 20, status: 'available' });",
  createPet: `const pet = await client.createPet(
  { name: 'Rex', categoryId: 7, status: 'available' },
  { idempotencyKey: true },
);`,
  getPet: 'const pet = await client.getPet(1);',
};

function samples(described: DescribedOperation): Part {
  const call = CLIENT_CALLS[described.operation.operationId];
  const curl = sample('curl', exampleLine(described), call !== undefined);
  return call === undefined ? curl : [curl, sample('JavaScript', call, true)];
}

/** Returns a curl line with the operation's examples but no header parameters. */
function exampleLine({ path, needsKey, operation }: DescribedOperation): string {
  const { parameters = [], requestBody } = operation;
  const query: string[] = [];
  let filled = path;
  for (const { in: where, name, example } of parameters) {
    if (example === undefined) continue;
    if (where === 'query') query.push(`${name}=${encodeURIComponent(example)}`);
    filled = filled.replace(`{${name}}`, encodeURIComponent(example));
  }
  const [example] = Object.values(requestBody?.content['application/json']?.examples ?? {});
  const url = `"$PETSTORE${filled}${query.length === 0 ? '' : `?${query.join('&')}`}"`;
  return curlLine({ url, needsKey, body: example && JSON.stringify(example.value) });
}

/** Links the page's panel for the operation, or the path itself if it needs no API key. */
function tryIt({ path, needsKey, operation }: DescribedOperation): Part {
  const panel = PANEL_IDS[operation.operationId];
  if (panel !== undefined) return markup`<p><a href="./#${panel}">Try it on the page</a></p>`;
  return needsKey ? '' : markup`<p><a href="${path}">Try it: open ${path}</a></p>`;
}
