/**
 * One operation of the description: its parameters, body and responses, and examples. The curl line
 * has the service's address and the API key as shell variables: the address depends on how a reader
 * reaches the service, and a line without the key can be shared.
 */

import { curlLine } from '../page/curl-line.ts';
import { PANEL_IDS } from '../page/html.ts';
import type * as api from '../openapi/types.ts';
import { code, inline, markup, NOTHING, prose, sample, type Markup } from './markup.ts';
import { entry, presence, refLink, schemaFacts } from './schema-markup.ts';

export interface DescribedOperation {
  readonly method: string;
  /** With the prefix of the app. */
  readonly path: string;
  readonly needsKey: boolean;
  readonly operation: api.OperationObject;
}

export function describedOperations(description: api.OpenApi): readonly DescribedOperation[] {
  const { paths, servers, security } = description;
  const prefix = servers[0]!.url.replace(/\/$/, '');
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as api.Named<api.OperationObject>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: `${prefix}${path}`,
      needsKey: (operation.security ?? security).length > 0,
      operation,
    })),
  );
}

type Responses = api.Named<api.ResponseObject>;

export function operationSection(described: DescribedOperation, shared: Responses): Markup {
  const { method, path, needsKey, operation } = described;
  const { operationId: id, parameters = [], requestBody } = operation;
  return markup`
<section class="card" id="${id}">
<h3><a href="#${id}">${method} ${code(path)}</a>${operation.deprecated ? DEPRECATED : NOTHING}</h3>
<p><b>${operation.summary}</b></p>
<p class="hint">${id} · ${needsKey ? NEEDS_KEY : 'needs no API key'}</p>
${prose(operation.description)}
${parameters.length === 0 ? NOTHING : markup`<h4>Parameters</h4>`}
<dl>${parameters.map((parameter) => parameterEntry(id, parameter))}</dl>
${requestBody === undefined ? NOTHING : bodyOf(requestBody)}
<h4>Example</h4>
${samples(described)}
${tryIt(described)}
<h4>Responses</h4>
${Object.entries(operation.responses).map(([status, response]) => {
  const [anchor, title] = [`${id}-${status}`, markup`<b>${status}</b>`];
  if (!('$ref' in response)) return responseMarkup(anchor, title, response);
  return sharedMarkup(anchor, title, response.$ref, shared);
})}
</section>`;
}

const DEPRECATED: Markup = markup` <span class="mark">Deprecated</span>`;
const NEEDS_KEY: Markup = markup`needs an <a href="#authentication">API key</a>`;

function parameterEntry(operationId: string, parameter: api.Parameter): Markup {
  const { name, schema, required = false, example, description } = parameter;
  const facts = [markup`${parameter.in}`, presence(required), ...schemaFacts(schema)];
  if (example !== undefined) facts.push(markup`for example ${code(`${example}`)}`);
  return entry(`${operationId}-${name}`, name, facts, description);
}

function bodyOf({ description, required, content }: api.RequestBody): Markup {
  return markup`<h4>Body</h4>
<p>${inline(description)} (${presence(required)})</p>
${contentOf(content)}`;
}

/** A response of an operation, whose title is the status, or a response that several share. */
export function responseMarkup(id: string, title: Markup, response: api.ResponseObject): Markup {
  const { description, headers = {}, content } = response;
  const entries = Object.entries(headers).map(([name, { required = false, schema, ...header }]) => {
    const when = markup`${required ? 'always' : 'sometimes'}`;
    const facts = [when, ...schemaFacts(schema), markup`for example ${code(`${header.example}`)}`];
    return entry(`${id}-${name}`, name, facts, header.description);
  });
  return markup`
<div class="response" id="${id}"><div>
<p>${title} ${inline(description)}</p>
<p class="row">${codesIn(content)}</p>
<dl>${entries}</dl>
</div><div>${contentOf(content)}</div></div>`;
}

/** A reference to a shared response, whose fields and examples are in its own section. */
function sharedMarkup(id: string, title: Markup, ref: string, shared: Responses): Markup {
  const { description, content } = shared[ref.split('/').at(-1)!]!;
  return markup`
<div class="response" id="${id}">
<p>${title} ${inline(description)}: ${refLink(ref)}</p>
<p class="row">${codesIn(content)}</p></div>`;
}

/** Returns links to the error codes of the examples. */
function codesIn(content: api.Named<api.MediaType>): readonly Markup[] {
  const values = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
  const codes = values.flatMap(({ value }) => (value as { code?: string }).code ?? []);
  return [...new Set(codes)].map((name) => markup`<a href="#code-${name}">${code(name)}</a>`);
}

function contentOf(content: api.Named<api.MediaType>): Markup {
  return markup`${Object.entries(content).map(([type, { schema, examples = {} }]) => {
    const bodies = Object.entries(examples).map(
      ([name, { value }]) => markup`<figure><figcaption class="hint">${name}</figcaption>
<pre>${JSON.stringify(value, null, 2)}</pre></figure>`,
    );
    return markup`<p class="hint">${type} · ${schemaFacts(schema)}</p>${bodies}`;
  })}`;
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

function samples(described: DescribedOperation): Markup {
  const call = CLIENT_CALLS[described.operation.operationId];
  const curl = sample('curl', markup`${exampleLine(described)}`, call !== undefined);
  return call === undefined ? curl : markup`${curl}${sample('JavaScript', markup`${call}`, true)}`;
}

/** Returns a curl line with the operation's examples but no header parameters. */
function exampleLine({ path, needsKey, operation }: DescribedOperation): string {
  const { parameters = [], requestBody } = operation;
  const query: string[] = [];
  let filled = path;
  for (const { in: where, name, example } of parameters) {
    if (example === undefined) continue;
    if (where === 'query') query.push(`${name}=${encodeURIComponent(example)}`);
    if (where === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(example));
  }
  const { examples = {} } = requestBody?.content['application/json'] ?? {};
  const [example] = Object.values(examples);
  const url = `"$PETSTORE${filled}${query.length === 0 ? '' : `?${query.join('&')}`}"`;
  return curlLine({ url, needsKey, body: example && JSON.stringify(example.value) });
}

/** Links the page's panel for the operation, or the path itself if it needs no API key. */
function tryIt({ method, path, needsKey, operation }: DescribedOperation): Markup {
  const panel = PANEL_IDS[operation.operationId];
  if (panel !== undefined) return markup`<p><a href="./#${panel}">Try it on the page</a></p>`;
  if (needsKey || method !== 'GET') return NOTHING;
  return markup`<p><a href="${path}">Try it: open ${path}</a></p>`;
}
