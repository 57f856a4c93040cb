/** The rules of HTTP/1.1 that node:http leaves to us: the header, and the forms of the target. */

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { ApiError, ErrorCode } from '../../src/http/api-error.ts';
import { findBrokenRule, readHeaders, readTarget } from '../../src/http/request-header.ts';

const GOOD: readonly (readonly [version: string, ...rawHeaders: string[]])[] = [
  ['1.0'],
  ['1.0', 'Host', 'pets.example'],
  ['1.1', 'Host', 'pets.example', 'Transfer-Encoding', 'chunked'],
  ['1.1', 'Host', 'pets.example', 'Transfer-Encoding', 'Chunked'],
  ...[
    ...['a', 'pets.example', 'pets.example:', 'pets.example:8080', '127.0.0.1', '127.0.0.1:80'],
    ...['[::1]', '[::1]:8080', '[v1.fe]', 'my_pets', 'p%C3%A4ts', "a-._~!$&'()*+;=b"],
  ].map((host) => ['1.1', 'Host', host] as const),
];

for (const [version, ...rawHeaders] of GOOD) {
  test(`HTTP/${version} with ${JSON.stringify(rawHeaders)} keeps the rules`, () => {
    assert.equal(findBrokenRule(request(version), readHeaders(rawHeaders)), undefined);
  });
}

const HOST = ['Host', 'a'];
const CODING = 'Transfer-Encoding';
const codings = (...values: readonly string[]): readonly string[] => [
  ...HOST,
  ...values.flatMap((value) => [CODING, value]),
];

type Case = readonly [version: string, rawHeaders: readonly string[], message: string];

const BAD: Readonly<Partial<Record<ErrorCode, readonly Case[]>>> = {
  unsupported_http_version: ['0.9', '1.2', '2.0', '3.0', '0.1'].map((version) => [
    version,
    HOST,
    `HTTP/${version} is not supported, only HTTP/1.0 and HTTP/1.1`,
  ]),
  unsupported_transfer_coding: [
    ...[['gzip, chunked'], ['gzip'], ['identity'], ['chunked, chunked'], ['xchunked'], ['']],
    ...[['chunked;a=b'], ['chunked', 'chunked']],
  ].map((values) => {
    const found = JSON.stringify(values.join(', '));
    return ['1.1', codings(...values), `Transfer-Encoding must be chunked, not ${found}`];
  }),
  malformed_request: [
    ['1.0', codings('chunked'), 'Transfer-Encoding is not part of HTTP/1.0'],
    ['1.1', [], 'A Host field is required'],
    ['1.1', [...HOST, ...HOST], 'Host "a, a" is not a host'],
    ['1.0', [...HOST, ...HOST], 'Host "a, a" is not a host'],
    ...[
      ...['', ' ', 'a b', 'a,b', 'a, b', 'user@a', 'a/b', 'http://a', 'a?b', 'a#b', 'a\\b', 'a:b'],
      ...['a:80:80', ':80', '[::1', '::1', '[]', '[::g]', '[::1]x', '"a"', 'p\u00e4ts', 'a:-1'],
    ].map((host): Case => ['1.1', ['Host', host], `Host ${JSON.stringify(host)} is not a host`]),
  ],
};

for (const [code, cases] of Object.entries(BAD)) {
  for (const [version, rawHeaders, message] of cases) {
    test(`HTTP/${version} with ${JSON.stringify(rawHeaders)} is refused: ${code}`, () => {
      const error = findBrokenRule(request(version), readHeaders(rawHeaders));
      assert.deepEqual([error?.code, error?.message], [code, message]);
    });
  }
}

function request(httpVersion: string): IncomingMessage {
  const [httpVersionMajor, httpVersionMinor] = httpVersion.split('.').map(Number);
  return { httpVersion, httpVersionMajor, httpVersionMinor } as IncomingMessage;
}

const TARGETS: readonly (readonly [target: string, path: string, query: string])[] = [
  ['/v1/pets', '/v1/pets', ''],
  ['/v1/pets?limit=5&x=?', '/v1/pets', 'limit=5&x=?'],
  ['/?/v1/pets', '/', '/v1/pets'],
  ['//v1/pets', '//v1/pets', ''],
  ['/http://h/x', '/http://h/x', ''],
  ['*', '*', ''],
  ['http://pets.example', '/', ''],
  ['http://pets.example:8080/v1/pets?limit=5', '/v1/pets', 'limit=5'],
  ['HTTPS://pets.example/v1', '/v1', ''],
  ['http://pets.example?limit=5', '/', 'limit=5'],
  ['http://[::1]:8080/v1/pets', '/v1/pets', ''],
  ['http://pets.example/a@b', '/a@b', ''],
];

for (const [target, path, query] of TARGETS) {
  test(`The target ${target} has the path '${path}' and the query '${query}'`, () => {
    assert.deepEqual(readTarget('OPTIONS', target), { path, query });
  });
}

const INVALID = [
  ...['', 'v1/pets', '?limit=5', '**', 'http:/v1/pets', 'http://', 'http:///v1/pets', 'http://?x'],
  ...['ftp://pets.example/', 'mailto:a@b', 'http://user@pets.example/', 'http://a:b@pets.example/'],
  ...['http://:80/livez', 'http://h:abc/', 'http://a,b/', 'http://a b/', 'http://[::1/'],
  ...['http://pets.example#top', 'pets.example:80', 'javascript:0'],
];

for (const target of INVALID) {
  test(`The target '${target}' is refused`, () => {
    const { code, message } = readTarget('OPTIONS', target) as ApiError;
    const expected = `The request target ${JSON.stringify(target)} is not valid`;
    assert.deepEqual([code, message], ['malformed_request', expected]);
  });
}

test('The target * is for OPTIONS only', () => {
  const { code, message } = readTarget('GET', '*') as ApiError;
  assert.deepEqual([code, message], ['malformed_request', 'The request target * is not for GET']);
});
