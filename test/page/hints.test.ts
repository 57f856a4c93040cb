/** The hints of path-hint.ts, which a 404 of an unknown path has in its message. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut } from '../../src/core/base/quote.ts';
import { openService, type Service } from '../support/http/service.ts';
import { ask, assertErrorAnswer } from '../support/http/wire.ts';

type Hints = readonly (readonly [path: string, hint: string])[];

/** Paths below the prefix, and the path that each probably means, if there is one. */
const HINTS: Hints = [
  ['/v1/v1/pets', '/v1/pets'],
  ['/v1/pets/', '/v1/pets'],
  ['/v1/pet', '/v1/pets'],
  ['/pets', '/v1/pets'],
  ['/v1/pet/7', '/v1/pets/7'],
  ['//', '/'],
  ['//v1//pets', '/v1/pets'],
  ['/V1/Pets', '/v1/pets'],
  ['/v2/pets', '/v1/pets'],
  ['/api/v1/p%65ts', '/v1/pets'],
  ['/v1/livez', '/livez'],
  ['/doc', '/docs'],
  // Two mistakes, or a name that is only similar, get no suggestion.
  ['/ready', ''],
  ['/pet', ''],
  ['/v1/cats', ''],
  ['/v1/dogs', ''],
  ['/v1', ''],
  ['/v1/pets/1/2', ''],
  [`/${'a/'.repeat(95)}pets`, '/v1/pets'],
  [`/${'a/'.repeat(100)}pets`, ''],
];

for (const prefix of ['', '/shop']) {
  test(`The 404 of an unknown path has a hint, with the prefix "${prefix}"`, async (t) => {
    const service = await openService(t, { prefix, page: true });
    // Below a prefix the page's own path may lack its slash.
    const hints = prefix === '' ? HINTS : ([['', '/'], ...HINTS] as const);
    for (const [path, meant] of hints) {
      const means = `, did you mean ${prefix}${meant}?`;
      const hint = meant === '' ? `: ${prefix}/docs lists all paths` : means;
      await assertHint(service, `${prefix}${path}`, hint);
    }
  });
}

/** Paths and hints of a service with the prefix /shop and without a page. */
const OUTSIDE: Hints = [
  ['/shop/doc', ': /shop/openapi.json lists all paths'],
  ['/livez', ': every path begins with /shop/, did you mean /shop/livez?'],
  ['/shopping', ': every path begins with /shop/'],
  [`/shop/pets/${'7'.repeat(100)}`, `, did you mean /shop/v1/pets/${'7'.repeat(46)}…?`],
];

test('A hint names the prefix and a page only if the service has them, and is truncated', async (t) => {
  const service = await openService(t, { prefix: '/shop' });
  for (const [path, hint] of OUTSIDE) await assertHint(service, path, hint);
});

async function assertHint(service: Service, path: string, hint: string): Promise<void> {
  const answer = await ask(service, `POST ${path}?x`);
  // The bytes of an answer are read as latin1.
  const message = Buffer.from(assertErrorAnswer(answer, 'unknown_path', path), 'latin1').toString();
  assert.equal(message, `Unknown path ${cut(path)}${hint}`);
}
