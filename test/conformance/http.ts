/**
 * What this service does with every request: paths, methods, credentials, media types, and
 * failures of HTTP itself. The interface says nothing of it.
 */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { fieldsOf, REX, type Answer, type Client } from './client.ts';
import { assertError, assertOnlyError, type Code } from './errors.ts';

const { decision, decisionEach } = checksIn('http');

const CHUNKED = 'Transfer-Encoding: chunked';
const REX_LENGTH = `Content-Length: ${REX.length}`;

/** Sends one request for a path as it stands, which fetch would tidy up first. */
async function getRaw(client: Client, path: string): Promise<Answer> {
  const answers = await client.exchange(client.message(`GET ${path}`));
  assert.equal(answers.length, 1, 'the number of answers');
  return answers[0]!;
}

function statusesOf(answers: readonly Answer[]): readonly number[] {
  return answers.map(({ status }) => status);
}

/** A request that keeps the connection, for one that is followed by another. */
function openMessage(client: Client, ...parts: Parameters<Client['message']>): string {
  return client.message(...parts).replace('Connection: close', 'Connection: keep-alive');
}

const WITHOUT_KEY: readonly [line: string, fields: readonly string[], body: string][] = [
  ['GET /v1/pets', [], ''],
  ['GET /v1', [], ''],
  ['GET /v1/', [], ''],
  ['GET /v1/nothing', [], ''],
  ['GET /v1/pets/', [], ''],
  ['GET /v1/pets/%zz', [], ''],
  ['GET /v%31/nothing', [], ''],
  ['GET /v1/pets?limit=0', [], ''],
  ['GET /v1/pets?a=%zz', [], ''],
  ['GET http://host/v1/pets', [], ''],
  ['HEAD /v1/pets', [], ''],
  ['OPTIONS /v1/pets', [], ''],
  ['DELETE /v1/pets', [], ''],
  ['POST /v1/pets', ['Content-Length: 1'], '{'],
  ['POST /v1/pets', ['Content-Length: 3000000'], '{'],
  ['POST /v1/pets', [CHUNKED], '1\r\n{\r\n0\r\n\r\n'],
  ['POST /v1/pets', ['Content-Type: text/plain', REX_LENGTH], REX],
  ['POST /v1/pets', ['Content-Encoding: gzip', REX_LENGTH], REX],
  ['POST /v1/pets', ['Expect: 100-continue', REX_LENGTH], ''],
  ['POST /v1/pets', ['Expect: a-miracle', REX_LENGTH], REX],
];
const OUTSIDE = ['/', '/nothing', '/v2/pets', '/V1/pets', '//v1/pets', '/v1%2Fpets'];

const authenticationFirst: readonly Check[] = [
  decisionEach(
    'Under /v1 authentication comes first',
    WITHOUT_KEY,
    async (client, [line, fields, body]) => {
      const bytes = client.message(line, fields, body);
      const refusals = ['', 'Authorization: Bearer wrong\r\n'].map(async (credential) => {
        const without = bytes.replace(`Authorization: Bearer ${client.key}\r\n`, credential);
        const answers = await client.exchange(without);
        assert.deepEqual(statusesOf(answers), [401], 'the statuses');
        if (!line.startsWith('HEAD')) assertError(answers[0], 'unauthorized');
      });
      await Promise.all(refusals);
    },
    'all at once',
  ),

  decisionEach('Outside /v1 an unknown path is 404', OUTSIDE, async (client, path) => {
    const bytes = client.message(`GET ${path}`).replace(/Authorization.*\r\n/, '');
    assertError((await client.exchange(bytes))[0], 'unknown_path');
  }),
];

/** The answer to a list request with these Authorization lines in place of the right one. */
async function answerTo(client: Client, lines: readonly string[]): Promise<Answer> {
  const text = lines.map((line) => `${line.replace('KEY', () => client.key)}\r\n`).join('');
  const bytes = client.message('GET /v1/pets').replace(/Authorization.*\r\n/, () => text);
  return (await client.exchange(bytes))[0]!;
}

const GOOD_FORMS = [
  'Authorization: bearer KEY',
  'Authorization: BEARER KEY',
  'authorization:bEaReR KEY',
  'Authorization: Bearer   KEY',
  'AUTHORIZATION:  Bearer KEY  ',
];
const GOOD = 'Authorization: Bearer KEY';
const TWO_LINES: readonly [what: string, lines: readonly string[]][] = [
  ['the good one twice', [GOOD, GOOD]],
  ['a wrong one first', ['Authorization: Bearer wrong', GOOD]],
  ['a wrong one last', [GOOD, 'Authorization: Bearer wrong']],
  ['an empty one beside it', [GOOD, 'Authorization:']],
  ['one in other letters', [GOOD, 'authorization: Bearer KEY']],
];

const challenges: readonly Check[] = [
  decision('401 carries WWW-Authenticate, plain when no key was sent', async (client) => {
    const answer = await answerTo(client, []);
    assertError(answer, 'unauthorized');
    assert.equal(answer.headers.get('WWW-Authenticate'), 'Bearer realm="petstore"');
  }),

  decisionEach(
    '401 carries error="invalid_token" only when a Bearer token was sent',
    [
      ['Bearer wrong', ', error="invalid_token"'],
      ['Basic OnB3', ''],
      ['Bearer', ''],
    ] as const,
    async (client, [credential, error]) => {
      const answer = await answerTo(client, [`Authorization: ${credential}`]);
      assertError(answer, 'unauthorized');
      assert.equal(answer.headers.get('WWW-Authenticate'), `Bearer realm="petstore"${error}`);
    },
  ),

  decisionEach("The scheme's name is case-insensitive", GOOD_FORMS, async (client, line) => {
    assert.equal((await answerTo(client, [line])).status, 200);
  }),

  decisionEach('Exactly one Authorization line counts', TWO_LINES, async (client, [, lines]) => {
    const answer = await answerTo(client, lines);
    assertError(answer, 'unauthorized');
    assert.match(answer.headers.get('WWW-Authenticate') ?? '', /^Bearer /);
  }),
];

const UNKNOWN = ['/v1', '/v1/', '/v1/pet', '/v1/pets/1/2', '/v1/pets.json', '/', '/x'];
const ALLOW: readonly [path: string, allow: string][] = [
  ['/v1/pets', 'GET, HEAD, OPTIONS, POST'],
  ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
  ['/v1/pets/no-id', 'GET, HEAD, OPTIONS'],
  ['/livez', 'GET, HEAD, OPTIONS'],
  ['/readyz', 'GET, HEAD, OPTIONS'],
  ['/openapi.json', 'GET, HEAD, OPTIONS'],
  ['/metrics', 'GET, HEAD, OPTIONS'],
];
const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'M-SEARCH'];
const HEADS = ['/v1/pets', '/v1/pets?limit=1', '/livez', '/readyz', '/openapi.json'];

function allowOf({ headers }: Answer): string {
  return (headers.get('Allow') ?? '').split(', ').sort().join(', ');
}

const methods: readonly Check[] = [
  decisionEach('Unknown path: 404', UNKNOWN, async (client, path) => {
    assertError(await getRaw(client, path), 'unknown_path');
  }),

  decisionEach('Another method is 405 with Allow', ALLOW, async (client, [path, allow]) => {
    for (const method of path === '/v1/pets' ? OTHER_METHODS : [...OTHER_METHODS, 'POST']) {
      const [answer] = await client.exchange(client.message(`${method} ${path}`));
      assert.ok(assertError(answer, 'method_not_allowed').includes(method), `${method} named`);
      assert.equal(allowOf(answer!), allow);
    }
  }),

  decisionEach('OPTIONS is 204 with Allow', ALLOW, async (client, [path, allow]) => {
    const [answer] = await client.exchange(client.message(`OPTIONS ${path}`));
    assert.equal(answer?.status, 204);
    assert.equal(answer.text, '');
    assert.equal(allowOf(answer), allow);
    assert.equal(answer.headers.get('Content-Length'), null);
  }),

  decision('OPTIONS of an unknown path is 404, and of * is 204', async (client) => {
    assertError((await client.exchange(client.message('OPTIONS /v1/nothing')))[0], 'unknown_path');
    const [answer] = await client.exchange(client.message('OPTIONS *'));
    assert.equal(answer?.status, 204);
    assert.equal(allowOf(answer), 'GET, HEAD, OPTIONS, POST');
  }),

  decisionEach(
    'A method is a case-sensitive word, and an unknown one is malformed',
    ['get', 'Post', 'BREW'],
    async (client, method) => {
      const [answer] = await client.exchange(client.message(`${method} /v1/pets`));
      assertError(answer, 'malformed_request');
    },
  ),

  decisionEach('HEAD wherever GET is: the same header', HEADS, async (client, path) => {
    const [get] = await client.exchange(client.message(`GET ${path}`));
    const [head, ...rest] = await client.exchange(client.message(`HEAD ${path}`));
    assert.deepEqual(rest, []);
    assert.equal(head?.status, 200);
    for (const field of ['Content-Type', 'Content-Length', 'Link']) {
      assert.equal(head.headers.get(field), get?.headers.get(field), field);
    }
  }),

  decision('HEAD of a pet, and of one that cannot be found', async (client) => {
    const { id, answer } = await client.add(REX);
    const found = await client.send('HEAD', `/pets/${id}`);
    assert.equal(found.status, 200);
    assert.equal(found.text, '');
    assert.equal(found.headers.get('Content-Length'), String(answer.text.length));
    const lost = await client.send('HEAD', '/pets/0');
    assert.equal(lost.status, 404);
    assert.equal(lost.headers.get('Content-Type'), 'application/json');
    assert.notEqual(lost.headers.get('Content-Length'), '0');
  }),
];

const ODD_PATHS = [
  ...['/v1/pets/', '//v1/pets', '/v1//pets', '/V1/pets', '/v1/Pets', '/v1/pets//'],
  ...['/v1/./pets', '/v1/../v1/pets', '/x/../v1/pets', '/v1/pets/../pets', '/v1/pets/1/'],
  ...['/v1%2fpets', '/v1%2Fpets', '/v1/pets%20', '/v1/%2570ets', '/v1/pets%3Flimit=1'],
  ...['/v1/pets;a=b', '/v1\\pets', '/v1/pets%00'],
];
const SAME_PATHS = ['/v1/p%65ts', '/%76%31/%70%65%74%73', '/v1/pets?', 'http://h/v1/pets'];
const BROKEN = ['%', '%zz', '%3', '%3g', '%C3', '%FF', '%C0%80', '%ED%A0%80', '1%', '%u0031'];

const paths: readonly Check[] = [
  decisionEach('Paths match exactly: any other is 404', ODD_PATHS, async (client, path) => {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const [answer] = await client.exchange(client.message(`${method} ${path}`));
      assertError(answer, 'unknown_path');
    }
  }),

  decisionEach('A path segment is percent-decoded', SAME_PATHS, async (client, path) => {
    const answer = await getRaw(client, path);
    assert.equal(answer.status, 200);
    assert.equal(answer.text, (await client.get('/pets')).text);
  }),

  decision('/v1/pets/%31 is pet 1, in hex digits of either case', async (client) => {
    const { id, answer } = await client.add(REX);
    const digits = [...String(id)].map((digit) => `%3${digit}`).join('');
    assert.equal((await getRaw(client, `/v1/pets/${digits}`)).text, answer.text);
    assertError(await getRaw(client, '/v1/pets/%C3%A9'), 'not_found');
    assertError(await getRaw(client, '/v1/pets/%c3%a9'), 'not_found');
  }),

  decision('It is decoded once: %2531 is %31 and no id, %2F is no separator', async (client) => {
    assertError(await getRaw(client, '/v1/pets/%2531'), 'not_found');
    assertError(await getRaw(client, '/v1/pets/1%2F2'), 'not_found');
  }),

  decisionEach('Broken encoding is 400 in a path', BROKEN, async (client, text) => {
    for (const path of [`/v1/pets/${text}`, `/v1/${text}`, `/${text}`, `/v1/pets/1/${text}`]) {
      assert.match(assertError(await getRaw(client, path), 'malformed_request'), /path/);
    }
  }),

  decisionEach('Broken encoding is 400 in a query', BROKEN, async (client, text) => {
    for (const path of ['/v1/pets', '/v1/pets/1', '/livez']) {
      for (const query of [`${text}`, `a=${text}`, `limit=1&a=b&${text}=c`]) {
        const answer = await getRaw(client, `${path}?${query}`);
        assert.match(assertError(answer, 'malformed_request'), /query/);
      }
    }
    const bytes = client.message(`POST /v1/pets?a=${text}`, [REX_LENGTH], REX);
    assertError((await client.exchange(bytes))[0], 'malformed_request');
  }),
];

const JSON_TYPES = [
  ...['application/json', 'Application/JSON', 'application/json; charset=utf-8'],
  ...['application/json;charset=UTF-8', 'application/json ; a="b"'],
];
const OTHER_TYPES = [
  ...['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'json', '*/*'],
  ...['application/jsonx', 'application/json x', 'xapplication/json', 'application'],
  ...['application/ld+json', 'application/json, text/json'],
];
const JSON_LINE = 'Content-Type: application/json';
const NOT_ONE_TYPE: readonly [what: string, fields: readonly string[]][] = [
  ['an empty one', ['Content-Type:']],
  ['the same twice', [JSON_LINE, JSON_LINE]],
  ['two', [JSON_LINE, 'Content-Type: text/plain']],
];
const CODINGS = ['gzip', 'deflate', 'br', 'identity', ''];

const mediaTypes: readonly Check[] = [
  decisionEach('POST takes application/json, with parameters', JSON_TYPES, async (client, type) => {
    assert.equal((await client.post(REX, { 'Content-Type': type })).status, 201);
  }),

  decisionEach('POST with another Content-Type is 415', OTHER_TYPES, async (client, type) => {
    const answer = await client.post(REX, { 'Content-Type': type });
    const message = assertError(answer, 'unsupported_media_type');
    assert.ok(message.includes(type), `a message with ${type}`);
    assert.equal(answer.headers.get('Accept'), 'application/json');
  }),

  decisionEach('POST without exactly one type is 415', NOT_ONE_TYPE, async (client, [, fields]) => {
    const bytes = client.message('POST /v1/pets', [...fields, REX_LENGTH], REX);
    assertError((await client.exchange(bytes))[0], 'unsupported_media_type');
  }),

  decision('An absent Content-Type is taken as JSON', async (client) => {
    const [answer] = await client.exchange(client.message('POST /v1/pets', [REX_LENGTH], REX));
    assert.equal(answer?.status, 201);
  }),

  decisionEach('Any Content-Encoding is 415', CODINGS, async (client, coding) => {
    const fields = [`Content-Encoding: ${coding}`, JSON_LINE, REX_LENGTH];
    const [answer] = await client.exchange(client.message('POST /v1/pets', fields, REX));
    assertError(answer, 'unsupported_media_type');
  }),

  decision('Accept is not looked at: there is one form only', async (client) => {
    const answer = await client.send('GET', '/pets?limit=1', { Accept: 'text/html' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('Content-Type'), 'application/json');
  }),
];

const answerFields: readonly Check[] = [
  decision('201 carries Location, which leads to the pet', async (client) => {
    const { id, answer } = await client.add(REX);
    assert.equal(answer.headers.get('Location'), `/v1/pets/${id}`);
    const found = await client.sendBeside('GET', answer.headers.get('Location')!);
    assert.equal(found.text, answer.text);
  }),

  decision('JSON answers are application/json with Content-Length in bytes', async (client) => {
    const { id, answer } = await client.add('{"name":"😀","categoryId":1}');
    for (const { headers, text } of [
      answer,
      await client.get(`/pets/${id}`),
      await client.listFrom(id),
      await client.sendBeside('GET', '/livez'),
      await client.sendBeside('GET', '/openapi.json'),
    ]) {
      assert.equal(headers.get('Content-Type'), 'application/json');
      assert.equal(headers.get('Content-Length'), String(Buffer.byteLength(text)));
    }
  }),
];

type Bytes = (client: Client) => string;

const withHost =
  (line: string): Bytes =>
  (client) =>
    client.message('GET /v1/pets').replace(/Host.*\r\n/, line);
const withField =
  (line: string, ...fields: readonly string[]): Bytes =>
  (client) =>
    client.message(line, fields);

const MALFORMED: readonly [what: string, bytes: Bytes][] = [
  ['no request line', () => 'nonsense\r\n\r\n'],
  ['a version that is none', () => 'GET /v1/pets HTTP/x\r\nHost: h\r\n\r\n'],
  ['a target with a space', () => 'GET /v1/pe ts HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a target without a slash', withField('GET v1/pets')],
  ['the target * for GET', withField('GET *')],
  ['a target of another scheme', withField('GET ftp://h/v1/pets')],
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
  ['a bare LF', (client) => client.message('GET /v1/pets').replaceAll('\r\n', '\n')],
  ['a Content-Length that is none', withField('POST /v1/pets', 'Content-Length: x')],
  ['a negative Content-Length', withField('POST /v1/pets', 'Content-Length: -1')],
  [
    'two lengths',
    (client) => client.message('POST /v1/pets', [REX_LENGTH, 'Content-Length: 5'], REX),
  ],
  [
    'Content-Length beside Transfer-Encoding',
    (client) => client.message('POST /v1/pets', [REX_LENGTH, CHUNKED], REX),
  ],
  ['a chunk size that is none', (client) => client.message('POST /v1/pets', [CHUNKED], 'x\r\n')],
  [
    'Transfer-Encoding in HTTP/1.0',
    (client) => client.message('POST /v1/pets', [CHUNKED], '0\r\n\r\n').replace('/1.1', '/1.0'),
  ],
];

const TOO_LARGE: readonly [what: string, bytes: Bytes][] = [
  ['one long field', withField('GET /v1/pets', `X: ${'x'.repeat(17_000)}`)],
  ['many fields', withField('GET /v1/pets', ...Array<string>(6000).fill('X-A: y'))],
  ['a long target', withField(`GET /v1/pets?${'x'.repeat(17_000)}`)],
];

const TRANSFER = 'unsupported_transfer_coding';
const REFUSED: readonly [what: string, code: Code, line: string, field: string][] = [
  ['bad Expect 417', 'expectation_failed', 'GET /v1/pets', 'Expect: a-miracle'],
  ['bad Expect 417, of a POST', 'expectation_failed', 'POST /v1/pets', 'Expect: 200-ok'],
  ['two Expects 417', 'expectation_failed', 'POST /v1/pets', 'Expect: 100-continue, x'],
  ['transfer coding 501: gzip', TRANSFER, 'POST /v1/pets', 'Transfer-Encoding: gzip'],
  ['transfer coding 501: two', TRANSFER, 'POST /v1/pets', 'Transfer-Encoding: gzip, chunked'],
  ['transfer coding 501: identity', TRANSFER, 'POST /v1/pets', 'Transfer-Encoding: identity'],
  ['transfer coding 501: of a GET', TRANSFER, 'GET /v1/pets', 'Transfer-Encoding: x'],
];

// More than the thousand that node:http keeps by default, within the limit of 16 KiB.
const MANY_FIELDS = Array.from({ length: 2000 }, () => 'X-A: y');
const PAST_MANY: readonly [field: string, code: Code][] = [
  ['Host: h', 'malformed_request'],
  ['Authorization: Bearer KEY', 'unauthorized'],
  ['Expect: a-miracle', 'expectation_failed'],
  ['Content-Encoding: gzip', 'unsupported_media_type'],
];

const failures: readonly Check[] = [
  decisionEach(
    'A malformed request is 400, with an Error body',
    MALFORMED,
    async (client, [, bytesFor]) => {
      assertOnlyError(await client.exchange(bytesFor(client)), 'malformed_request');
    },
    'all at once',
  ),

  decisionEach(
    'A header that is too large is 431, with an Error body',
    TOO_LARGE,
    async (client, [, bytesFor]) => {
      assertOnlyError(await client.exchange(bytesFor(client)), 'headers_too_large');
    },
    'all at once',
  ),

  decisionEach(
    'What is not supported is 417 or 501, with an Error body',
    REFUSED,
    async (client, [, code, line, field]) => {
      assertOnlyError(await client.exchange(client.message(line, [field])), code);
    },
    'all at once',
  ),

  decisionEach(
    'Another version of HTTP is 505, with an Error body',
    [' HTTP/2.0', ' HTTP/3.0', ' HTTP/1.2', ' HTTP/0.9', ''],
    async (client, version) => {
      const bytes = client.message('GET /v1/pets').replace(' HTTP/1.1', version);
      assertError((await client.exchange(bytes))[0], 'unsupported_http_version');
    },
    'all at once',
  ),

  decision('CONNECT is 405, with an Error body', async (client) => {
    const [answer] = await client.exchange(client.message('CONNECT h:443'));
    assertError(answer, 'method_not_allowed');
    assert.equal(answer?.headers.get('Allow'), '');
  }),

  decisionEach(
    'A field past the thousandth counts as any other',
    PAST_MANY,
    async (client, [field, code]) => {
      const fields = [REX_LENGTH, ...MANY_FIELDS, field.replace('KEY', () => client.key)];
      const [answer] = await client.exchange(client.message('POST /v1/pets', fields, REX));
      assertError(answer, code);
    },
    'all at once',
  ),

  decision('An early answer is sent, though the body be malformed', async (client) => {
    const bytes = client.message('POST /v1/pets', [CHUNKED], 'no size\r\n');
    assertOnlyError(await client.exchange(bytes.replace(client.key, 'wrong')), 'unauthorized');
  }),

  decision('A failure that HTTP itself finds closes the connection', async (client) => {
    const good = openMessage(client, 'GET /v1/pets?limit=1');
    const answers = await client.exchange(`${good}nonsense\r\n\r\n${good}`);
    assert.deepEqual(statusesOf(answers), [200, 400], 'the statuses');
    assertError(answers[1], 'malformed_request');
    assert.equal(answers[1]?.headers.get('Connection'), 'close');
  }),
];

const HOSTS = ['h', 'h:1', 'example.com:', '127.0.0.1:8080', '[::1]:8080', 'a-b_c.d'];

const noFailures: readonly Check[] = [
  decisionEach('Any well-formed Host will do', HOSTS, async (client, host) => {
    const [answer] = await client.exchange(withHost(`Host: ${host}\r\n`)(client));
    assert.equal(answer?.status, 200);
  }),

  decision('HTTP/1.0 will do, without a Host', async (client) => {
    const bytes = withHost('')(client).replace('HTTP/1.1', 'HTTP/1.0');
    assert.equal((await client.exchange(bytes.replace(/Connection.*\r\n/, '')))[0]?.status, 200);
  }),

  decision('Pipelined requests are answered in their order', async (client) => {
    const { id } = await client.add(REX);
    const answers = await client.exchange(
      openMessage(client, 'POST /v1/pets', [REX_LENGTH], REX) +
        openMessage(client, `GET /v1/pets/${id}`) +
        openMessage(client, 'GET /v1/pets/0') +
        openMessage(client, 'POST /v1/pets', ['Content-Length: 2'], '{}') +
        openMessage(client, `GET /v1/pets/${id + 1n}`) +
        client.message('GET /livez'),
    );
    assert.deepEqual(statusesOf(answers), [201, 200, 404, 400, 200, 200], 'the statuses');
    assert.equal(fieldsOf(answers[0]!)['id'], id + 1n);
    assert.equal(answers[4]?.text, answers[0]?.text);
  }),

  decision('A request to upgrade is answered as if it were none', async (client) => {
    const bytes = client
      .message('GET /v1/pets?limit=1', ['Upgrade: h2c'])
      .replace('Connection: close', 'Connection: Upgrade, close');
    assert.equal((await client.exchange(bytes))[0]?.status, 200);
  }),

  decision('A chunked body will do, with extensions and a trailer', async (client) => {
    const size = REX.length - 5;
    const chunks = `5;a=b\r\n${REX.slice(0, 5)}\r\n${size.toString(16)}\r\n${REX.slice(5)}\r\n`;
    const body = `${chunks}0\r\nX-Trailer: 1\r\n\r\n`;
    const [answer] = await client.exchange(client.message('POST /v1/pets', [CHUNKED], body));
    assert.equal(answer?.status, 201);
  }),
];

function expecting(client: Client, length: number): string {
  const fields = ['Expect: 100-Continue', `Content-Length: ${length}`];
  return client.message('POST /v1/pets', fields);
}

const CODED = 'Content-Encoding: br\r\nConnection:';
const NO_CONTINUE: readonly [code: Code, bytes: Bytes][] = [
  ['unauthorized', (client) => expecting(client, REX.length).replace(client.key, 'wrong')],
  ['body_too_large', (client) => expecting(client, 65_537)],
  ['unknown_path', (client) => expecting(client, 5).replace('/pets', '/nothing')],
  ['method_not_allowed', (client) => expecting(client, 5).replace('POST', 'PUT')],
  ['unsupported_media_type', (client) => expecting(client, 5).replace('Connection:', CODED)],
];

const expectations: readonly Check[] = [
  decision('100 comes before the body is sent, and the answer after it', async (client) => {
    const answers = await client.exchange(expecting(client, REX.length), REX);
    assert.deepEqual(statusesOf(answers), [100, 201], 'the statuses');
    assert.deepEqual([...answers[0]!.headers], [], 'the header of the 100');
  }),

  decisionEach(
    'What is refused by its header is refused without a 100',
    NO_CONTINUE,
    async (client, [code, bytesFor]) => {
      const answers = await client.exchange(bytesFor(client));
      assertOnlyError(answers, code);
      assert.equal(answers[0]?.headers.get('Connection'), 'close');
    },
    'all at once',
  ),
];

const METRIC = /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[^{}]*\})? [0-9.e+]+)$/;

const outside: readonly Check[] = [
  decisionEach(
    'Outside /v1 health and the description are 200 without a key',
    ['/livez', '/readyz', '/openapi.json'],
    async (client, path) => {
      const answer = await client.sendBeside('GET', path, { Authorization: '' });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('Content-Type'), 'application/json');
      assert.equal(typeof fieldsOf(answer), 'object');
    },
  ),

  decision('GET /metrics needs a key', async (client) => {
    const without = await client.sendBeside('GET', '/metrics', { Authorization: '' });
    assertError(without, 'unauthorized');
    assert.match(without.headers.get('WWW-Authenticate') ?? '', /^Bearer /);
  }),

  decision('GET /metrics with a key is the text of Prometheus', async (client) => {
    const answer = await client.sendBeside('GET', '/metrics');
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('Content-Type') ?? '', /^text\/plain; version=0\.0\.4/);
    for (const line of answer.text.trimEnd().split('\n')) assert.match(line, METRIC);
    assert.match(answer.text, /^petstore_pets\{/m);
  }),
];

export const http: readonly Check[] = [
  ...authenticationFirst,
  ...challenges,
  ...methods,
  ...paths,
  ...mediaTypes,
  ...answerFields,
  ...failures,
  ...noFailures,
  ...expectations,
  ...outside,
];
