/**
 * Failures of HTTP itself (RFC 9110, RFC 9112), over raw connections. Each is an Error body, also
 * those that node:http would answer with an empty one. A few of each kind.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ErrorCode } from '../../src/http/api-error.ts';
import type { ServiceResponse } from '../../src/kit/test-client.ts';
import { KEY } from '../support/http/service.ts';
import { assertError, message, openOwnService, REX, testRefused } from './own-client.ts';

const { client } = await openOwnService({ after });

const CHUNKED = 'Transfer-Encoding: chunked';
const REX_LENGTH = `Content-Length: ${REX.length}`;
const THREE_MB = `${REX}${' '.repeat(3_000_000)}`;
const HEX_LENGTH = THREE_MB.length.toString(16);

interface Raw {
  readonly line?: string;
  readonly fields?: readonly string[];
  readonly body?: string;
  /** The last word on the bytes. */
  readonly change?: (bytes: string) => string;
}

const host =
  (line: string) =>
  (bytes: string): string =>
    bytes.replace(/Host.*\r\n/, line);
const version =
  (text: string) =>
  (bytes: string): string =>
    bytes.replace(' HTTP/1.1', text);
const post = (body: string, ...fields: readonly string[]): Raw => {
  return { line: 'POST /v1/pets', fields, body };
};

const TABLE: readonly (readonly [sentence: string, ErrorCode, readonly Raw[]])[] = [
  [
    'A malformed request is 400, with an Error body',
    'malformed_request',
    [
      { change: () => 'nonsense\r\n\r\n' },
      ...['GET v1/pets', 'GET *', 'GET ftp://h/v1/pets', 'GET /v1/pe ts'].map((line) => ({ line })),
      ...['get /v1/pets', 'BREW /v1/pets'].map((line) => ({ line })),
      ...['', 'Host:\r\n', 'Host: h/x\r\n', 'Host: u@h\r\n', 'Host: a, b\r\n'].map((line) => {
        return { change: host(line) };
      }),
      ...['Host: h', 'nonsense', 'X : y', 'X: a\r\n b', 'X: \0'].map((line) => {
        return { fields: [line] };
      }),
      { change: (bytes) => bytes.replaceAll('\r\n', '\n') },
      ...['x', '-1'].map((length) => post('', `Content-Length: ${length}`)),
      post(REX, REX_LENGTH, 'Content-Length: 5'),
      post(REX, REX_LENGTH, CHUNKED),
      post('x\r\n', CHUNKED),
    ],
  ],
  [
    'A header that is too large is 431',
    'headers_too_large',
    [{ fields: [`X: ${'x'.repeat(17_000)}`] }, { line: `GET /v1/pets?${'x'.repeat(17_000)}` }],
  ],
  [
    'A body that is too long is 413',
    'body_too_large',
    [
      post(THREE_MB, `Content-Length: ${THREE_MB.length}`),
      post(`${HEX_LENGTH}\r\n${THREE_MB}\r\n0\r\n\r\n`, CHUNKED),
      post(`${'7\r\n       \r\n'.repeat(10_000)}0\r\n\r\n`, CHUNKED),
      post(`10001\r\n${REX.padEnd(65_537)}\r\n0\r\n\r\n`, CHUNKED),
      post(REX, `Content-Length: ${2n ** 63n}`),
    ],
  ],
  [
    'An empty body is 400',
    'invalid_json',
    [post('', 'Content-Length: 0'), post(''), post('0\r\n\r\n', CHUNKED)],
  ],
  [
    'An Expect that cannot be met is 417',
    'expectation_failed',
    [{ fields: ['Expect: a-miracle'] }, post('', 'Expect: 100-continue, x')],
  ],
  [
    'A transfer coding is 501',
    'unsupported_transfer_coding',
    ['gzip', 'gzip, chunked', 'identity'].map((coding) => post('', `Transfer-Encoding: ${coding}`)),
  ],
  [
    'Another version of HTTP is 505',
    'unsupported_http_version',
    [' HTTP/2.0', ' HTTP/3.0', ' HTTP/1.2', ' HTTP/0.9', ''].map((text) => {
      return { change: version(text) };
    }),
  ],
];

/** The one response; a second would belong to no request. */
async function only(raw: Raw): Promise<ServiceResponse | undefined> {
  const { line = 'GET /v1/pets', fields, body, change = (bytes: string) => bytes } = raw;
  const responses = await client.exchange(change(message(line, fields, body)));
  assert.ok(responses.length <= 1, `expected one response, not ${responses.length}`);
  return responses[0];
}

for (const [sentence, code, cases] of TABLE) testRefused(sentence, code, cases, only);

const TAKEN: readonly Raw[] = [
  ...['h', 'h:1', 'example.com:', '127.0.0.1:8080', '[::1]:8080', 'a-b_c.d'].map((name) => {
    return { change: host(`Host: ${name}\r\n`) };
  }),
  { change: (bytes) => version(' HTTP/1.0')(host('')(bytes)) },
];

test('Any well-formed Host is accepted, and HTTP/1.0 without one', async () => {
  for (const raw of TAKEN) assert.equal((await only(raw))?.status, 200);
});

/** More fields than the thousand that node:http keeps by default, within the limit of 16 KiB. */
const MANY = Array.from({ length: 2000 }, () => 'X-A: y');
const PAST_MANY: readonly [field: string, code: ErrorCode][] = [
  ['Host: h', 'malformed_request'],
  ['Authorization: Bearer KEY', 'unauthorized'],
  ['Expect: a-miracle', 'expectation_failed'],
  ['Content-Encoding: gzip', 'unsupported_media_type'],
];

test('A field past the thousandth counts as any other', async () => {
  for (const [field, code] of PAST_MANY) {
    const raw = post(REX, REX_LENGTH, ...MANY, field.replace('KEY', KEY));
    assertError(await only(raw), code, field);
  }
});
