/**
 * What this service does with one request, byte by byte: which it refuses, and which it serves.
 *
 * Some are refused by node:http's parser, some by rules of our own; no client can tell which. The
 * kit asks the same of other services, as far as fetch can say it, and is run against this one.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { STATUS_OF_CODE, type ErrorCode } from '../../src/core/api/api-error.ts';
import { KEY, openService } from '../support/http/service.ts';
import { CHUNKED, REX, REX_1, lastRequestOf, requestOf } from '../support/http/requests.ts';
import { ask, assertErrorAnswer, talk } from '../support/http/wire.ts';

const service = await openService({ after });

const GET = requestOf('GET /v1/pets');
const GZIP = 'Transfer-Encoding: gzip';

/** The request to list pets with other fields instead of its Host. */
const withHost = (...fields: readonly string[]): string =>
  GET.replace('Host: a\r\n', () => fields.map((field) => `${field}\r\n`).join(''));
/** The same request for another target. */
const at = (target: string): string => GET.replace('/v1/pets', target);
const version = (text: string): string => GET.replace('HTTP/1.1', text);
const chunked = (body: string): string => requestOf('POST /v1/pets', [CHUNKED], body);
const coded = (...values: readonly string[]): string =>
  chunked('0\r\n\r\n').replace('chunked', values.join('\r\nTransfer-Encoding: '));
const withLength = (length: string): string =>
  requestOf('POST /v1/pets', [`Content-Length: ${length}`]) + REX;
const create = (fields: readonly string[], body = REX): string =>
  lastRequestOf('POST /v1/pets', fields, body);
const withKey = (...fields: readonly string[]): string =>
  lastRequestOf('GET /v1/pets').replace(/Authorization: .*\r\n/, fields.join(''));
const withoutKey = (bytes: string): string => bytes.replace(/Authorization: .*\r\n/, '');
const credential = (value: string): string => `Authorization: ${value}\r\n`;

const JSON_LINE = 'Content-Type: application/json';

/** Requests by the code of their Error. Characters are bytes. */
const REFUSED: Readonly<Partial<Record<ErrorCode, readonly string[]>>> = {
  malformed_request: [
    // The request line: TLS, an unknown method, no target, other protocols, bytes of no URL.
    '\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03',
    ...[GET.replace('GET', 'BREW'), 'GET\r\n\r\n', version('HTTP/1.10'), version('ICY/1.1')],
    ...['/v1/pets\0', '/v1/pets?\xe9', '*', '**', 'v1/pets', '?limit=5', 'http:/v1/pets'].map(at),
    ...['http://', 'http:///v1/pets', 'http://?x', 'ftp://a/', 'http://u@a/', 'a:80'].map(at),
    ...['http://:80/livez', 'http://a,b/', 'http://[::1/', 'http://a#top', 'http://h:abc/'].map(at),
    ...['/v1/pets#x', '/livez?#'].map(at),
    // Percent-encoding that is broken, although its parts become right if they are decoded alone.
    ...['/v1/pets/%3%31', '/v1/pets/%2%35', '/livez?%'].map((path) => lastRequestOf(`GET ${path}`)),
    // Header fields: no name, a space within a name, whitespace first, a folded field, bare CR, LF.
    ...[': y', 'X Y: z', 'X: y\r\n\tz', 'X: y\rz'].map((field) => withHost('Host: a', field)),
    ...[withHost(' Host: a'), withHost('Host: a\nX: y')],
    // Which host?
    ...[withHost(), withHost('Host: a', 'Host: a'), version('HTTP/1.0\r\nHost: a')],
    requestOf('GET /v1/pets', [...Array<string>(250).fill('X-A: y'), 'Host: h']),
    ...['', 'a b', 'a,b', 'a, b', 'user@a', 'a/b', 'http://a', 'a?b', 'a#b', 'a\\b', 'a:b'].map(
      (host) => withHost(`Host: ${host}`),
    ),
    ...['a:80:80', ':80', '[::1', '::1', '[]', '[::g]', '[::1]x', '"a"', 'p\xe4ts', 'a:-1'].map(
      (host) => withHost(`Host: ${host}`),
    ),
    // How long is the body?
    ...['29\r\nContent-Length: 5', '', '+29', '29, 29', '9'.repeat(20)].map(withLength),
    ...[withLength(`29\r\n${CHUNKED}`), chunked(REX).replace(CHUNKED, 'Content-Length: 29\r\n$&')],
    ...[coded('chunked').replace('/1.1', '/1.0'), coded('chunked', 'chunked')],
    // Chunks: no size, too great a size, a longer chunk, bare LF and CR.
    ...['x\r\n', `${'f'.repeat(17)}\r\n`, `5\r\n${REX}\r\n0\r\n\r\n`].map(chunked),
    ...['1d\n$\r\n0\r\n\r\n', '1d\r\n$\n0\r\n\r\n', '1d;a\rb\r\n$\r\n0\r\n\r\n'].map((body) =>
      chunked(body.replace('$', REX)),
    ),
  ],
  unsupported_http_version: [
    ...['HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/3.0', 'HTTP/0.1'].map(version),
    ...['GET /\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ],
  unsupported_transfer_coding: [
    chunked('0\r\n\r\n').replace(CHUNKED, `${GZIP}\r\n$&`),
    ...['gzip, chunked', 'xchunked', 'chunked;a=b'].map((value) => coded(value)),
  ],
  body_too_large: [withLength(`${2n ** 63n}`)],
  headers_too_large: [
    requestOf('GET /v1/pets', [`${'x'.repeat(17_000)}: y`]),
    `GET /${'x'.repeat(900_000)}`,
    // More fields than node:http keeps: the second Host is one that it drops.
    requestOf('GET /v1/pets', [...Array<string>(2000).fill('X-A: y'), 'Host: h']),
  ],
  // Under /v1 authentication comes first.
  unauthorized: [
    ...['', 'Bearer', 'Bearer    ', KEY, `Bearer${KEY}`, `Bearer\t${KEY}`, `Basic ${KEY}`].map(
      (value) => withKey(credential(value)),
    ),
    ...[`${KEY}x`, `${KEY} ${KEY}`, '\xe9\xff', `\xa0${KEY}`].map((token) =>
      withKey(credential(`Bearer ${token}`)),
    ),
    withKey(credential(`Bearer ${KEY}`), credential(`Bearer ${KEY}`)),
    ...[
      ...['GET /v1', 'GET /v1/pets/%zz', 'GET /v1/pets?a=%zz', 'GET http://host/v1/x'],
      ...[`GET /v1/pets?access_token=${KEY}`, 'GET /v%31/nothing', 'OPTIONS /v1/pets'],
    ].map((line) => withoutKey(lastRequestOf(line, [`X-Api-Key: ${KEY}`, `Cookie: key=${KEY}`]))),
    ...[
      create(['Content-Length: 3000000'], '').concat('{'),
      create(['Content-Type: text/plain']),
      create(['Expect: 100-continue', `Content-Length: ${REX.length}`], ''),
      create(['Expect: a-miracle']),
    ].map(withoutKey),
  ],
  // An Idempotency-Key has 1 to 255 visible ASCII characters, perhaps as a string of RFC 9651.
  invalid_idempotency_key: [
    ...['', 'a b', 'a\tb', '\xe9', 'x'.repeat(256), '""', '"a b"', '"a\tb"', '"\xe9"', '"a', '"'],
    ...['"a";p=1', '"a"b', '"a"b"', '"\\a"', '"a\\"', 'a\r\nIdempotency-Key: a'],
  ].map((key) => create([`Idempotency-Key: ${key}`])),
  invalid_parameter: ['x', '', '9223372036854775808', '-9223372036854775809', '1.0'].map((after) =>
    lastRequestOf(`GET /v1/pets?after=${after}`),
  ),
  unsupported_media_type: [
    ...['', 'application/json x', 'xapplication/json', 'application/ld+json'],
    ...['application/json, a/b', 'application/json; a, b', `a/b\r\n${JSON_LINE}`],
    ...[`application/json\r\n${JSON_LINE}`, 'application/json\r\nContent-Encoding: '],
  ].map((type) => create([`Content-Type: ${type}`])),
  invalid_json: ['', `${REX}\0`, '\xef\xbb\xbf', `\xef\xbb\xbf${REX}`, `${REX}\xc0\x80`].map(
    (body) => create([`Content-Length: ${body.length}`], '') + body,
  ),
  expectation_failed: ['100', '100-continued', '100-continue, x', 'x=100-continue', ''].map(
    (value) => create([`Expect: ${value}`]),
  ),
  // Outside /v1 without a key; and a path that is not exactly one of the service.
  unknown_path: [
    ...['/pets', '/v1x/pets', '/V1/pets', '//v1/pets'].map((path) =>
      withoutKey(lastRequestOf(`GET ${path}`)),
    ),
    lastRequestOf('GET /v1%2Fpets'),
  ],
  // A parameter is decoded once, and an encoded slash stays in it.
  not_found: ['%2531', '1%2F', '..', '+'].map((petId) => lastRequestOf(`GET /v1/pets/${petId}`)),
};

/** What follows a refused request on its connection; no answer to it may come. */
const NEXT = lastRequestOf('GET /livez');

for (const [code, requests] of Object.entries(REFUSED) as [ErrorCode, readonly string[]][]) {
  test(`Refused with ${code}: one answer, which ends the connection, and no pet is added`, async () => {
    for (const bytes of requests) {
      const shown = JSON.stringify(bytes.slice(0, 200));
      const answers = await talk(service.port, Buffer.from(bytes + NEXT, 'latin1'));
      assert.equal(answers.length, 1, shown);
      const message = assertErrorAnswer(answers[0], code, shown);
      const { headers } = answers[0]!;
      assert.equal(headers.get('connection'), 'close', shown);
      assert.equal(/byte order mark/.test(message), bytes.includes('\xef\xbb\xbf'), message);
      // RFC 6750 section 3.1: an error only if a token was sent.
      const error = /not valid$/.test(message) ? ', error="invalid_token"' : '';
      const challenge =
        STATUS_OF_CODE[code] === 401 ? `Bearer realm="petstore"${error}` : undefined;
      assert.equal(headers.get('www-authenticate'), challenge, shown);
    }
    assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
  });
}

/** Requests that are served with 200. */
const SERVED: readonly string[] = [
  withHost().replace('HTTP/1.1', 'HTTP/1.0'),
  ...[
    'pets.example:',
    '127.0.0.1:80',
    '[::1]:8080',
    '[v1.fe]',
    'p%C3%A4ts',
    "a-._~!$&'()*+;=b",
  ].map((host) => withHost(`Host: ${host}`, 'Connection: close')),
  ...['http://a:80/livez', 'HTTPS://[::1]/livez', 'http://a/livez?x=?', '/%6Cive%7a'].map(
    (target) => lastRequestOf(`GET ${target}`),
  ),
  lastRequestOf('GET /livez', ['Transfer-Encoding: Chunked'], '0\r\n\r\n'),
  ...['bearer test-key', 'bEaReR   test-key', 'Bearer \ttest-key \t '].map((value) =>
    withKey(credential(value)),
  ),
  lastRequestOf('GET /v1/pets', [`X: ${'x'.repeat(16_000)}`]),
  // A body that a list does not need is ignored.
  lastRequestOf('GET /v1/pets', ['Accept: text/html'], '{"a":1}'),
];

test('Request body: none, and one that is sent all the same is ignored (S4.1.1)', async () => {
  for (const bytes of SERVED) {
    const answers = await talk(service.port, bytes);
    assert.deepEqual([answers.length, answers[0]?.status], [1, 200], bytes.slice(0, 200));
  }
});

test('A create takes application/json, with parameters, or no type', async (t) => {
  const own = await openService(t);
  for (const field of [
    ...['Content-Type: Application/JSON', 'Content-Type: application/json;charset="a\\"b"'],
    ...['Content-Type: application/json ; a="b, or c"', 'X-No-Type: x'],
  ]) {
    assert.equal((await ask(own, 'POST /v1/pets', [field], REX)).status, 201, field);
  }
  // A path is percent-decoded, and a query that getPet does not read is ignored.
  const answer = await ask(own, 'GET http://h/v1/p%65ts/%31?limit=0&status=lost');
  assert.equal(answer.body, REX_1);
});
