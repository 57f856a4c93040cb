/** The request target: the forms of RFC 9112 section 3.2 and their two parts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizePath, readTarget } from '../../src/http/request-target.ts';

const TARGETS: readonly (readonly [target: string, path: string, query: string])[] = [
  ['/', '/', ''],
  ['/v1/pets', '/v1/pets', ''],
  ['/v1/pets?', '/v1/pets', ''],
  ['/v1/pets?limit=5&x=?', '/v1/pets', 'limit=5&x=?'],
  ['/?/v1/pets', '/', '/v1/pets'],
  ['//v1/pets', '//v1/pets', ''],
  ['/a%3Fb', '/a%3Fb', ''],
  ['/http://h/x', '/http://h/x', ''],
  ['*', '*', ''],
  ['http://pets.example', '/', ''],
  ['http://pets.example/', '/', ''],
  ['http://pets.example:8080/v1/pets?limit=5', '/v1/pets', 'limit=5'],
  ['HTTPS://pets.example/v1', '/v1', ''],
  ['http://pets.example?limit=5', '/', 'limit=5'],
  ['http://[::1]:8080/v1/pets', '/v1/pets', ''],
  ['http://pets.example/a@b', '/a@b', ''],
];

for (const [target, path, query] of TARGETS) {
  test(`The target ${target} has the path '${path}' and the query '${query}'`, () => {
    assert.deepEqual(readTarget(target), { path, query });
  });
}

const INVALID = [
  ...['', 'v1/pets', '?limit=5', '**', 'http:/v1/pets', 'http://', 'http:///v1/pets', 'http://?x'],
  ...['ftp://pets.example/', 'mailto:a@b', 'http://user@pets.example/', 'http://a:b@pets.example/'],
  ...[
    'http://:80/livez',
    'http://h:abc/',
    'http://a,b/',
    'http://a b/',
    'http://[::1/',
    'http://h:1:2/',
  ],
  ...['http://pets.example#top', 'pets.example:80', 'javascript:0'],
];

for (const target of INVALID) {
  test(`The target '${target}' is refused`, () => {
    const message = `The request target ${JSON.stringify(target)} is not valid`;
    const error = { code: 'malformed_request', status: 400, message };
    assert.throws(() => readTarget(target), error);
  });
}

test('normalizePath decodes only the characters that need no encoding', () => {
  const cases: readonly (readonly [path: string, normalized: string])[] = [
    ['/', '/'],
    ['/v1/%70ets/%41%7A%30%2D%2e%5F%7e', '/v1/pets/Az0-._~'],
    ['/a%2Fb/%20/%00/%C3%A9', '/a%2Fb/%20/%00/%C3%A9'],
    ['/%2541', '/%2541'],
    ['/%/%4/%zz/%ff', '/%/%4/%zz/%ff'],
  ];
  for (const [path, normalized] of cases) assert.equal(normalizePath(path), normalized);
});
