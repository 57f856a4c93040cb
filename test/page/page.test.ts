/**
 * The page for people, as the service sends it: its files, header fields, where it is off, and what
 * the 404 of another path suggests. And the reference at /docs compared with the description at
 * /openapi.json: each part of one is in the other, at the anchor where a reader expects it.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { parseArgs } from 'node:util';
import { cut } from '../../src/core/base/quote.ts';
import { createClient } from '../../src/extras/client/client.ts';
import type { Named, OpenApi } from '../../src/extras/web/openapi/types.ts';
import { curlLine, quoted } from '../../src/extras/web/page/curl-line.ts';
import { describedOperations } from '../support/description/description.ts';
import { KEY, openService, type Service } from '../support/http/service.ts';
import { ask, assertErrorAnswer } from '../support/http/wire.ts';

const POSIX = { skip: process.platform === 'win32' && 'needs a POSIX shell' };

const CURL = {
  header: { type: 'string', short: 'H', multiple: true, default: [] as string[] },
  data: { type: 'string', short: 'd' },
} as const;

/** Runs a curl line in a shell, without curl. Returns the request that curl would send. */
function runCurl(line: string, env: Record<string, string>): { url: string } & RequestInit {
  const script = `curl() { printf '%s\\0' "$@"; }; ${line}`;
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env });
  const args = stdout.split('\0').slice(0, -1);
  const { values, positionals } = parseArgs({ args, options: CURL, allowPositionals: true });
  assert.equal(positionals.length, 1, stdout);
  const headers = values.header.map((field) => field.split(': ') as [string, string]);
  const { data } = values;
  const method = data === undefined ? 'GET' : 'POST';
  return { url: positionals[0]!, method, headers, body: data ?? null };
}

/** With a prefix, so that each address below shows whether it has the prefix. */
const PREFIX = '/shop';
const service = await openService({ after }, { page: true, prefix: PREFIX });

async function textAt(path: string): Promise<string> {
  const response = await fetch(`${service.origin}${PREFIX}${path}`);
  assert.ok(response.ok, path);
  return response.text();
}

// 64-bit bounds become strings, since JSON.parse rounds them.
const json = (await textAt('/openapi.json')).replace(/:(-?[0-9]{16,})/g, ':"$1"');
const description = JSON.parse(json) as OpenApi;
const html = await textAt('/docs');
/** The HTML by anchor: from the element with this id to the next one. */
const pieces = Array.from(html.matchAll(/<[^>]* id="([^"]+)"[^]*?(?=<[^>]* id="|$)/g));

/** Returns the HTML at an anchor and at those below it: `getPet`, `getPet-404` and others. */
function htmlAt(anchor: string): string {
  const found = pieces.filter(([, id]) => id === anchor || id!.startsWith(`${anchor}-`));
  return found.map(([piece]) => piece).join('');
}

const REFERENCES: Named<string> = { '&amp;': '&', '&lt;': '<', '&quot;': '"' };

function textOf(part: string): string {
  return part.replaceAll(/<[^>]*>/g, '').replaceAll(/&\w+;/g, (found) => REFERENCES[found]!);
}

/** Each anchor of the reference, with the part of the description that a reader finds there. */
const parts = new Map<string, readonly unknown[]>();
for (const { method, path, operation, responses: whole } of describedOperations(description)) {
  const { operationId: id, tags: _, security, responses, ...rest } = operation;
  const access = security?.length === 0 ? 'needs no API key' : 'needs an API key';
  parts.set(id, [id, method, `${PREFIX}${path}`, access, rest]);
  for (const { name, ...facts } of operation.parameters ?? []) parts.set(`${id}-${name}`, [facts]);
  for (const [status, response] of Object.entries(responses)) {
    const isShared = '$ref' in response;
    addResponse(`${id}-${status}`, isShared ? whole.get(status)!.description : response);
    if (isShared)
      assert.ok(htmlAt(`${id}-${status}`).includes(`href="${anchorOf(response.$ref)}"`));
  }
}
const { responses, schemas } = description.components;
for (const [name, response] of Object.entries(responses))
  addResponse(`responses-${name}`, response);
for (const [name, schema] of Object.entries(schemas)) {
  parts.set(`schemas-${name}`, [name, schema]);
  for (const [property, its] of Object.entries(schema.properties ?? {})) {
    const presence = schema.required?.includes(property) ? 'required' : 'optional';
    parts.set(`schemas-${name}-${property}`, [property, presence, its]);
  }
}
for (const [code, meaning] of Object.entries(description['x-error-codes'])) {
  parts.set(`code-${code}`, [code, meaning]);
}

function addResponse(id: string, part: string | OpenApi['components']['responses'][string]): void {
  parts.set(id, [part]);
  const { headers = {} } = typeof part === 'string' ? {} : part;
  for (const [name, { required, ...field }] of Object.entries(headers)) {
    parts.set(`${id}-${name}`, [name, required ? 'always' : 'sometimes', field]);
  }
}

function anchorOf(ref: string): string {
  return `#${ref.split('/').slice(-2).join('-')}`;
}

test('The reference has each part of the description at its anchor, and no other part', () => {
  for (const [id, facts] of parts) {
    const text = squeeze(textOf(htmlAt(id)));
    for (const words of wordsIn(facts)) {
      assert.ok(text.includes(words), `${id} does not have ${words}, but ${text}`);
    }
  }
  const all = squeeze(textOf(html));
  for (const words of wordsIn({ ...description, paths: {}, components: {} })) {
    assert.ok(all.includes(words), words);
  }
  for (const { operation } of describedOperations(description)) {
    const isMarked = htmlAt(operation.operationId).includes('>Deprecated<');
    assert.equal(isMarked, operation.deprecated === true, operation.operationId);
    const hasHeading = htmlAt(operation.operationId).includes('>Parameters<');
    assert.equal(hasHeading, operation.parameters !== undefined, operation.operationId);
  }
  const ids = pieces.map(([, id]) => id!);
  const chapters = Array.from(html.matchAll(/<section id="([^"]+)"/g), ([, id]) => id!);
  const others = ['main', 'as-curl', 'as-javascript'];
  assert.deepEqual(ids.sort(), [...parts.keys(), ...chapters, ...others].sort());
  // A dot separates facts, and begins none.
  assert.doesNotMatch(html, /<dd class="hint"> ·/);
  // Each path of the pets, in an example or a message, has the prefix.
  assert.deepEqual(textOf(html).match(/(?<!\/shop)\/v1\/pets\S*/g), null);
});

test('Each link of the reference has a target, and each section is in the contents', async () => {
  const hrefsIn = (part: string): readonly string[] =>
    Array.from(part.matchAll(/href="([^"]+)"/g), ([, href]) => href!);
  const [contents = ''] = /<nav aria-label="Contents">[^]*<\/nav>/.exec(html) ?? [];
  const headings = Array.from(html.matchAll(/<section[^>]* id="([^"]+)"/g), ([, id]) => `#${id}`);
  assert.deepEqual([...hrefsIn(contents)].sort(), headings.sort());
  const targets = new Set(hrefsIn(html));
  assert.ok(targets.size > 50);
  for (const target of targets) {
    if (target.startsWith('#')) assert.ok(html.includes(` id="${target.slice(1)}"`), target);
    else if (!target.startsWith('data:')) await textAt(`/${target}`);
  }
  for (const to of ['./', 'docs', 'openapi.json']) assert.ok(targets.has(to), to);
  for (const code of new Set(json.match(/(?<="code":")\w+/g)))
    assert.ok(targets.has(`#code-${code}`));
});

test('Each element of the page and the reference is closed, and each & escaped', async () => {
  for (const document of [html, await textAt('/')]) {
    const open: string[] = [];
    for (const [, slash, tag = ''] of document.matchAll(/<(\/?)([a-z]\w*)/g)) {
      if (slash === '/') assert.equal(open.pop(), tag);
      else if (!/^(meta|link|input|wbr)$/.test(tag)) open.push(tag);
    }
    assert.deepEqual(open, ['html']);
    assert.doesNotMatch(document, /&(?!(amp|lt|quot);)/);
  }
});

/** Returns the examples in a language, in the part of the reference. */
function samplesIn(part: string, language: string): readonly string[] {
  const found = part.matchAll(/<div class="sample (\S+)-sample[^]*?<pre>([^]*?)<\/pre>/g);
  return Array.from(found).flatMap(([, name, text]) => (name === language ? textOf(text!) : []));
}

test('Each curl line of the reference does what its operation says', POSIX, async () => {
  await service.app.pets.create({ name: 'Rex', categoryId: 7n });
  for (const { operation } of describedOperations(description)) {
    const [line = '', ...others] = samplesIn(htmlAt(operation.operationId), 'curl');
    assert.deepEqual(others, []);
    const { url, ...init } = runCurl(line, { PETSTORE: service.origin, API_KEY: KEY });
    const { status } = await fetch(url, init);
    assert.ok(status < 300 && String(status) in operation.responses, `${line}: ${status}`);
  }
});

test('Each JavaScript example of the reference does what its operation says', async () => {
  await service.app.pets.create({ name: 'Rex', categoryId: 7n });
  const [start = '', ...calls] = samplesIn(html, 'javascript');
  assert.equal(calls.length, 3);
  const opened = start
    .replace(/^import .*$/m, '')
    .replace('http://127.0.0.1:8080', service.origin)
    .replace('…', KEY);
  const program = [opened, ...calls.map((call) => `{ ${call} }`)].join('\n');
  await (new AsyncFunction('createClient', program) as typeof runNothing)(createClient);
});

const runNothing = async (_: typeof createClient): Promise<unknown> => undefined;
const AsyncFunction = runNothing.constructor as FunctionConstructor;

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

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS = {
  'Content-Security-Policy': CSP,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Set-Cookie': null,
};

const ADDRESSES = {
  '/': 'text/html',
  '/docs': 'text/html',
  '/page/style.css': 'text/css',
  '/page/extras/web/page/main.js': 'text/javascript',
  // Only other modules import it.
  '/page/core/base/int64.js': 'text/javascript',
};

const OTHERS = [
  'server.js',
  'extras/client/client.ts',
  '..%2fserver.js',
  '',
  '/extras/web/page/main.js',
];

test('The page and its files need no API key, and have a strict Content-Security-Policy', async (t) => {
  const { origin } = await openService(t, { page: true, prefix: '/shop' });
  const off = await openService(t);
  for (const [path, type] of Object.entries(ADDRESSES)) {
    const response = await fetch(`${origin}/shop${path}`);
    assert.equal(response.status, 200, path);
    assert.ok((await response.text()).length > 100);
    const expected = { ...HEADERS, 'Content-Type': `${type}; charset=utf-8` };
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(response.headers.get(name), value, `${path} ${name}`);
    }
    // An embedded app has no page by default, and with a prefix none outside of it.
    for (const other of [origin, off.origin]) {
      assert.equal((await fetch(`${other}${path}`)).status, 404, path);
    }
  }
  for (const name of OTHERS) {
    assert.equal((await fetch(`${origin}/shop/page/${name}`)).status, 404, name);
  }
  for (const path of ['/', '/docs']) {
    for (const [method, status] of Object.entries({ HEAD: 200, OPTIONS: 204, POST: 405 })) {
      const { status: got, headers } = await fetch(`${origin}/shop${path}`, { method });
      assert.equal(got, status);
      assert.equal(headers.get('Allow'), method === 'HEAD' ? null : 'GET, HEAD, OPTIONS');
    }
  }
});

test('A shell passes a curl line to curl unchanged, whatever a name contains', POSIX, () => {
  const url = 'http://127.0.0.1:8080/v1/pets?status=sold';
  for (const name of ["O'Hara", '$HOME `id` $(id) "\\', "'; id; '", '-d @/etc/passwd', '\n']) {
    const body = JSON.stringify({ name });
    const headers = [
      ['Authorization', 'Bearer a-key'],
      ['Idempotency-Key', 'a-request'],
      ['Content-Type', 'application/json'],
    ];
    const line = curlLine({ url: quoted(url), idempotencyKey: 'a-request', body });
    const sent = runCurl(line, { API_KEY: 'a-key' });
    assert.deepEqual(sent, { url, method: 'POST', headers, body });
  }
});

// The hints of path-hint.ts, which a 404 of an unknown path has in its message.

type Hints = readonly (readonly [path: string, hint: string])[];

/** Paths below the prefix, and the path that each probably means, if there is one. */
const HINTS: Hints = [
  ['/v1/v1/pets', '/v1/pets'],
  ['/v1/pets/', '/v1/pets'],
  ['/v1/pet', '/v1/pets'],
  ['/pets', '/v1/pets'],
  ['/v1/pet/7', '/v1/pets/7'],
  ['//', '/'],
  ['//v1//pets', '/v1/pets'],
  ['/V1/Pets', '/v1/pets'],
  ['/v2/pets', '/v1/pets'],
  ['/api/v1/p%65ts', '/v1/pets'],
  ['/v1/livez', '/livez'],
  ['/doc', '/docs'],
  // Two mistakes, or a name that is only similar, get no suggestion.
  ['/ready', ''],
  ['/pet', ''],
  ['/v1/cats', ''],
  ['/v1/dogs', ''],
  ['/v1', ''],
  ['/v1/pets/1/2', ''],
  [`/${'a/'.repeat(95)}pets`, '/v1/pets'],
  [`/${'a/'.repeat(100)}pets`, ''],
];

for (const prefix of ['', '/shop']) {
  test(`The 404 of an unknown path has a hint, with the prefix "${prefix}"`, async (t) => {
    const service = await openService(t, { prefix, page: true });
    // Below a prefix the page's own path may lack its slash.
    const hints = prefix === '' ? HINTS : ([['', '/'], ...HINTS] as const);
    for (const [path, meant] of hints) {
      const means = `, did you mean ${prefix}${meant}?`;
      const hint = meant === '' ? `: ${prefix}/docs lists all paths` : means;
      await assertHint(service, `${prefix}${path}`, hint);
    }
  });
}

/** Paths and hints of a service with the prefix /shop and without a page. */
const OUTSIDE: Hints = [
  ['/shop/doc', ': /shop/openapi.json lists all paths'],
  ['/livez', ': every path begins with /shop/, did you mean /shop/livez?'],
  ['/shopping', ': every path begins with /shop/'],
  [`/shop/pets/${'7'.repeat(100)}`, `, did you mean /shop/v1/pets/${'7'.repeat(46)}…?`],
];

test('A hint names the prefix and a page only if the service has them, and is truncated', async (t) => {
  const service = await openService(t, { prefix: '/shop' });
  for (const [path, hint] of OUTSIDE) await assertHint(service, path, hint);
});

async function assertHint(service: Service, path: string, hint: string): Promise<void> {
  const answer = await ask(service, `POST ${path}?x`);
  // The bytes of an answer are read as latin1.
  const message = Buffer.from(assertErrorAnswer(answer, 'unknown_path', path), 'latin1').toString();
  assert.equal(message, `Unknown path ${cut(path)}${hint}`);
}
