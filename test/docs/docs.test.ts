/**
 * The reference at /docs compared with the description at /openapi.json: each part of one is in the
 * other, at the anchor where a reader expects it.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { inline, markup, prose } from '../../src/docs/markup.ts';
import type { Named, OpenApi, ResponseObject, Schema } from '../../src/openapi/types.ts';
import { describedOperations, describedResponses } from '../support/description/description.ts';
import { elementsOf, readHtml, textOf, type HtmlElement } from '../support/browser/html.ts';
import { KEY, openService } from '../support/http/service.ts';

/** With a prefix, so that each address below shows whether it has the prefix. */
const PREFIX = '/shop';
const service = await openService({ after }, { page: true, prefix: PREFIX });

async function textAt(path: string): Promise<string> {
  return (await fetch(`${service.origin}${PREFIX}${path}`)).text();
}

// 64-bit bounds become strings, since JSON.parse rounds them.
const json = (await textAt('/openapi.json')).replace(/:(-?[0-9]{16,})/g, ':"$1"');
const description = JSON.parse(json) as OpenApi;
const document = readHtml(await textAt('/docs'));
const elements = [...elementsOf(document)];
const byId = new Map(
  elements.flatMap((element) => {
    const id = element.attributes.get('id');
    return id === undefined ? [] : [[id, element] as const];
  }),
);

type Part = readonly [id: string, ...facts: unknown[]];

/** Yields each anchor of the reference, with what a reader finds there: texts, and `#` links. */
function* partsOf(): Generator<Part> {
  const { responses, schemas, securitySchemes } = description.components;
  for (const { method, path, operation } of describedOperations(description)) {
    const { operationId: id, summary, parameters = [], requestBody: body } = operation;
    const access = operation.security?.length === 0 ? 'needs no API key' : 'needs an API key';
    const bodyFacts = body === undefined ? [] : [body.description, 'required', ...factsIn(body)];
    yield [
      id,
      id,
      method,
      `${PREFIX}${path}`,
      summary,
      operation.description,
      access,
      ...bodyFacts,
    ];
    for (const { name, in: where, required, schema, example = '', ...rest } of parameters) {
      const facts = [where, presence(required), rest.description, example, ...factsOf(schema)];
      yield [`${id}-${name}`, name, ...facts];
    }
    const resolved = new Map(describedResponses(description, operation));
    for (const [status, response] of Object.entries(operation.responses)) {
      const part = `${id}-${status}`;
      if ('$ref' in response) {
        const whole = resolved.get(status)!;
        yield [part, status, whole.description, anchorOf(response.$ref), ...codesOf(whole)];
      } else yield* responseParts(part, status, response);
    }
  }
  for (const [name, response] of Object.entries(responses)) {
    yield* responseParts(`responses-${name}`, name, response);
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const { properties = {}, required = [], ...own } = schema;
    yield [`schemas-${name}`, name, own.description ?? '', ...factsOf(own)];
    for (const [property, its] of Object.entries(properties)) {
      const facts = [presence(required.includes(property)), its.description ?? ''];
      yield [`schemas-${name}-${property}`, property, ...facts, ...factsOf(its)];
    }
  }
  for (const [name, { type, scheme, description: words }] of Object.entries(securitySchemes)) {
    yield ['authentication', name, type, scheme, words];
  }
  for (const [code, { status, ...words }] of Object.entries(description['x-error-codes'])) {
    yield [`code-${code}`, code, status, words.description, words.remedy];
  }
}

function* responseParts(id: string, title: string, response: ResponseObject): Generator<Part> {
  yield [id, title, response.description, ...factsIn(response), ...codesOf(response)];
  for (const [name, { required, ...header }] of Object.entries(response.headers ?? {})) {
    const facts = [required ? 'always' : 'sometimes', header.description, header.example];
    yield [`${id}-${name}`, name, ...facts, ...factsOf(header.schema)];
  }
}

test('The reference has each part of the description at its anchor', () => {
  for (const [id, ...facts] of partsOf()) {
    const element = byId.get(id);
    assert.ok(element !== undefined, `No element has the id ${id}`);
    const text = squeeze(textOf(element));
    const links = hrefsIn(element);
    for (const fact of facts) {
      const words = squeeze(plain(`${fact}`));
      const count = links.filter((link) => link === fact).length;
      const isThere = words.startsWith('#') ? count === 1 : text.includes(words);
      assert.ok(isThere, `${id} does not have ${words}, but ${text}`);
    }
  }
  for (const { operation } of describedOperations(description)) {
    const isMarked = /Deprecated/.test(textOf(byId.get(operation.operationId)!));
    assert.equal(isMarked, operation.deprecated === true, operation.operationId);
  }
});

test('The reference has every text and number of the description', () => {
  const text = squeeze(textOf(document));
  const missing = [...wordsIn(description)].filter((words) => !text.includes(words));
  assert.deepEqual(missing, []);
});

test('The reference has no part that the description does not have', () => {
  const described = new Set(Array.from(partsOf(), ([id]) => id));
  const isChapter = ({ tag, attributes }: HtmlElement): boolean =>
    tag === 'section' && attributes.get('class') !== 'card';
  const others = [...byId].filter(([id, element]) => !described.has(id) && !isChapter(element));
  assert.deepEqual(
    others.map(([id]) => id),
    ['address'],
  );
});

test('Each anchor of the reference is unique, each link has a target, and each section is listed', async () => {
  const contents = elements.find(({ attributes }) => attributes.get('class') === 'contents')!;
  const listed = [...hrefsIn(contents)];
  const headings = [...byId].filter(([, { tag }]) => tag === 'section').map(([id]) => `#${id}`);
  assert.deepEqual(listed.sort(), headings.sort());
  assert.equal(elements.filter(({ attributes }) => attributes.has('id')).length, byId.size);
  const base = `${service.origin}${PREFIX}/docs`;
  const targets = new Set(hrefsIn(document));
  assert.ok(targets.size > 50);
  for (const target of targets) {
    if (target.startsWith('#')) assert.ok(byId.has(target.slice(1)), target);
    if (/^(#|data:)/.test(target)) continue;
    const response = await fetch(new URL(target, base));
    assert.equal(response.status, 200, target);
    const [, panel = ''] = target.split('#');
    if (panel !== '') assert.ok((await response.text()).includes(`id="${panel}"`), target);
  }
  for (const to of ['./', 'docs', 'openapi.json', './#list', './#add-form', './#more']) {
    assert.ok(targets.has(to), to);
  }
});

test('The reference has no inline script and no inline style, which its policy forbids', () => {
  for (const { tag, attributes } of elements) {
    assert.notEqual(tag, 'style');
    if (tag === 'script') assert.equal(attributes.get('src'), 'page/page/address.js');
    for (const name of attributes.keys()) assert.doesNotMatch(name, /^(style|on.*)$/);
  }
});

const POSIX = { skip: process.platform === 'win32' && 'needs a POSIX shell' };

test('Each curl line of the reference does what its operation says', POSIX, async () => {
  await service.app.pets.create({ name: 'Rex', categoryId: 7n });
  for (const { operation } of describedOperations(description)) {
    const section = byId.get(operation.operationId)!;
    const lines = [...elementsOf(section)].filter(({ tag }) => tag === 'pre').map(textOf);
    const [line = '', ...others] = lines.filter((text) => text.startsWith('curl '));
    assert.deepEqual(others, []);
    const { url, init } = runCurl(line, { PETSTORE: service.origin, API_KEY: KEY });
    const { status } = await fetch(url, init);
    assert.ok(status < 300 && String(status) in operation.responses, `${line}: ${status}`);
  }
});

test('A value in a template is escaped, unless it is markup already', () => {
  const hostile = '<img src="x" onerror="a&b">';
  const escaped = '&lt;img src=&quot;x&quot; onerror=&quot;a&amp;b&quot;>';
  assert.equal(
    markup`<b title="${hostile}">${hostile}${1n}</b>`.html,
    `<b title="${escaped}">${escaped}1</b>`,
  );
  assert.equal(inline(`a \`${hostile}\``).html, `a <code>${escaped}</code>`);
  assert.equal(prose('a\nb\n\nc').html, '<p>a\nb</p>\n<p>c</p>\n');
});

/** Returns what a schema says, except its properties. A reference has the name of its target. */
function factsOf({ description: _, properties, required, ...schema }: Schema): readonly unknown[] {
  const { $ref, items, enum: names = [], additionalProperties, ...facts } = schema;
  const ref = $ref === undefined ? [] : [$ref.split('/').at(-1)];
  const limits = Object.entries(facts).map(([name, value]) => {
    return typeof value === 'string' && !/^-?[0-9]+$/.test(value) ? value : limitOf(name, value);
  });
  const closed = additionalProperties === false ? ['no other fields'] : [];
  return [...ref, ...limits, ...names, ...closed, ...(items === undefined ? [] : factsOf(items))];
}

const LIMITS: Named<string> = {
  minimum: 'at least',
  maximum: 'at most',
  minLength: 'length at least',
  maxLength: 'length at most',
  default: 'default',
};

function limitOf(name: string, value: unknown): string {
  assert.ok(name in LIMITS, `A schema has ${name}, which no test knows`);
  return `${LIMITS[name]} ${value}`;
}

/** Returns what the content of a body or a response says: its types, schemas and examples. */
function factsIn({ content }: Pick<ResponseObject, 'content'>): readonly unknown[] {
  return Object.entries(content).flatMap(([type, { schema, examples = {} }]) => {
    const shown = Object.entries(examples).map(([name, { value }]) => [
      name,
      JSON.stringify(value),
    ]);
    return [type, ...factsOf(schema), ...shown.flat()];
  });
}

/** Returns the links to the codes of a response. */
function codesOf({ content }: ResponseObject): readonly string[] {
  const examples = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
  const codes = examples.flatMap(({ value }) => (value as { code?: string }).code ?? []);
  return [...new Set(codes)].map((code) => `#code-${code}`);
}

function hrefsIn(element: HtmlElement): readonly string[] {
  return [...elementsOf(element)].flatMap(({ attributes }) => attributes.get('href') ?? []);
}

const presence = (isRequired = false): string => (isRequired ? 'required' : 'optional');

function anchorOf(ref: string): string {
  return `#${ref.split('/').slice(-2).join('-')}`;
}

/** Yields every text and number of a part of the description. Each example body is one text. */
function* wordsIn(part: unknown, name = ''): Generator<string> {
  if (name === 'value') yield squeeze(JSON.stringify(part));
  else if (name === '$ref') yield String(part).split('/').at(-1)!;
  else if (name === 'url') yield String(part);
  else if (typeof part === 'string') {
    for (const paragraph of part.split('\n\n')) yield squeeze(plain(paragraph));
  } else if (typeof part === 'number') yield String(part);
  else if (typeof part === 'object' && part !== null) {
    for (const [key, value] of Object.entries(part)) yield* wordsIn(value, key);
  }
}

/** Removes the marks of CommonMark. */
function plain(text: string): string {
  return text.replaceAll('`', '').replace(/^## /, '');
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Runs a curl line in a shell, and returns the request that curl would send. */
function runCurl(line: string, env: Record<string, string>): { url: string; init: RequestInit } {
  const script = `curl() { printf '%s\\0' "$@"; }; ${line}`;
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env });
  const given = stdout.split('\0').slice(0, -1);
  const headers: Record<string, string> = {};
  let [url, body] = ['', ''];
  for (let index = 0; index < given.length; index += 1) {
    const text = given[index]!;
    if (text === '-H') {
      const [name = '', value = ''] = given[(index += 1)]!.split(': ');
      headers[name] = value;
    } else if (text === '-d') body = given[(index += 1)]!;
    else url = text;
  }
  return { url, init: body === '' ? { headers } : { method: 'POST', headers, body } };
}
