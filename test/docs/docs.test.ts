/**
 * The reference at /docs compared with the description at /openapi.json: each part of one is in the
 * other, at the anchor where a reader expects it.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createClient } from '../../src/client/client.ts';
import { inline, markup, prose } from '../../src/web/docs/markup.ts';
import type { Named, OpenApi, ResponseObject } from '../../src/web/openapi/types.ts';
import { describedOperations, describedResponses } from '../support/description/description.ts';
import { elementsOf, readHtml, textOf, type HtmlElement } from '../support/browser/html.ts';
import { POSIX, runCurl } from '../support/browser/run-curl.ts';
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
  yield ['main', ...wordsIn({ ...description, paths: {}, components: {} })];
  for (const { method, path, operation } of describedOperations(description)) {
    const { operationId: id, tags: _, ...rest } = operation;
    const access = operation.security?.length === 0 ? 'needs no API key' : 'needs an API key';
    yield [id, id, method, `${PREFIX}${path}`, access, ...wordsIn(rest)];
    for (const parameter of operation.parameters ?? []) {
      yield [`${id}-${parameter.name}`, presence(parameter.required), ...wordsIn(parameter)];
    }
    const resolved = new Map(describedResponses(description, operation));
    for (const [status, response] of Object.entries(operation.responses)) {
      const part = `${id}-${status}`;
      if ('$ref' in response) {
        const whole = resolved.get(status)!;
        yield [part, status, plain(whole.description), anchorOf(response.$ref), ...codesOf(whole)];
      } else yield* responseParts(part, status, response);
    }
  }
  for (const [name, response] of Object.entries(responses)) {
    yield* responseParts(`responses-${name}`, name, response);
  }
  for (const [name, schema] of Object.entries(schemas)) {
    yield [`schemas-${name}`, name, ...wordsIn(schema)];
    for (const [property, its] of Object.entries(schema.properties ?? {})) {
      const isRequired = schema.required?.includes(property);
      yield [`schemas-${name}-${property}`, property, presence(isRequired), ...wordsIn(its)];
    }
  }
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    yield ['authentication', name, ...wordsIn(scheme)];
  }
  for (const [code, meaning] of Object.entries(description['x-error-codes'])) {
    yield [`code-${code}`, code, ...wordsIn(meaning)];
  }
}

function* responseParts(id: string, title: string, response: ResponseObject): Generator<Part> {
  yield [id, title, ...wordsIn(response), ...codesOf(response)];
  for (const [name, header] of Object.entries(response.headers ?? {})) {
    yield [`${id}-${name}`, name, header.required ? 'always' : 'sometimes', ...wordsIn(header)];
  }
}

test('The reference has each part of the description at its anchor', () => {
  for (const [id, ...facts] of partsOf()) {
    const element = byId.get(id);
    assert.ok(element !== undefined, `No element has the id ${id}`);
    const text = squeeze(textOf(element));
    const links = hrefsIn(element);
    for (const fact of facts) {
      const words = `${fact}`;
      const count = links.filter((link) => link === words).length;
      const isThere = words.startsWith('#') ? count === 1 : text.includes(words);
      assert.ok(isThere, `${id} does not have ${words}, but ${text}`);
    }
  }
  for (const { operation } of describedOperations(description)) {
    const isMarked = /Deprecated/.test(textOf(byId.get(operation.operationId)!));
    assert.equal(isMarked, operation.deprecated === true, operation.operationId);
  }
});

test('Each schema with properties is one of the components, to which the reference links', () => {
  assert.ok(!JSON.stringify(description.paths).includes('"properties":'));
});

test('The reference has no part that the description does not have', () => {
  const described = new Set(Array.from(partsOf(), ([id]) => id));
  const isChapter = ({ tag, attributes }: HtmlElement): boolean =>
    tag === 'section' && attributes.get('class') !== 'card';
  const others = [...byId].filter(([id, element]) => !described.has(id) && !isChapter(element));
  assert.deepEqual(
    others.map(([id]) => id),
    ['as-curl', 'as-javascript'],
  );
});

test('Each path of the pets, in an example or a message, has the prefix', () => {
  assert.deepEqual(textOf(document).match(/(?<!\/shop)\/v1\/pets\S*/g), null);
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
  }
  for (const to of ['./', 'docs', 'openapi.json']) {
    assert.ok(targets.has(to), to);
  }
});

test('Each curl line of the reference does what its operation says', POSIX, async () => {
  await service.app.pets.create({ name: 'Rex', categoryId: 7n });
  for (const { operation } of describedOperations(description)) {
    const section = byId.get(operation.operationId)!;
    const lines = [...elementsOf(section)].filter(({ tag }) => tag === 'pre').map(textOf);
    const [line = '', ...others] = lines.filter((text) => text.startsWith('curl '));
    assert.deepEqual(others, []);
    const { url, ...init } = runCurl(line, { PETSTORE: service.origin, API_KEY: KEY });
    const { status } = await fetch(url, init);
    assert.ok(status < 300 && String(status) in operation.responses, `${line}: ${status}`);
  }
});

test('Each JavaScript example of the reference does what its operation says', async () => {
  await service.app.pets.create({ name: 'Rex', categoryId: 7n });
  const samples = elements
    .filter(({ attributes }) => attributes.get('class')?.includes('javascript-sample'))
    .map((element) => textOf([...elementsOf(element)].find(({ tag }) => tag === 'pre')!));
  assert.equal(samples.length, 4);
  const program = samples
    .map((sample) =>
      sample.replace(/^import .*$/m, '').replace('http://127.0.0.1:8080', service.origin),
    )
    .map((sample, index) =>
      index === 0 ? sample.replace('…', KEY) : `{ ${sample} called += 1; }`,
    );
  const names = ['createClient', `let called = 0; ${program.join('\n')} return called;`] as const;
  assert.equal(await (new AsyncFunction(...names) as typeof runNothing)(createClient), 3);
});

const runNothing = async (_: typeof createClient): Promise<unknown> => undefined;
const AsyncFunction = runNothing.constructor as FunctionConstructor;

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

/** What the reference says before a value that has this name in the description. */
const WORDS: Named<string> = {
  minimum: 'at least ',
  maximum: 'at most ',
  minLength: 'length at least ',
  maxLength: 'length at most ',
  default: 'default ',
  example: 'for example ',
  status: '',
};

/** Yields what a reader must find of a part of the description. Each example body is one text. */
function* wordsIn(part: unknown, name = ''): Generator<string> {
  if (name === 'value') yield squeeze(JSON.stringify(part, null, 2));
  else if (name === '$ref') yield String(part).split('/').at(-1)!;
  else if (name === 'url') yield String(part);
  else if (name === 'items') yield ['array of', ...wordsIn(part)].join(' ');
  else if (name === 'additionalProperties') yield 'no other fields';
  else if (typeof part === 'object') {
    if (name === 'content' || name === 'examples') yield* Object.keys(part!);
    for (const [key, value] of Object.entries(part!)) yield* wordsIn(value, key);
  } else if (name in WORDS) yield `${WORDS[name]}${part}`;
  else if (typeof part === 'string') yield* part.split('\n\n').map(plain).map(squeeze);
  else assert.equal(typeof part, 'boolean', `The description has ${name}, which no test knows`);
}

/** Removes the marks of CommonMark. */
function plain(text: string): string {
  return text.replaceAll('`', '').replace(/^## /, '');
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
