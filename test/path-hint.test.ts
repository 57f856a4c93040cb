/** Hints: what the 404 of an unknown path names, for whom, and when it names nothing. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { AppOptions } from '../src/app-options.ts';
import { createPathHint } from '../src/openapi/path-hint.ts';
import { startService, type Service } from './support/http/service.ts';

const NO_KEY = { headers: { Authorization: '' } };

/** Requested paths, and what follows them in the message. */
const HINTS: readonly (readonly [path: string, hint: string])[] = [
  ['/v1/v1/pets', ', did you mean /v1/pets?'],
  ['/v1/pets/', ', did you mean /v1/pets?'],
  ['/v1/pet', ', did you mean /v1/pets?'],
  ['/pets', ', did you mean /v1/pets?'],
  ['/v1/pet/7', ', did you mean /v1/pets/7?'],
  ['/v1/pets/7/', ', did you mean /v1/pets/7?'],
  ['/pets/7?limit=1', ', did you mean /v1/pets/7?'],
  ['//v1//pets', ', did you mean /v1/pets?'],
  ['/PETS', ', did you mean /v1/pets?'],
  ['/V1/Pets', ', did you mean /v1/pets?'],
  ['/v2/pets', ', did you mean /v1/pets?'],
  ['/api/v1/p%65ts', ', did you mean /v1/pets?'],
  ['/v1/livez', ', did you mean /livez?'],
  ['/ready', ', did you mean /readyz?'],
  ['/v1/openapi.json', ', did you mean /openapi.json?'],
  // Two mistakes, or a name that is only similar, get no suggestion.
  ['/pet', ': LIST lists all paths'],
  ['/v1/cats', ': LIST lists all paths'],
  ['/v1/dogs', ': LIST lists all paths'],
  ['/v1', ': LIST lists all paths'],
  ['/v1/pets/1/2', ': LIST lists all paths'],
  ['/v1/store/orders', ': LIST lists all paths'],
  ['/index.html', ': LIST lists all paths'],
  [`/${'a/'.repeat(95)}pets`, ', did you mean /v1/pets?'],
  [`/${'a/'.repeat(100)}pets`, ': LIST lists all paths'],
];

const SERVICES: readonly (readonly [title: string, options: Partial<AppOptions>])[] = [
  ['with the page', { page: true }],
  ['without the page', {}],
  ['under a prefix, with the page', { page: true, prefix: '/shop' }],
  ['under a prefix, without the page', { prefix: '/shop' }],
];

for (const [title, options] of SERVICES) {
  const { prefix = '', page = false } = options;
  const list = `${prefix}${page ? '/docs' : '/openapi.json'}`;
  let service: Service;
  before(async () => (service = await startService(options)));
  after(() => service.close());

  const messageOf = async (path: string, init: RequestInit = {}): Promise<string> => {
    const response = await service.fetch(path, init);
    assert.equal(response.status, 404, path);
    const { code, message } = (await response.json()) as { code: string; message: string };
    assert.equal(code, 'unknown_path');
    return message;
  };

  for (const [path, hint] of HINTS) {
    test(`The 404 of ${path.slice(0, 40)} has its hint, ${title}`, async () => {
      const mounted = hint.replace('LIST', list).replace(', did you mean ', `$&${prefix}`);
      const asked = `${prefix}${path}`;
      const message = await messageOf(asked);
      assert.ok(message.startsWith(`Unknown path ${asked.slice(0, 50).replace(/\?.*/, '')}`));
      assert.ok(message.endsWith(mounted), message);
      // Neither Accept nor the method changes the message.
      assert.equal(await messageOf(asked, { headers: { Accept: 'text/html' } }), message);
      assert.equal(await messageOf(asked, { method: 'POST', body: '{}' }), message);
    });
  }

  test(`Without an API key the protected paths are 401 without a hint, ${title}`, async () => {
    for (const path of ['/v1/pet', '/v1/v1/pets', '/v1/pets/', '/v1', '/v1/livez']) {
      const response = await service.fetch(`${prefix}${path}`, NO_KEY);
      const { code, message } = (await response.json()) as { code: string; message: string };
      assert.equal(code, 'unauthorized');
      assert.equal(message, 'An API key is required: Authorization: Bearer <API_KEY>');
    }
    assert.match(await messageOf(`${prefix}/pets`, NO_KEY), /did you mean/);
  });

  test(`A hint names /docs only if the page is on, ${title}`, async () => {
    const message = await (await service.fetch(`${prefix}/doc`)).text();
    assert.equal(message.includes(`did you mean ${prefix}/docs?`), page, message);
    if (!page) assert.doesNotMatch(message, /docs\b|"\/"/);
  });

  if (prefix !== '') {
    test(`Outside the prefix the 404 of any path names the prefix, ${title}`, async () => {
      for (const path of ['/', '/v1/pets', '/v1/pets/7', '/nothing', '/livez', '/shopping/x']) {
        const message = await messageOf(path, NO_KEY);
        assert.ok(
          message.startsWith(`Unknown path ${path}: every path begins with /shop/`),
          message,
        );
      }
      assert.match(await messageOf('/v1/pets'), /shop\/, did you mean \/shop\/v1\/pets\?$/);
      assert.match(await messageOf('/livez'), /shop\/, did you mean \/shop\/livez\?$/);
      assert.match(await messageOf('/nothing'), /shop\/$/);
    });
  }
}

test('The hint for a long path is truncated', () => {
  const patterns = ['/v1/pets/{petId}'];
  const hint = createPathHint({ patterns, prefix: '', protectedPath: '/v1', listPath: '/docs' });
  assert.match(hint(`/pets/${'7'.repeat(100)}`), /^, did you mean \/v1\/pets\/7{51}…\?$/);
});
