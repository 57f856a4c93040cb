/**
 * What this service does with every request: credentials, paths, methods, media types, and the
 * header fields of a response. The specification says nothing of it. The kit asks the same of other
 * services, as far as fetch can say it; here it is asked byte by byte, with this service's codes.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ServiceResponse } from '../../src/kit/test-client.ts';
import { KEY } from '../support/http/service.ts';
import { assertError, message, openOwnService, REX, testRefused } from './own-client.ts';

const { client } = await openOwnService({ after });

const CHUNKED = 'Transfer-Encoding: chunked';
const REX_LENGTH = `Content-Length: ${REX.length}`;
const NO_KEY = { Authorization: '' };

/** Sends one request as its bytes, which fetch would normalise first. */
async function sendRaw(
  line: string,
  fields: readonly string[] = [],
  body = '',
): Promise<ServiceResponse | undefined> {
  return (await client.exchange(message(line, fields, body)))[0];
}

/** What a request without a valid key is 401 to, whatever else is wrong with it. */
const WITHOUT_KEY: readonly [line: string, fields?: readonly string[], body?: string][] = [
  ...['', '/', '/nothing', '/pets/', '/pets/%zz', '/pets?limit=0', '/pets?a=%zz'].map(
    (path): [string] => [`GET /v1${path}`],
  ),
  ['GET /v%31/nothing'],
  ['GET http://host/v1/pets'],
  ['OPTIONS /v1/pets'],
  ['DELETE /v1/pets'],
  ['POST /v1/pets', ['Content-Length: 1'], '{'],
  ['POST /v1/pets', ['Content-Length: 3000000'], '{'],
  ['POST /v1/pets', [CHUNKED], '1\r\n{\r\n0\r\n\r\n'],
  ['POST /v1/pets', ['Content-Type: text/plain', REX_LENGTH], REX],
  ['POST /v1/pets', ['Content-Encoding: gzip', REX_LENGTH], REX],
  ['POST /v1/pets', ['Expect: 100-continue', REX_LENGTH], ''],
  ['POST /v1/pets', ['Expect: a-miracle', REX_LENGTH], REX],
];

async function sendWith(
  bytes: string,
  authorization: string,
): Promise<ServiceResponse | undefined> {
  const sent = bytes.replace(/Authorization: .*\r\n/, () => authorization);
  return (await client.exchange(sent))[0];
}

for (const [what, line] of [
  ['without a key', ''],
  ['with a wrong key', 'Authorization: Bearer wrong\r\n'],
] as const) {
  testRefused(
    `Under /v1 authentication comes first, ${what}`,
    'unauthorized',
    WITHOUT_KEY,
    (given) => sendWith(message(...given), line),
  );
}

testRefused('Of two Authorization lines neither counts', 'unauthorized', ['wrong', KEY], (key) =>
  sendRaw('GET /v1/pets', [`Authorization: Bearer ${key}`]),
);

testRefused(
  'A key in the query or in another header field is no credential',
  'unauthorized',
  ['?access_token=KEY', '?api_key=KEY', ''],
  (query) => {
    const headers = { ...NO_KEY, 'X-Api-Key': KEY, Cookie: `key=${KEY}` };
    return client.send('GET', `/pets${query.replace('KEY', KEY)}`, headers);
  },
);

/** Those that fetch would change before it sends them. */
const UNKNOWN_PATHS = [
  ...[
    '/v1/./pets',
    '/v1/../v1/pets',
    '/v1/pets/../pets',
    '//v1/pets',
    '/v1\\pets',
    '/pets',
    '/v2/pets',
  ],
  ...['/v1%2fpets', '/v1/%2570ets', '/v1/pets%3Flimit=1', '/v1/pets;a=b', '/v1/pets%00'],
];
const SAME_PATHS = ['/v1/p%65ts', '/%76%31/%70%65%74%73', '/v1/pets?', 'http://h/v1/pets'];
const BROKEN_TARGETS = ['%', '%3g', '%FF'].flatMap((text) => [
  ...[`/v1/pets/${text}`, `/v1/${text}`, `/${text}`, `/v1/pets/1/${text}`],
  ...[`/v1/pets?${text}`, `/v1/pets?limit=1&a=b&${text}=c`, `/v1/pets/1?a=${text}`],
]);

testRefused('A path that does not match exactly', 'unknown_path', UNKNOWN_PATHS, (path) =>
  sendRaw(`GET ${path}`),
);

testRefused(
  'Broken encoding in a path or a query',
  'malformed_request',
  BROKEN_TARGETS,
  (target) => sendRaw(`GET ${target}`),
  /path|query/,
);

test('A path segment is percent-decoded, once', async () => {
  const list = (await client.get('/pets')).text;
  for (const path of SAME_PATHS) assert.equal((await sendRaw(`GET ${path}`))?.text, list, path);
  const { id, response } = await client.add(REX);
  const digits = [...String(id)].map((digit) => `%3${digit}`).join('');
  assert.equal((await sendRaw(`GET /v1/pets/${digits}`))?.text, response.text);
  for (const petId of ['%2531', '1%2F2', '%C3%A9', '%c3%a9']) {
    assertError(await sendRaw(`GET /v1/pets/${petId}`), 'not_found', petId);
  }
});

const ALLOW: readonly [path: string, allow: string][] = [
  ['/v1/pets', 'GET, HEAD, OPTIONS, POST'],
  ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
  ['/v1/pets/no-id', 'GET, HEAD, OPTIONS'],
  ['/livez', 'GET, HEAD, OPTIONS'],
  ['/readyz', 'GET, HEAD, OPTIONS'],
  ['/openapi.json', 'GET, HEAD, OPTIONS'],
  ['/metrics', 'GET, HEAD, OPTIONS'],
];
const HEADS = ['/v1/pets', '/v1/pets?limit=1', '/livez', '/readyz', '/openapi.json', '/v1/pets/0'];

function allowOf(response: ServiceResponse | undefined): string {
  return (response?.headers.get('Allow') ?? '').split(', ').sort().join(', ');
}

test('Another method is 405 with Allow', async () => {
  for (const [path, allow] of ALLOW) {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'M-SEARCH']) {
      const response = await sendRaw(`${method} ${path}`);
      assert.ok(assertError(response, 'method_not_allowed', path).includes(method), path);
      assert.equal(allowOf(response), allow, `${method} ${path}`);
    }
  }
});

test('OPTIONS is 204 with Allow', async () => {
  for (const [path, allow] of [...ALLOW, ['*', 'GET, HEAD, OPTIONS, POST']] as const) {
    const response = await sendRaw(`OPTIONS ${path}`);
    assert.deepEqual([response?.status, response?.text], [204, ''], path);
    assert.equal(allowOf(response), allow, path);
    assert.equal(response?.headers.get('Content-Length'), null, path);
  }
});

test('HEAD is supported wherever GET is, with the same header fields', async () => {
  for (const path of HEADS) {
    const get = await sendRaw(`GET ${path}`);
    const [head, ...rest] = await client.exchange(message(`HEAD ${path}`));
    assert.deepEqual([head?.status, rest.length], [get?.status, 0], path);
    for (const field of ['Content-Type', 'Content-Length', 'Link', 'Deprecation']) {
      assert.equal(head?.headers.get(field), get?.headers.get(field), `${path}: ${field}`);
    }
  }
});

const JSON_TYPES = [
  ...['application/json', 'Application/JSON', 'application/json; charset=utf-8'],
  ...['application/json;charset="a\\"b"', 'Application/JSON ; charset="utf-8, or so"'],
];
const JSON_LINE = 'Content-Type: application/json';
const OTHER_TYPES: readonly (readonly string[])[] = [
  ...[
    ...['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'json', '*/*', ''],
    ...['application/jsonx', 'application/json x', 'xapplication/json', 'application'],
    ...['application/ld+json', 'application/json, text/json', 'application/json; a, b'],
  ].map((type) => [`Content-Type: ${type}`]),
  [JSON_LINE, JSON_LINE],
  [JSON_LINE, 'Content-Type: text/plain'],
  ['Content-Type: text/plain', JSON_LINE],
  ...['gzip', 'deflate', 'br', 'identity', ''].map((coding) => [
    `Content-Encoding: ${coding}`,
    JSON_LINE,
  ]),
];

test('POST takes application/json, with parameters, or no type', async () => {
  for (const type of JSON_TYPES) {
    assert.equal((await client.post(REX, { 'Content-Type': type })).status, 201, type);
  }
  assert.equal((await sendRaw('POST /v1/pets', [REX_LENGTH], REX))?.status, 201);
});

testRefused(
  'POST with another Content-Type or any Content-Encoding',
  'unsupported_media_type',
  OTHER_TYPES,
  (fields) => sendRaw('POST /v1/pets', [...fields, REX_LENGTH], REX),
);

test('Request body: none, and one that is sent all the same is ignored', async () => {
  const expected = (await client.get('/pets?limit=1')).text;
  const fields = ['Content-Length: 7', 'Accept: text/html'];
  const responses = await client.exchange(message('GET /v1/pets?limit=1', fields, '{"a":1}'));
  const texts = responses.map(({ text }) => text);
  assert.deepEqual(texts, [expected]);
});

test('Responses are application/json, with Content-Length in bytes', async () => {
  const { id, response } = await client.add('{"name":"é😀","categoryId":1}');
  assert.equal(response.text, `{"id":${id},"name":"é😀","categoryId":1}`);
  for (const { headers, text } of [
    response,
    await client.get(`/pets/${id}`),
    await client.get(`/pets?after=${id - 1n}`),
    await client.sendBeside('GET', '/livez', NO_KEY),
    await client.sendBeside('GET', '/readyz', NO_KEY),
    await client.sendBeside('GET', '/openapi.json', NO_KEY),
  ]) {
    assert.equal(headers.get('Content-Type'), 'application/json');
    assert.equal(headers.get('Content-Length'), String(Buffer.byteLength(text)));
    assert.equal(headers.get('X-Content-Type-Options'), 'nosniff');
  }
  assert.equal(response.headers.get('Cache-Control'), 'no-store');
});

const METRIC = /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[^{}]*\})? [0-9.e+]+)$/;

test('GET /metrics needs a key, and is the text of Prometheus', async () => {
  const without = await client.sendBeside('GET', '/metrics', NO_KEY);
  assertError(without, 'unauthorized');
  assert.match(without.headers.get('WWW-Authenticate') ?? '', /^Bearer /);
  const { status, headers, text } = await client.sendBeside('GET', '/metrics');
  assert.equal(status, 200);
  assert.match(headers.get('Content-Type') ?? '', /^text\/plain; version=0\.0\.4/);
  for (const line of text.trimEnd().split('\n')) assert.match(line, METRIC);
  assert.match(text, /^petstore_pets\{/m);
});
