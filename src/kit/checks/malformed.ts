/**
 * Failures of HTTP itself (RFC 9110, RFC 9112), over raw connections: each is an Error body, those
 * that node:http would answer with an empty one, too.
 */

import assert from 'node:assert/strict';
import { onHttp, type Check } from '../check.ts';
import { REX, type Client, type ServiceResponse } from '../client.ts';
import { assertError, atOnce, refusalOnHttp, type Code } from '../codes.ts';

const CHUNKED = 'Transfer-Encoding: chunked';
const REX_LENGTH = `Content-Length: ${REX.length}`;

/** The bytes of a request, made by the client that is to send them. */
type Bytes = (client: Client) => string;

const withHost =
  (line: string): Bytes =>
  (client) =>
    client.message('GET /v1/pets').replace(/Host.*\r\n/, line);
const withField =
  (line: string, ...fields: readonly string[]): Bytes =>
  (client) =>
    client.message(line, fields);
const withBody =
  (body: string, ...fields: readonly string[]): Bytes =>
  (client) =>
    client.message('POST /v1/pets', fields, body);
const get: Bytes = (client) => client.message('GET /v1/pets');

const MALFORMED: readonly [what: string, bytes: Bytes][] = [
  ['no request line', () => 'nonsense\r\n\r\n'],
  ['a version that is none', () => 'GET /v1/pets HTTP/x\r\nHost: h\r\n\r\n'],
  ['a target with a space', () => 'GET /v1/pe ts HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a target without a slash', withField('GET v1/pets')],
  ['the target * for GET', withField('GET *')],
  ['a target of another scheme', withField('GET ftp://h/v1/pets')],
  ['a method in small letters', withField('get /v1/pets')],
  ['an unknown method', withField('BREW /v1/pets')],
  ['no Host', withHost('')],
  ['two Hosts', withField('GET /v1/pets', 'Host: h')],
  ['an empty Host', withHost('Host:\r\n')],
  ['a Host with a path', withHost('Host: h/x\r\n')],
  ['a Host with a user', withHost('Host: u@h\r\n')],
  ['a Host list', withHost('Host: a, b\r\n')],
  ['a field without a colon', withField('GET /v1/pets', 'nonsense')],
  ['a space before the colon', withField('GET /v1/pets', 'X : y')],
  ['a folded field', withField('GET /v1/pets', 'X: a\r\n b')],
  ['NUL in a field', withField('GET /v1/pets', 'X: \0')],
  ['a bare LF', (client) => get(client).replaceAll('\r\n', '\n')],
  ['a Content-Length that is none', withField('POST /v1/pets', 'Content-Length: x')],
  ['a negative Content-Length', withField('POST /v1/pets', 'Content-Length: -1')],
  ['two lengths', withBody(REX, REX_LENGTH, 'Content-Length: 5')],
  ['Content-Length beside Transfer-Encoding', withBody(REX, REX_LENGTH, CHUNKED)],
  ['a chunk size that is none', withBody('x\r\n', CHUNKED)],
  [
    'Transfer-Encoding in HTTP/1.0',
    (client) => withBody('0\r\n\r\n', CHUNKED)(client).replace('/1.1', '/1.0'),
  ],
];

const TOO_LARGE: readonly [what: string, bytes: Bytes][] = [
  ['one long field', withField('GET /v1/pets', `X: ${'x'.repeat(17_000)}`)],
  ['many fields', withField('GET /v1/pets', ...Array<string>(6000).fill('X-A: y'))],
  ['a long target', withField(`GET /v1/pets?${'x'.repeat(17_000)}`)],
];

const THREE_MB = `${REX}${' '.repeat(3_000_000)}`;
const TOO_LONG: readonly [what: string, bytes: Bytes][] = [
  ['3 MB with Content-Length', withBody(THREE_MB, `Content-Length: ${THREE_MB.length}`)],
  [
    '3 MB in one chunk',
    withBody(`${THREE_MB.length.toString(16)}\r\n${THREE_MB}\r\n0\r\n\r\n`, CHUNKED),
  ],
  [
    '70 kB in chunks of 7 bytes',
    withBody(`${'7\r\n       \r\n'.repeat(10_000)}0\r\n\r\n`, CHUNKED),
  ],
  [
    '64 KiB and a byte in one chunk',
    withBody(`10001\r\n${REX.padEnd(65_537)}\r\n0\r\n\r\n`, CHUNKED),
  ],
  ['A length beyond any number', withBody(REX, `Content-Length: ${2n ** 63n}`)],
];

const NO_JSON: readonly [what: string, bytes: Bytes][] = [
  ['an empty body with a length of 0', withBody('', 'Content-Length: 0')],
  ['no body and no length', withBody('')],
  ['an empty body in chunks', withBody('0\r\n\r\n', CHUNKED)],
];

const EXPECT: readonly [what: string, bytes: Bytes][] = [
  ['an unknown one', withField('GET /v1/pets', 'Expect: a-miracle')],
  ['an unknown one of a POST', withField('POST /v1/pets', 'Expect: 200-ok')],
  ['two', withField('POST /v1/pets', 'Expect: 100-continue, x')],
];
const CODINGS: readonly [what: string, bytes: Bytes][] = [
  ['gzip', withField('POST /v1/pets', 'Transfer-Encoding: gzip')],
  ['two', withField('POST /v1/pets', 'Transfer-Encoding: gzip, chunked')],
  ['identity', withField('POST /v1/pets', 'Transfer-Encoding: identity')],
  ['of a GET', withField('GET /v1/pets', 'Transfer-Encoding: x')],
];
const VERSIONS: readonly [version: string, bytes: Bytes][] = [
  ...[' HTTP/2.0', ' HTTP/3.0', ' HTTP/1.2', ' HTTP/0.9', ''].map((version): [string, Bytes] => [
    version,
    (client) => get(client).replace(' HTTP/1.1', version),
  ]),
];

/** The one response; a second would belong to no request. */
async function only(client: Client, bytes: Bytes): Promise<ServiceResponse | undefined> {
  const responses = await client.exchange(bytes(client));
  assert.ok(responses.length <= 1, `expected one response, not ${responses.length}`);
  return responses[0];
}

const TABLES: readonly [string, string, Code, readonly [string, Bytes][]][] = [
  ['malformed', 'A malformed request is 400, with an Error body', 'malformed_request', MALFORMED],
  ['large-header', 'A header that is too large is 431', 'headers_too_large', TOO_LARGE],
  ['long-body', 'A body that is too long is 413', 'body_too_large', TOO_LONG],
  ['no-body', 'An empty body is 400', 'invalid_json', NO_JSON],
  ['expect', 'An Expect that cannot be met is 417', 'expectation_failed', EXPECT],
  ['coding', 'A transfer coding is 501', 'unsupported_transfer_coding', CODINGS],
  ['version', 'Another version of HTTP is 505', 'unsupported_http_version', VERSIONS],
];

const refusals = TABLES.flatMap(([name, sentence, code, cases]) =>
  refusalOnHttp({ name, sentence, code, cases, send: (client, [, bytes]) => only(client, bytes) }),
);

const HOSTS = ['h', 'h:1', 'example.com:', '127.0.0.1:8080', '[::1]:8080', 'a-b_c.d'];
const TAKEN: readonly [what: string, bytes: Bytes][] = [
  ...HOSTS.map((host): [string, Bytes] => [`Host: ${host}`, withHost(`Host: ${host}\r\n`)]),
  ['HTTP/1.0 without a Host', (client) => withHost('')(client).replace('HTTP/1.1', 'HTTP/1.0')],
  [
    'a request to upgrade',
    (client) =>
      withField('GET /v1/pets', 'Upgrade: h2c')(client).replace(/: close/, ': Upgrade, close'),
  ],
];

/** More fields than the thousand that node:http keeps by default, within the limit of 16 KiB. */
const MANY = Array.from({ length: 2000 }, () => 'X-A: y');
const PAST_MANY: readonly [field: string, code: Code][] = [
  ['Host: h', 'malformed_request'],
  ['Authorization: Bearer KEY', 'unauthorized'],
  ['Expect: a-miracle', 'expectation_failed'],
  ['Content-Encoding: gzip', 'unsupported_media_type'],
];

const expecting = (length: number): Bytes =>
  withField('POST /v1/pets', 'Expect: 100-Continue', `Content-Length: ${length}`);
const NO_CONTINUE: readonly [code: Code, bytes: Bytes][] = [
  ['unauthorized', (client) => expecting(REX.length)(client).replace(client.key, 'wrong')],
  ['body_too_large', expecting(65_537)],
  ['unknown_path', (client) => expecting(5)(client).replace('/pets', '/nothing')],
  ['method_not_allowed', (client) => expecting(5)(client).replace('POST', 'PUT')],
];

export const malformed: readonly Check[] = [
  ...refusals,

  onHttp(
    'taken',
    'Any well-formed Host will do, HTTP/1.0, and a request to upgrade',
    async (client) => {
      for (const [what, bytes] of TAKEN)
        assert.equal((await only(client, bytes))?.status, 200, what);
    },
  ),

  onHttp('past-thousand', 'A field past the thousandth counts as any other', async (client) => {
    for (const [field, code] of PAST_MANY) {
      const fields = [REX_LENGTH, ...MANY, field.replace('KEY', client.key)];
      assertError(await only(client, withBody(REX, ...fields)), code, field);
    }
  }),

  onHttp(
    'continue',
    '100 comes before the body is sent, and the answer after it',
    async (client) => {
      const answered = await client.exchange(expecting(REX.length)(client), REX);
      assert.deepEqual(
        answered.map(({ status }) => status),
        [100, 201],
        'the statuses',
      );
      assert.deepEqual([...(answered[0]?.headers ?? [])], [], 'the header of the 100');
    },
  ),

  onHttp('no-continue', 'What its header refuses is refused without a 100', (client) =>
    atOnce(client, NO_CONTINUE, async (own, [code, bytes]) => {
      const response = await only(own, bytes);
      assertError(response, code);
      assert.equal(response?.headers.get('Connection'), 'close', 'Connection');
    }),
  ),

  onHttp('early', 'An early answer is sent, though the body be malformed', async (client) => {
    const bytes: Bytes = (own) => withBody('no size\r\n', CHUNKED)(own).replace(own.key, 'wrong');
    assertError(await only(client, bytes), 'unauthorized');
  }),

  onHttp('connect', 'CONNECT is 405', async (client) => {
    const response = await only(client, withField('CONNECT h:443'));
    assertError(response, 'method_not_allowed');
    assert.equal(response?.headers.get('Allow'), '', 'Allow');
  }),

  onHttp('closes', 'A failure that HTTP itself finds closes the connection', async (client) => {
    const good = get(client).replace('Connection: close', 'Connection: keep-alive');
    const answered = await client.exchange(`${good}nonsense\r\n\r\n${good}`);
    assert.deepEqual(
      answered.map(({ status }) => status),
      [200, 400],
      'the statuses',
    );
    assertError(answered[1], 'malformed_request');
    assert.equal(answered[1]?.headers.get('Connection'), 'close', 'Connection');
  }),
];
