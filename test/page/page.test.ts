/** The page for people, as the service sends it: its files, header fields, and where it is off. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VERSION } from '../../src/base/version.ts';
import { curlLine, quoted } from '../../src/web/page/curl-line.ts';
import { PAGE_MODULES } from '../../src/web/page/page.ts';
import { POSIX, runCurl } from '../support/browser/run-curl.ts';
import { ROOT } from '../support/process/carry.ts';
import { openService } from '../support/http/service.ts';

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

const ADDRESSES: readonly (readonly [path: string, type: string])[] = [
  ['/', 'text/html'],
  ['/docs', 'text/html'],
  ['/page/style.css', 'text/css'],
  ...PAGE_MODULES.map((name) => [`/page/${name}.js`, 'text/javascript'] as const),
];

test('The page and its files need no API key, and have a strict Content-Security-Policy', async (t) => {
  const { origin } = await openService(t, { page: true, prefix: '/shop' });
  const off = await openService(t);
  for (const [path, type] of ADDRESSES) {
    const response = await fetch(`${origin}/shop${path}`);
    assert.equal(response.status, 200, path);
    assert.ok((await response.text()).length > 100);
    const { headers } = response;
    assert.equal(headers.get('Content-Type'), `${type}; charset=utf-8`);
    assert.equal(headers.get('Content-Security-Policy'), CSP);
    assert.equal(headers.get('X-Content-Type-Options'), 'nosniff');
    assert.equal(headers.get('Referrer-Policy'), 'no-referrer');
    assert.equal(headers.get('Cross-Origin-Opener-Policy'), 'same-origin');
    assert.equal(headers.get('Cross-Origin-Resource-Policy'), 'same-origin');
    assert.equal(headers.get('Set-Cookie'), null);
    // An embedded app has no page by default, and with a prefix none outside of it.
    for (const other of [origin, off.origin]) {
      assert.equal((await fetch(`${other}${path}`)).status, 404, path);
    }
  }
  for (const path of ['/', '/docs']) {
    for (const [method, status] of Object.entries({ HEAD: 200, OPTIONS: 204, POST: 405 })) {
      const { status: got, headers } = await fetch(`${origin}/shop${path}`, { method });
      assert.equal(got, status);
      assert.equal(headers.get('Allow'), method === 'HEAD' ? null : 'GET, HEAD, OPTIONS');
    }
  }
});

test('The service serves exactly the modules that the page and the reference import', async (t) => {
  const needed = new Set(['web/page/main', 'web/page/reference']);
  // The loop also visits what is added during it.
  for (const name of needed) {
    const text = readFileSync(join(ROOT, 'dist', `${name}.js`), 'utf8');
    for (const [, target] of text.matchAll(/^(?:import|export)\b[^;]*?from '(\.[^']+)\.js'/gm)) {
      needed.add(join(name, '..', target!).replaceAll('\\', '/'));
    }
  }
  assert.deepEqual([...needed].sort(), [...PAGE_MODULES].sort());
  const { origin } = await openService(t, { page: true });
  const others = ['server.js', 'page/page.js', 'client/client.ts', '..%2fserver.js', 'client', ''];
  for (const name of [...others, 'client/..%2f..%2fpackage.json', '%00', '/page/main.js']) {
    assert.equal((await fetch(`${origin}/page/${name}`)).status, 404, name);
  }
});

test('The page and the reference have the same header, with links to both and the version', async (t) => {
  const { origin } = await openService(t, { page: true });
  const textOf = async (path: string): Promise<string> => (await fetch(origin + path)).text();
  const texts = [await textOf('/'), await textOf('/docs')];
  const headerOf = (text = ''): string => /<nav class="row ends"[^]*?<\/nav>/.exec(text)?.[0] ?? '';
  const [page = '', reference = ''] = texts.map(headerOf);
  const current = ' aria-current="page"';
  assert.ok(page.includes(`<a href="./"${current}>`) && reference.includes(`"docs"${current}`));
  assert.equal(page.replace(current, ''), reference.replace(current, ''));
  for (const part of ['href="./"', 'href="docs"', 'href="openapi.json"', `Petstore ${VERSION}`]) {
    assert.ok(page.includes(part), part);
  }
  // Without a prefix, a path begins with one slash.
  assert.ok(texts[1]?.includes('<code>/v1/pets</code>'));
});

test('A shell passes a curl line to curl unchanged, whatever a name contains', POSIX, () => {
  const url = 'http://127.0.0.1:8080/v1/pets?status=sold';
  for (const name of ["O'Hara", '$HOME `id` $(id) "\\', "'; id; '", '-d @/etc/passwd', '\n']) {
    const body = JSON.stringify({ name });
    const headers = [
      ['Authorization', 'Bearer a-key'],
      ['Idempotency-Key', 'a-request'],
      ['Content-Type', 'application/json'],
    ];
    const line = curlLine({ url: quoted(url), idempotencyKey: 'a-request', body });
    const sent = runCurl(line, { API_KEY: 'a-key' });
    assert.deepEqual(sent, { url, method: 'POST', headers, body });
  }
});
