/** The router: which paths match, exactly, and what their parameters are. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouter } from '../../src/http/router.ts';

const PATTERNS = ['/', '/Az0-._~', '/v1/pets', '/v1/pets/{petId}', '/v1/{kind}/{id}/photos'];
const findRoute = createRouter(new Map(PATTERNS.map((pattern) => [pattern, pattern])));

const MATCHES: readonly (readonly [path: string, pattern: string, ...parameters: string[]])[] = [
  ['/', '/'],
  ['/%41%7A%30%2D%2e%5F%7e', '/Az0-._~'],
  ['/v1/pets', '/v1/pets'],
  ['/v1/p%65ts', '/v1/pets'],
  ['/%76%31/pets', '/v1/pets'],
  ['/v1/pets/1', '/v1/pets/{petId}', '1'],
  ['/v1/pets/%31', '/v1/pets/{petId}', '1'],
  ['/%761/%70ets/7', '/v1/pets/{petId}', '7'],
  ['/v1/pets/%2531', '/v1/pets/{petId}', '%31'],
  ['/v1/pets/a%2Fb', '/v1/pets/{petId}', 'a/b'],
  ['/v1/pets/%C3%A9', '/v1/pets/{petId}', 'é'],
  ['/v1/pets/+', '/v1/pets/{petId}', '+'],
  ['/v1/pets/{petId}', '/v1/pets/{petId}', '{petId}'],
  ['/v1/pets/..', '/v1/pets/{petId}', '..'],
  ['/v1/dogs/7/photos', '/v1/{kind}/{id}/photos', 'dogs', '7'],
];

for (const [path, pattern, ...parameters] of MATCHES) {
  test(`The path ${path} matches ${pattern} with [${parameters.join(', ')}]`, () => {
    assert.deepEqual(findRoute(path), { route: pattern, parameters });
  });
}

const STRANGERS = [
  ...['//', '/Az0-._~/', '//Az0-._~', '/AZ0-._~', '/Az0-._~%20', '/Az0-._~%2F', '/Az0-._'],
  ...['/v1', '/v1/', '/v1/pets/', '/v1/pets//', '/v1//pets', '//v1/pets', '/v1/Pets', '/V1/pets'],
  ...['/v1%2Fpets', '/v1/pets%2F1', '/v1/pets/1/', '/v1/pets/1/2', '/v2/pets', '/pets'],
  ...['/v1/pets/%', '/v1/pets/%3', '/v1/pets/%zz', '/v1/pets/%ff', '/v1/pets/%C3', '/%ff/pets/1'],
  ...['/v1/dogs//photos', '/v1//7/photos', '/v1/./pets', '/v1/../v1/pets'],
];

for (const path of STRANGERS) {
  test(`The path '${path}' matches nothing`, () => {
    assert.equal(findRoute(path), undefined);
  });
}
