/** The request target: the forms of RFC 9112 section 3.2 and their two parts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTarget } from '../../src/http/request-target.ts';

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
    assert.deepEqual(readTarget(target), { path, query });
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
    const message = `The request target ${JSON.stringify(target)} is not valid`;
    const error = { code: 'malformed_request', status: 400, message };
    assert.throws(() => readTarget(target), error);
  });
}
