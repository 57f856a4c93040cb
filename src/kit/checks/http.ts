/**
 * What this service does with every request: credentials, paths, methods, media types, and what it
 * adds to a response. The interface says nothing of it.
 */

import assert from 'node:assert/strict';
import { onHttp, type Check } from '../check.ts';
import { REX, type Client, type ServiceResponse } from '../client.ts';
import { assertError, atOnce, refusalOnHttp } from '../codes.ts';

const CHUNKED = 'Transfer-Encoding: chunked';
const REX_LENGTH = `Content-Length: ${REX.length}`;

/** Sends one request as its bytes, which fetch would tidy up first. */
async function sendRaw(
  client: Client,
  line: string,
  fields: readonly string[] = [],
  body = '',
): Promise<ServiceResponse | undefined> {
  return (await client.exchange(client.message(line, fields, body)))[0];
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

const sendWith = (
  client: Client,
  bytes: string,
  authorization: string,
): Promise<readonly ServiceResponse[]> =>
  client.exchange(bytes.replace(/Authorization: .*\r\n/, () => authorization));

/** Authorization lines that are not exactly one with the key. */
const BAD_LINES: readonly (readonly string[])[] = [
  ['Bearer KEY', 'Bearer KEY'],
  ['Bearer wrong', 'Bearer KEY'],
  ['Bearer KEY', 'Bearer wrong'],
  ['Bearer KEY', ''],
  ['Bearer KEY KEY'],
  ['Bearer KEY,KEY'],
  ['Bearer "KEY"'],
  ['BearerKEY'],
  ['Basic KEY'],
  ['Bearer Bearer KEY'],
  ['Bearer \u00ff\u00fe'],
  [`Bearer ${'x'.repeat(8000)}`],
];
const GOOD_LINES = ['bearer KEY', 'BEARER KEY', 'bEaReR KEY', 'Bearer   KEY', ' Bearer KEY  '];

const linesOf = (client: Client, values: readonly string[]): string =>
  values.map((value) => `Authorization: ${value.replaceAll('KEY', client.key)}\r\n`).join('');

const authentication: readonly Check[] = [
  ...['', 'Authorization: Bearer wrong\r\n'].flatMap((line) =>
    refusalOnHttp({
      name: line === '' ? 'no-key-first' : 'wrong-key-first',
      sentence: `Under /v1 authentication comes first, ${line === '' ? 'without a key' : 'with a wrong one'}`,
      code: 'unauthorized',
      cases: WITHOUT_KEY,
      send: async (client, given) => (await sendWith(client, client.message(...given), line))[0],
    }),
  ),
  ...refusalOnHttp({
    name: 'one-line',
    sentence: 'Exactly one Authorization line counts, with exactly the key',
    code: 'unauthorized',
    cases: BAD_LINES,
    send: async (client, values) =>
      (await sendWith(client, client.message('GET /v1/pets'), linesOf(client, values)))[0],
  }),
  ...refusalOnHttp({
    name: 'key-elsewhere',
    sentence: 'A key in the query or in another header field is no credential',
    code: 'unauthorized',
    cases: ['?access_token=KEY', '?api_key=KEY', ''],
    send: (client, query) => {
      const headers = { Authorization: '', 'X-Api-Key': client.key, Cookie: `key=${client.key}` };
      return client.send('GET', `/pets${query.replace('KEY', client.key)}`, headers);
    },
  }),
  onHttp('scheme', "The scheme's name is case-insensitive", (client) =>
    atOnce(client, GOOD_LINES, async (own, value) => {
      const bytes = own.message('GET /v1/pets');
      const [response] = await sendWith(own, bytes, linesOf(own, [value]));
      assert.equal(response?.status, 200, `${value}: the status`);
    }),
  ),
  onHttp(
    'challenge',
    '401 carries WWW-Authenticate, with an error only when a Bearer token was sent',
    async (client) => {
      for (const [value, error] of [
        ['Bearer wrong', ', error="invalid_token"'],
        ['Basic OnB3', ''],
        ['Bearer', ''],
        ['', ''],
      ] as const) {
        const { headers } = await client.send('GET', '/pets', { Authorization: value });
        const expected = `Bearer realm="petstore"${error}`;
        assert.equal(headers.get('WWW-Authenticate'), expected, value);
      }
    },
  ),
];

const UNKNOWN_PATHS = [
  ...['/v1', '/v1/', '/v1/pet', '/v1/pets/1/2', '/v1/pets.json', '/x', '/nothing', '/v2/pets'],
  ...['/v1/pets/', '//v1/pets', '/v1//pets', '/V1/pets', '/v1/Pets', '/v1/pets//', '/v1.0/pets'],
  ...['/v1/./pets', '/v1/../v1/pets', '/x/../v1/pets', '/v1/pets/../pets', '/v1/pets/1/'],
  ...['/v1%2fpets', '/v1%2Fpets', '/v1/pets%20', '/v1/%2570ets', '/v1/pets%3Flimit=1'],
  ...['/v1/pets;a=b', '/v1\\pets', '/v1/pets%00', '/v01/pets', '/v1pets', '/pets'],
];
const SAME_PATHS = ['/v1/p%65ts', '/%76%31/%70%65%74%73', '/v1/pets?', 'http://h/v1/pets'];
const BROKEN = ['%', '%zz', '%3', '%3g', '%C3', '%FF', '%C0%80', '%ED%A0%80', '1%', '%u0031'];
const BROKEN_TARGETS = BROKEN.flatMap((text) => [
  ...[`/v1/pets/${text}`, `/v1/${text}`, `/${text}`, `/v1/pets/1/${text}`],
  ...[`/v1/pets?${text}`, `/v1/pets?limit=1&a=b&${text}=c`, `/v1/pets/1?a=${text}`],
]);

const paths: readonly Check[] = [
  ...refusalOnHttp({
    name: 'paths',
    sentence: 'Paths match exactly: any other is 404',
    code: 'unknown_path',
    cases: UNKNOWN_PATHS.flatMap((path) => [`GET ${path}`, `POST ${path}`, `OPTIONS ${path}`]),
    send: (client, line) => sendRaw(client, line),
  }),
  ...refusalOnHttp({
    name: 'broken-encoding',
    sentence: 'Broken encoding is 400 in a path and in a query',
    code: 'malformed_request',
    cases: BROKEN_TARGETS,
    send: (client, target) => sendRaw(client, `GET ${target}`),
    message: /path|query/,
  }),
  onHttp('decoded', 'A path segment is percent-decoded, once', async (client) => {
    const list = (await client.get('/pets')).text;
    for (const path of SAME_PATHS) {
      assert.equal((await sendRaw(client, `GET ${path}`))?.text, list, path);
    }
    const { id, response } = await client.add(REX);
    const digits = [...String(id)].map((digit) => `%3${digit}`).join('');
    assert.equal((await sendRaw(client, `GET /v1/pets/${digits}`))?.text, response.text);
    for (const petId of ['%2531', '1%2F2', '%C3%A9', '%c3%a9']) {
      assertError(await sendRaw(client, `GET /v1/pets/${petId}`), 'not_found', petId);
    }
  }),
];

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

const methods: readonly Check[] = [
  onHttp('method', 'Another method is 405 with Allow', (client) =>
    atOnce(client, ALLOW, async (own, [path, allow]) => {
      for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'M-SEARCH']) {
        const response = await sendRaw(own, `${method} ${path}`);
        assert.ok(assertError(response, 'method_not_allowed', path).includes(method), path);
        assert.equal(allowOf(response), allow, `${method} ${path}: Allow`);
      }
    }),
  ),
  onHttp('options', 'OPTIONS is 204 with Allow', (client) =>
    atOnce(
      client,
      [...ALLOW, ['*', 'GET, HEAD, OPTIONS, POST']] as const,
      async (own, [path, allow]) => {
        const response = await sendRaw(own, `OPTIONS ${path}`);
        assert.deepEqual([response?.status, response?.text], [204, ''], `${path}: status and body`);
        assert.equal(allowOf(response), allow, `${path}: Allow`);
        assert.equal(response?.headers.get('Content-Length'), null, `${path}: Content-Length`);
      },
    ),
  ),
  onHttp('head', 'HEAD wherever GET is: the same header', (client) =>
    atOnce(client, HEADS, async (own, path) => {
      const get = await sendRaw(own, `GET ${path}`);
      const [head, ...rest] = await own.exchange(own.message(`HEAD ${path}`));
      assert.deepEqual([head?.status, rest.length], [get?.status, 0], path);
      for (const field of ['Content-Type', 'Content-Length', 'Link', 'Deprecation']) {
        assert.equal(head?.headers.get(field), get?.headers.get(field), `${path}: ${field}`);
      }
    }),
  ),
];

const JSON_TYPES = [
  ...['application/json', 'Application/JSON', 'application/json; charset=utf-8'],
  ...['application/json;charset=UTF-8', 'application/json ; a="b"'],
];
const JSON_LINE = 'Content-Type: application/json';
const OTHER_TYPES: readonly (readonly string[])[] = [
  ...[
    ...['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'json', '*/*', ''],
    ...['application/jsonx', 'application/json x', 'xapplication/json', 'application'],
    ...['application/ld+json', 'application/json, text/json'],
  ].map((type) => [`Content-Type: ${type}`]),
  [JSON_LINE, JSON_LINE],
  [JSON_LINE, 'Content-Type: text/plain'],
  ...['gzip', 'deflate', 'br', 'identity', ''].map((coding) => [
    `Content-Encoding: ${coding}`,
    JSON_LINE,
  ]),
];

const mediaTypes: readonly Check[] = [
  onHttp(
    'json-type',
    'POST takes application/json, with parameters, or no type',
    async (client) => {
      for (const type of JSON_TYPES) {
        assert.equal((await client.post(REX, { 'Content-Type': type })).status, 201, type);
      }
      const response = await sendRaw(client, 'POST /v1/pets', [REX_LENGTH], REX);
      assert.equal(response?.status, 201, 'the status without a Content-Type');
      const size = REX.length - 5;
      const chunks = `5;a=b\r\n${REX.slice(0, 5)}\r\n${size.toString(16)}\r\n${REX.slice(5)}\r\n`;
      const chunked = await sendRaw(
        client,
        'POST /v1/pets',
        [CHUNKED],
        `${chunks}0\r\nX: 1\r\n\r\n`,
      );
      assert.equal(chunked?.status, 201, 'the status in chunks, with extension and trailer');
    },
  ),
  ...refusalOnHttp({
    name: 'other-type',
    sentence: 'POST with another Content-Type or any Content-Encoding is 415',
    code: 'unsupported_media_type',
    cases: OTHER_TYPES,
    send: (client, fields) => sendRaw(client, 'POST /v1/pets', [...fields, REX_LENGTH], REX),
  }),
  onHttp(
    'get-body',
    'Request body: none, and one that is sent all the same is ignored',
    async (client) => {
      const expected = (await client.get('/pets?limit=1')).text;
      const fields = ['Content-Length: 7', 'Accept: text/html'];
      const answered = await client.exchange(
        client.message('GET /v1/pets?limit=1', fields, '{"a":1}'),
      );
      assert.deepEqual(
        answered.map(({ text }) => text),
        [expected],
        'the responses',
      );
    },
  ),
];

const METRIC = /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[^{}]*\})? [0-9.e+]+)$/;
const NO_KEY = { Authorization: '' };

const fields: readonly Check[] = [
  onHttp('location', '201 carries Location, which leads to the pet', async (client) => {
    const { id, response } = await client.add(REX);
    const location = response.headers.get('Location');
    assert.equal(location, `/v1/pets/${id}`, 'Location');
    assert.equal((await client.sendBeside('GET', `/v1/pets/${id}`)).text, response.text);
  }),
  onHttp('length', 'Answers are application/json, with Content-Length in bytes', async (client) => {
    const { id, response } = await client.add('{"name":"😀","categoryId":1}');
    for (const { headers, text } of [
      response,
      await client.get(`/pets/${id}`),
      await client.get(`/pets?after=${id - 1n}`),
      await client.sendBeside('GET', '/livez', NO_KEY),
      await client.sendBeside('GET', '/readyz', NO_KEY),
      await client.sendBeside('GET', '/openapi.json', NO_KEY),
    ]) {
      assert.equal(headers.get('Content-Type'), 'application/json', 'the Content-Type');
      assert.equal(headers.get('Content-Length'), String(Buffer.byteLength(text)), 'the length');
      assert.equal(headers.get('X-Content-Type-Options'), 'nosniff');
    }
    assert.equal(response.headers.get('Cache-Control'), 'no-store', 'Cache-Control');
  }),
  onHttp('metrics', 'GET /metrics needs a key, and is the text of Prometheus', async (client) => {
    const without = await client.sendBeside('GET', '/metrics', NO_KEY);
    assertError(without, 'unauthorized');
    assert.match(without.headers.get('WWW-Authenticate') ?? '', /^Bearer /);
    const { status, headers, text } = await client.sendBeside('GET', '/metrics');
    assert.equal(status, 200, 'the status');
    assert.match(headers.get('Content-Type') ?? '', /^text\/plain; version=0\.0\.4/);
    for (const line of text.trimEnd().split('\n')) assert.match(line, METRIC);
    assert.match(text, /^petstore_pets\{/m);
  }),
];

export const http: readonly Check[] = [authentication, paths, methods, mediaTypes, fields].flat();
