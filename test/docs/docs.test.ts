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
import { KEY, startService, type Service } from '../support/http/service.ts';

const services = {
  '': await startService({ page: true }),
  '/shop': await startService({ page: true, prefix: '/shop' }),
};
after(async () => {
  for (const service of Object.values(services)) await service.close();
});

interface Subject {
  readonly prefix: string;
  readonly service: Service;
  readonly description: OpenApi;
  readonly document: HtmlElement;
}

const subjects: readonly Subject[] = await Promise.all(
  Object.entries(services).map(async ([prefix, service]) => {
    const get = async (path: string): Promise<string> =>
      (await fetch(`${service.origin}${prefix}${path}`)).text();
    // 64-bit bounds become strings, since JSON.parse rounds them.
    const json = (await get('/openapi.json')).replace(/:(-?[0-9]{16,})/g, ':"$1"');
    const document = readHtml(await get('/docs'));
    return { prefix, service, description: JSON.parse(json) as OpenApi, document };
  }),
);

for (const subject of subjects) {
  const { prefix, service, description, document } = subject;
  const suffix = prefix === '' ? '' : `, under ${prefix}`;
  const byId = new Map(
    [...elementsOf(document)].flatMap((element) => {
      const id = element.attributes.get('id');
      return id === undefined ? [] : [[id, element] as const];
    }),
  );
  const says = (id: string, ...facts: readonly unknown[]): void => {
    const element = byId.get(id);
    assert.ok(element !== undefined, `No element has the id ${id}`);
    const text = squeeze(textOf(element));
    for (const fact of facts) {
      const words = squeeze(plain(`${fact}`));
      assert.ok(text.includes(words), `${id} does not say ${words}, but ${text}`);
    }
  };
  const links = (id: string): readonly string[] =>
    [...elementsOf(byId.get(id)!)].flatMap((element) => element.attributes.get('href') ?? []);

  const saysContent = (id: string, { content }: Pick<ResponseObject, 'content'>): void => {
    for (const [type, { schema, examples = {} }] of Object.entries(content)) {
      says(id, type, ...factsOf(schema));
      for (const [name, { value }] of Object.entries(examples)) {
        says(id, name, JSON.stringify(value));
        const { code } = value as { code?: string };
        if (code !== undefined) assert.ok(links(id).includes(`#code-${code}`), `${id} ${code}`);
      }
    }
  };
  const saysResponse = (id: string, response: ResponseObject): void => {
    says(id, response.description);
    saysContent(id, response);
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      const when = header.required ? 'always' : 'sometimes';
      const facts = [when, header.description, header.example, ...factsOf(header.schema)];
      says(`${id}-${name}`, name, ...facts);
    }
  };

  test(`The reference has every operation of the description, and its parts${suffix}`, () => {
    for (const { method, path, operation } of describedOperations(description)) {
      const { operationId: id, summary, description: words, parameters = [] } = operation;
      const isOpen = operation.security?.length === 0;
      says(id, id, method, `${prefix}${path}`, summary, words);
      says(id, isOpen ? 'needs no API key' : 'needs an API key');
      assert.equal(/Deprecated/.test(textOf(byId.get(id)!)), operation.deprecated === true, id);
      for (const { name, in: where, required, schema, example = '', ...rest } of parameters) {
        const facts = [name, where, required ? 'required' : 'optional', rest.description];
        says(`${id}-${name}`, ...facts, example, ...factsOf(schema));
      }
      if (operation.requestBody === undefined) continue;
      says(id, operation.requestBody.description, 'required');
      saysContent(id, operation.requestBody);
    }
  });

  test(`The reference has every status of every operation, with its codes${suffix}`, () => {
    for (const { operation } of describedOperations(description)) {
      const resolved = new Map(describedResponses(description, operation));
      for (const [status, response] of Object.entries(operation.responses)) {
        const id = `${operation.operationId}-${status}`;
        if (!('$ref' in response)) {
          says(id, status);
          saysResponse(id, response);
          continue;
        }
        const whole = resolved.get(status)!;
        says(id, status, whole.description);
        const expected = [
          anchorOf(response.$ref),
          ...codesOf(whole).map((code) => `#code-${code}`),
        ];
        assert.deepEqual([...links(id)].sort(), expected.sort());
      }
    }
  });

  test(`The reference has every shared response and every schema with its limits${suffix}`, () => {
    const { responses, schemas, securitySchemes } = description.components;
    for (const [name, response] of Object.entries(responses)) {
      says(`responses-${name}`, name);
      saysResponse(`responses-${name}`, response);
    }
    for (const [name, schema] of Object.entries(schemas)) {
      const { properties = {}, required = [], ...own } = schema;
      says(`schemas-${name}`, name, own.description ?? '', ...factsOf(own));
      for (const [property, its] of Object.entries(properties)) {
        const presence = required.includes(property) ? 'required' : 'optional';
        const facts = [property, presence, its.description ?? '', ...factsOf(its)];
        says(`schemas-${name}-${property}`, ...facts);
      }
    }
    for (const [name, { type, scheme, description: words }] of Object.entries(securitySchemes)) {
      says('authentication', name, type, scheme, words);
    }
  });

  test(`The reference has every error code, its status, and what to do${suffix}`, () => {
    const codes = description.components.schemas['Error']!.properties!['code']!.enum!;
    const rows = [...byId.keys()].filter((id) => id.startsWith('code-'));
    assert.deepEqual(
      rows,
      codes.map((code) => `code-${code}`),
    );
    for (const [code, { status, ...words }] of Object.entries(description['x-error-codes'])) {
      says(`code-${code}`, code, status, words.description, words.remedy);
    }
  });

  test(`The reference has every text and number of the description${suffix}`, () => {
    const text = squeeze(textOf(document));
    const missing = [...wordsIn(description)].filter((words) => !text.includes(words));
    assert.deepEqual(missing, []);
  });

  test(`The reference has no other operation, schema or shared response${suffix}`, () => {
    const { schemas, responses } = description.components;
    const cards = [...elementsOf(document)].filter(
      ({ attributes }) => attributes.get('class') === 'card' && attributes.has('id'),
    );
    const operations = describedOperations(description).map(({ operation }) => operation);
    assert.deepEqual(
      cards.map(({ attributes }) => attributes.get('id')),
      [
        ...operations.map(({ operationId }) => operationId),
        ...Object.keys(schemas).map((name) => `schemas-${name}`),
      ],
    );
    const shared = [...byId.keys()].filter((id) => /^responses-[^-]+$/.test(id));
    assert.deepEqual(
      shared,
      Object.keys(responses).map((name) => `responses-${name}`),
    );
  });

  test(`Each anchor of the reference is unique, each link has a target, and each section is listed${suffix}`, async () => {
    const elements = [...elementsOf(document)];
    const contents = elements.find(({ attributes }) => attributes.get('class') === 'contents')!;
    const listed = [...elementsOf(contents)].flatMap((one) => one.attributes.get('href') ?? []);
    const headings = [...byId].filter(([, { tag }]) => tag === 'section').map(([id]) => `#${id}`);
    assert.deepEqual(listed.sort(), headings.sort());
    const ids = elements.flatMap(({ attributes }) => attributes.get('id') ?? []);
    assert.deepEqual(ids.length, new Set(ids).size);
    const base = `${service.origin}${prefix}/docs`;
    const targets = new Set(elements.flatMap(({ attributes }) => attributes.get('href') ?? []));
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

  test(`The reference has no inline script and no inline style, which its policy forbids${suffix}`, () => {
    for (const { tag, attributes } of elementsOf(document)) {
      assert.notEqual(tag, 'style');
      if (tag === 'script') assert.equal(attributes.get('src'), 'page/page/address.js');
      for (const name of attributes.keys()) assert.doesNotMatch(name, /^(style|on.*)$/);
    }
  });

  const POSIX = { skip: process.platform === 'win32' && 'needs a POSIX shell' };

  test(`Each curl line of the reference does what its operation says${suffix}`, POSIX, async () => {
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
}

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

function codesOf({ content }: ResponseObject): readonly string[] {
  const examples = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
  return [...new Set(examples.map(({ value }) => (value as { code: string }).code))];
}

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
