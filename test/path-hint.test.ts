/** Hints: what the 404 of an unknown path names, for whom, and when it names nothing. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppOptions } from '../src/app-options.ts';
import { createPathHint } from '../src/openapi/path-hint.ts';
import { openService } from './support/http/service.ts';
import { ask, assertErrorAnswer } from './support/http/wire.ts';

/** Paths, and what follows them in the message. */
const HINTS: readonly (readonly [path: string, hint: string])[] = [
  ['/v1/v1/pets', ', did you mean /v1/pets?'],
  ['/v1/pets/', ', did you mean /v1/pets?'],
  ['/v1/pet', ', did you mean /v1/pets?'],
  ['/pets', ', did you mean /v1/pets?'],
  ['/v1/pet/7', ', did you mean /v1/pets/7?'],
  ['/v1/pets/7/', ', did you mean /v1/pets/7?'],
  ['//v1//pets', ', did you mean /v1/pets?'],
  ['/V1/Pets', ', did you mean /v1/pets?'],
  ['/v2/pets', ', did you mean /v1/pets?'],
  ['/api/v1/p%65ts', ', did you mean /v1/pets?'],
  ['/v1/livez', ', did you mean /livez?'],
  ['/ready', ', did you mean /readyz?'],
  // Two mistakes, or a name that is only similar, get no suggestion.
  ['/pet', ': LIST lists all paths'],
  ['/v1/cats', ': LIST lists all paths'],
  ['/v1/dogs', ': LIST lists all paths'],
  ['/v1', ': LIST lists all paths'],
  ['/v1/pets/1/2', ': LIST lists all paths'],
  ['/index.html', ': LIST lists all paths'],
  [`/${'a/'.repeat(95)}pets`, ', did you mean /v1/pets?'],
  [`/${'a/'.repeat(100)}pets`, ': LIST lists all paths'],
];

const PATTERNS = ['/v1/pets', '/v1/pets/{petId}', '/livez', '/readyz', '/openapi.json', '/docs'];

for (const prefix of ['', '/shop']) {
  const patterns = PATTERNS.map((pattern) => `${prefix}${pattern}`);
  const listPath = `${prefix}/docs`;
  const hintFor = createPathHint({ patterns, prefix, protectedPath: `${prefix}/v1`, listPath });

  for (const [path, hint] of HINTS) {
    test(`The path ${prefix}${path.slice(0, 40)} has its hint`, () => {
      const expected = hint.replace('LIST', listPath).replace(', did you mean ', `$&${prefix}`);
      assert.equal(hintFor(`${prefix}${path}`), expected);
    });
  }
}

test('The hint for a long path is truncated', () => {
  const patterns = ['/v1/pets/{petId}'];
  const hint = createPathHint({ patterns, prefix: '', protectedPath: '/v1', listPath: '/docs' });
  assert.match(hint(`/pets/${'7'.repeat(100)}`), /^, did you mean \/v1\/pets\/7{51}…\?$/);
});

const SHOP = { prefix: '/shop', page: true };

/** Targets that a service does not know, and what follows the path in the message. */
const UNKNOWN: readonly (readonly [options: Partial<AppOptions>, target: string, hint: string])[] =
  [
    [{ page: true }, '/v1/pet', ', did you mean /v1/pets?'],
    [{ page: true }, '/doc?x', ', did you mean /docs?'],
    [{}, '/doc', ': /openapi.json lists all paths'],
    [SHOP, '/shop/v1/v1/pets', ', did you mean /shop/v1/pets?'],
    [SHOP, '/shop/x', ': /shop/docs lists all paths'],
    [SHOP, '/livez', ': every path begins with /shop/, did you mean /shop/livez?'],
    [SHOP, '/shopping', ': every path begins with /shop/'],
  ];

for (const [options, target, hint] of UNKNOWN) {
  const { prefix = '' } = options;
  test(`The 404 of ${target} has its hint, but below /v1 only with a key, if the prefix is '${prefix}'`, async (t) => {
    const service = await openService(t, options);
    const answer = await ask(service, `POST ${target}`, ['Accept: text/html']);
    const [path = ''] = target.split('?');
    assert.equal(assertErrorAnswer(answer, 'unknown_path'), `Unknown path ${path}${hint}`);
    const { status } = await service.fetch(target, { headers: { Authorization: '' } });
    assert.equal(status, target.startsWith(`${prefix}/v1`) ? 401 : 404);
  });
}
