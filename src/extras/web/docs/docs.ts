/**
 * The reference for people: `GET /docs`, which needs no API key. It is the whole description that
 * `GET /openapi.json` serves, in the order in which a reader needs it, and is rendered at the first
 * request. Each part has an anchor, and its heading links to it.
 *
 * A curl line has the service's address and the API key as shell variables: the address depends on
 * how a reader reaches the service, and a line without the key can be shared.
 */

import { BASE_PATH } from '../../../core/api/operations.ts';
import type { Operation } from '../../../core/http/operation.ts';
import type * as api from '../openapi/types.ts';
import { curlLine } from '../page/curl-line.ts';
import { htmlDocument } from '../page/html.ts';
import { pageResponse, publicOperation } from '../page/page.ts';

export const DOCS_PATH = '/docs';

export function docsOperation(describe: () => api.OpenApi): Operation {
  const intro = 'Every operation, parameter, response, schema and error code of this service.';
  return publicOperation('docs', DOCS_PATH, () => {
    const body = referenceBody(describe());
    return pageResponse('text/html', htmlDocument('docs', 'Petstore reference', intro, body));
  });
}

function referenceBody(description: api.OpenApi): string {
  const { info, tags } = description;
  const { schemas, responses } = description.components;
  const { apiKey } = description.components.securitySchemes;
  const [overview = '', ...texts] = info.description.split(/^## /m);
  const chapters = [
    chapter('Overview', [prose(overview), facts(description)]),
    chapter('Authentication', [
      prose(apiKey.description),
      markup`<p class="hint">apiKey · ${apiKey.type} · ${apiKey.scheme}</p>`,
    ]),
    ...texts.map((text) => {
      const end = text.indexOf('\n');
      return chapter(text.slice(0, end), prose(text.slice(end).trim()));
    }),
    ...tags.map(({ name, description: words }) =>
      chapter(name, [prose(words), operationsOf(name, description)]),
    ),
    chapter('Schemas', Object.entries(schemas).map(schemaSection)),
    chapter('Shared responses', Object.entries(responses).map(sharedResponse)),
    chapter('Error codes', errorCodes(description)),
  ];
  const main = markup`<main id="main">${chapters}</main>`.html;
  // The headings, and what they link, are the table of contents.
  const headings = Array.from(main.matchAll(/<(h[23])>(<a href=.*?<\/a>)/g));
  const contents = headings.map(([, level, link]) => `<li class="in-${level}">${link}</li>`);
  return `<div class="reference">
<details class="contents" open><summary>Contents</summary>
<nav aria-label="Contents"><ul>${contents.join('')}</ul></nav></details>
${main}
</div>
`;
}

function chapter(title: string, text: Part): Markup {
  const id = title.toLowerCase().replaceAll(' ', '-');
  return markup`\n<section id="${id}"><h2><a href="#${id}">${title}</a></h2>\n${text}</section>`;
}

/** With its quotes: a test takes the text `from '…'` for an import of this file. */
const CLIENT_MODULE = "'petstore/client'";

const prefixOf = ({ servers }: api.OpenApi): string => servers?.[0]?.url ?? '';

function facts(description: api.OpenApi): Markup {
  const { openapi, info, servers = [] } = description;
  const { title, version, license, contact } = info;
  const from = servers.map(({ url, description: words }) => {
    return markup`server ${code(url)}: ${words} ·\n`;
  });
  const address = markup`<span class="address">http://127.0.0.1:8080</span>`;
  return markup`<fieldset class="row"><legend>Examples for</legend>
<label class="side"><input id="as-curl" type="radio" name="language" checked>curl</label>
<label class="side"><input id="as-javascript" type="radio" name="language">JavaScript</label></fieldset>
${sample('curl', markup`PETSTORE='${address}'\nAPI_KEY='…'`, true)}
${sample(
  'JavaScript',
  markup`import { createClient } from ${CLIENT_MODULE};

const baseUrl = '${address}${prefixOf(description)}${BASE_PATH}';
const client = createClient({ baseUrl, apiKey: '…' });`,
  true,
)}
<p class="hint">${title} ${version} · <a href="openapi.json">OpenAPI ${openapi}</a> ·
${from}license ${license.identifier} · contact: ${contact.name}</p>`;
}

function operationsOf(tag: string, description: api.OpenApi): readonly Markup[] {
  const { responses } = description.components;
  return Object.entries(description.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      if (!operation.tags.includes(tag)) return [];
      const full = `${prefixOf(description)}${path}`;
      return operationSection(method.toUpperCase(), full, operation, responses);
    }),
  );
}

function operationSection(
  method: string,
  path: string,
  operation: api.OperationObject,
  shared: api.Named<api.ResponseObject>,
): Markup {
  const { operationId: id, security, parameters = [], requestBody } = operation;
  const needsKey = security === undefined;
  return markup`
<section class="card" id="${id}">
<h3><a href="#${id}">${method} ${code(path)}</a>${operation.deprecated ? DEPRECATED : ''}</h3>
<p><b>${operation.summary}</b></p>
<p class="hint">${id} · ${needsKey ? NEEDS_KEY : 'needs no API key'}</p>
${prose(operation.description)}
${parameters.length === 0 ? '' : markup`<h4>Parameters</h4>`}
<dl>${parameters.map((parameter) => {
    const { name, in: where, required, schema } = parameter;
    return entry(`${id}-${name}`, name, `${where} · ${presence(required)}`, schema, parameter);
  })}</dl>
${requestBody === undefined ? '' : bodyOf(requestBody)}
<h4>Example</h4>
${samples(path, needsKey, operation)}
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
function responseMarkup(
  id: string,
  title: Part,
  response: api.ResponseObject | api.Reference,
  shared: api.Named<api.ResponseObject> = {},
): Markup {
  const ref = '$ref' in response ? response.$ref : '';
  const whole = '$ref' in response ? shared[nameOf(ref)]! : response;
  const { description, headers = {}, content } = whole;
  const entries = Object.entries(headers).map(([name, field]) => {
    const when = field.required ? 'always' : 'sometimes';
    return entry(`${id}-${name}`, name, when, field.schema, field);
  });
  const values = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
  const codes = new Set(values.flatMap(({ value }) => (value as { code?: string }).code ?? []));
  return markup`
<div class="response" id="${id}">
<p><b>${title}</b> ${inline(description)}${ref && [': ', refLink(ref)]}</p>
<p class="row">${Array.from(codes, (name) => markup`<a href="#code-${name}">${code(name)}</a>`)}</p>
${ref === '' ? markup`<dl>${entries}</dl>${contentOf(content)}` : ''}</div>`;
}

function sharedResponse([name, response]: readonly [string, api.ResponseObject]): Markup {
  const id = `responses-${name}`;
  const title = markup`<a href="#${id}">${name}</a>`;
  return markup`<div class="card">${responseMarkup(id, title, response)}</div>`;
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
function entry(
  id: string,
  name: string,
  first: string,
  schema: api.Schema,
  { example, description = '' }: { readonly example?: Part; readonly description?: string },
): Markup {
  const last = example === undefined ? [] : [markup`for example ${code(`${example}`)}`];
  return markup`
<div id="${id}"><dt>${code(name)}</dt>
<dd class="hint">${joined([first, ...schemaFacts(schema), ...last], ' · ')}</dd>
<dd>${inline(description)}</dd></div>`;
}

const presence = (isRequired = false): string => (isRequired ? 'required' : 'optional');

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

function schemaSection([name, schema]: readonly [string, api.Schema]): Markup {
  const { description = '', properties = {}, required = [] } = schema;
  const id = `schemas-${name}`;
  const entries = Object.entries(properties).map(([property, its]) => {
    return entry(`${id}-${property}`, property, presence(required.includes(property)), its, its);
  });
  return markup`
<section class="card" id="${id}">
<h3><a href="#${id}">${name}</a></h3>
<p class="hint">${joined(schemaFacts(schema), ' · ')}</p>
<p>${inline(description)}</p>
<dl>${entries}</dl>
</section>`;
}

function errorCodes(description: api.OpenApi): Markup {
  const rows = Object.entries(description['x-error-codes']).map(
    ([name, { status, description: words, remedy }]) => markup`
<tr id="code-${name}"><th scope="row">${code(name)}</th><td>${status}</td>
<td>${inline(words)}. <b>${inline(remedy)}.</b></td></tr>`,
  );
  return markup`<table><thead><tr><th scope="col">Code</th><th scope="col">Status</th>
<th scope="col">Meaning, and what to do</th></tr></thead><tbody>${rows}</tbody></table>`;
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

/** The operation's examples, but no header parameters. */
function samples(path: string, needsKey: boolean, operation: api.OperationObject): Part {
  const { operationId, parameters = [], requestBody } = operation;
  const query = new URLSearchParams();
  let filled = path;
  for (const { in: where, name, example } of parameters) {
    if (where === 'query' && example !== undefined) query.set(name, `${example}`);
    filled = filled.replace(`{${name}}`, `${example}`);
  }
  const [example] = Object.values(requestBody?.content['application/json']?.examples ?? {});
  const url = `"$PETSTORE${filled}${query.size === 0 ? '' : `?${query}`}"`;
  const line = curlLine({ url, needsKey, body: example && JSON.stringify(example.value) });
  const call = CLIENT_CALLS[operationId];
  const curl = sample('curl', line, call !== undefined);
  return call === undefined ? curl : [curl, sample('JavaScript', call, true)];
}

/*
 * Safe HTML templates: every value in a template is escaped, unless it is markup already.
 * Descriptions are CommonMark. `prose` and `inline` support what the description of this service
 * uses: paragraphs and code. The reference handles headings.
 */

interface Markup {
  readonly html: string;
}

type Part = string | number | bigint | Markup | readonly Part[];

/** A template's tag: markup`<b>${text}</b>`. */
function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const filled = parts.map((part, index) => `${toHtml(part)}${texts[index + 1]}`);
  return { html: `${texts[0]}${filled.join('')}` };
}

function toHtml(part: Part): string {
  if (typeof part !== 'object') return escape(`${part}`);
  return 'html' in part ? part.html : part.map(toHtml).join('');
}

/** For text and for attributes in double quotes. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function joined(parts: readonly Part[], separator: string): Part {
  return parts.map((part, index) => (index === 0 ? part : [separator, part]));
}

/** Converts paragraphs, which are separated by empty lines. */
function prose(text: string): Markup {
  return markup`${text.split('\n\n').map((paragraph) => markup`<p>${inline(paragraph)}</p>\n`)}`;
}

/** Converts a text in which `…` is code. */
function inline(text: string): Markup {
  return markup`${text.split('`').map((piece, index) => (index % 2 === 1 ? code(piece) : piece))}`;
}

/** Marks a name as code. A line may break after each underscore, since some codes are long. */
function code(text: string): Markup {
  return { html: markup`<code>${text}</code>`.html.replaceAll('_', '_<wbr>') };
}

/**
 * An example to copy, below the name of its language. With `isChosen` it is one of two, of which
 * the reader chooses the language.
 */
function sample(language: string, text: Part, isChosen: boolean): Markup {
  const names = `sample ${language.toLowerCase()}-sample${isChosen ? ' or' : ''}`;
  return markup`<div class="${names}"><p class="row ends"><span class="hint">${language}</span></p>
<pre>${text}</pre></div>`;
}
