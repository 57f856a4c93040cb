/**
 * Requests that no server should serve: each gets one Error body, and its connection is closed.
 *
 * Some are refused by node:http's parser, some by rules of our own; no client can tell which.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ErrorCode } from '../../src/http/api-error.ts';
import { openService } from '../support/http/service.ts';
import {
  CHUNKED,
  REX,
  ask,
  assertErrorAnswer,
  lastRequestOf,
  requestOf,
  statusesOf,
  talk,
} from '../support/http/wire.ts';

const service = await openService({ after });

const LENGTH = 'Content-Length: 29';
const GZIP = 'Transfer-Encoding: gzip';
const GET = requestOf('GET /v1/pets');
/** What follows a refused request on its connection; no answer to it may come. */
const NEXT = lastRequestOf('GET /livez');

/** The request to list pets with other fields instead of its Host. */
const withHost = (...fields: readonly string[]): string =>
  GET.replace('Host: a\r\n', fields.map((field) => `${field}\r\n`).join(''));
const chunked = (body: string): string => requestOf('POST /v1/pets', [CHUNKED], body);
const withLength = (length: string): string =>
  requestOf('POST /v1/pets', [`Content-Length: ${length}`]) + REX;

/** More fields than the thousand that node:http keeps by default, within the limit of 16 KiB. */
const MANY = Array<string>(2000).fill('X-A: y');

type Case = readonly [what: string, bytes: string | Buffer];

const CASES: Readonly<Partial<Record<ErrorCode, readonly Case[]>>> = {
  malformed_request: [
    // The request line.
    ['bytes of TLS', Buffer.from('16030100c8010000c40303', 'hex')],
    ['an unknown method', GET.replace('GET', 'BREW')],
    ['the target * of a GET', GET.replace('/v1/pets', '*')],
    ['a request line without a target', 'GET\r\n\r\n'],
    ['HTTP/1.10', GET.replace('HTTP/1.1', 'HTTP/1.10')],
    ['another protocol', GET.replace('HTTP/1.1', 'ICY/1.1')],
    ['NUL in the target', GET.replace('/pets', '/pets\0')],
    ['8-bit characters in the target', GET.replace('/pets', '/pets?\xe9')],
    // Header fields.
    ['no name', withHost('Host: a', ': y')],
    ['a space within a name', withHost('Host: a', 'X Y: z')],
    ['a field that starts with whitespace', withHost(' Host: a')],
    ['a folded field', withHost('Host: a', 'X: y\r\n\tz')],
    ['a bare CR in a value', withHost('Host: a', 'X: y\rz')],
    ['a bare LF after a value', withHost('Host: a\nX: y')],
    // Which host?
    ['no Host', withHost()],
    ['a second Host past the thousandth field', requestOf('GET /v1/pets', [...MANY, 'Host: h'])],
    // How long is the body?
    ['two Content-Lengths', withLength('29\r\nContent-Length: 5')],
    ['an empty Content-Length', withLength('')],
    ['a Content-Length with a sign', withLength('+29')],
    ['a list of Content-Lengths', withLength('29, 29')],
    ['a Content-Length past 64 bits', withLength('99999999999999999999')],
    ['Transfer-Encoding, then Content-Length', withLength(`29\r\n${CHUNKED}`)],
    ['Content-Length, then Transfer-Encoding', chunked(REX).replace(CHUNKED, `${LENGTH}\r\n$&`)],
    ['Transfer-Encoding in HTTP/1.0', chunked('0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0')],
    ['Transfer-Encoding twice', chunked('0\r\n\r\n').replace(CHUNKED, '$&\r\n$&')],
    // Chunks.
    ['an invalid chunk size', chunked('x\r\n')],
    ['a chunk size past 64 bits', chunked('fffffffffffffffff\r\n')],
    ['a chunk that is longer than it says', chunked(`5\r\n${REX}\r\n0\r\n\r\n`)],
    ['a bare LF after the chunk size', chunked(`1d\n${REX}\r\n0\r\n\r\n`)],
    ['a bare LF after the chunk', chunked(`1d\r\n${REX}\n0\r\n\r\n`)],
    ['a bare CR in a chunk extension', chunked(`1d;a\rb\r\n${REX}\r\n0\r\n\r\n`)],
  ],
  unsupported_http_version: [
    ['a request line without a version', 'GET /\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ],
  unsupported_transfer_coding: [
    ['gzip, then chunked', chunked('0\r\n\r\n').replace(CHUNKED, `${GZIP}\r\n$&`)],
  ],
  body_too_large: [['a Content-Length of 2^63', withLength(`${2n ** 63n}`)]],
  headers_too_large: [
    ['a long name', requestOf('GET /v1/pets', [`${'x'.repeat(17_000)}: y`])],
    ['a target that never ends', `GET /${'x'.repeat(900_000)}`],
  ],
};

for (const [code, cases] of Object.entries(CASES) as [ErrorCode, readonly Case[]][]) {
  for (const [what, bytes] of cases) {
    test(`${what} is refused with ${code}, and the connection is closed`, async () => {
      const raw = typeof bytes === 'string' ? Buffer.from(bytes + NEXT, 'latin1') : bytes;
      const answers = await talk(service.port, raw);
      assert.equal(answers.length, 1, JSON.stringify(answers));
      assertErrorAnswer(answers[0], code);
      assert.equal(answers[0]?.headers.get('connection'), 'close');
    });
  }
}

test('None of these requests has added a pet', async () => {
  assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
});

test('HTTP/1.0 without a Host, spaces after a credential, and a header of 16 KB are served', async () => {
  for (const bytes of [
    withHost().replace('HTTP/1.1', 'HTTP/1.0'),
    lastRequestOf('GET /v1/pets').replace(/test-key/, '$& \t '),
    lastRequestOf('GET /v1/pets', [`X: ${'x'.repeat(16_000)}`]),
  ]) {
    assert.deepEqual(statusesOf(await talk(service.port, bytes)), [200]);
  }
});

test('A path of 14 KB with broken encoding is decoded as a whole, not in pieces', async (t) => {
  const decode = t.mock.method(globalThis, 'decodeURIComponent');
  for (const [start, piece] of [
    ['/v1/', '%/'],
    ['/nothing/', '%ff/'],
  ] as const) {
    decode.mock.resetCalls();
    const answer = await ask(service, `GET ${start}${piece.repeat(14_000 / piece.length)}`);
    assertErrorAnswer(answer, 'malformed_request');
    const count = decode.mock.callCount();
    assert.ok(count > 0 && count < 10, `${count} times`);
  }
});
