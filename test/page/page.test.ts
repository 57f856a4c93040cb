/** The page for people, as the service sends it: its files, header fields, and where it is off. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curlLine, quoted } from '../../src/web/page/curl-line.ts';
import { POSIX, runCurl } from '../support/browser/run-curl.ts';
import { openService } from '../support/http/service.ts';

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS = {
  'Content-Security-Policy': CSP,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Set-Cookie': null,
};

const ADDRESSES = {
  '/': 'text/html',
  '/docs': 'text/html',
  '/page/style.css': 'text/css',
  '/page/web/page/main.js': 'text/javascript',
  // Only other modules import it.
  '/page/base/int64.js': 'text/javascript',
};

const OTHERS = [
  'server.js',
  'client/client.ts',
  '..%2fserver.js',
  'client',
  '',
  '/web/page/main.js',
];

test('The page and its files need no API key, and have a strict Content-Security-Policy', async (t) => {
  const { origin } = await openService(t, { page: true, prefix: '/shop' });
  const off = await openService(t);
  for (const [path, type] of Object.entries(ADDRESSES)) {
    const response = await fetch(`${origin}/shop${path}`);
    assert.equal(response.status, 200, path);
    assert.ok((await response.text()).length > 100);
    const expected = { ...HEADERS, 'Content-Type': `${type}; charset=utf-8` };
    for (const [name, value] of Object.entries(expected)) {
      assert.equal(response.headers.get(name), value, `${path} ${name}`);
    }
    // An embedded app has no page by default, and with a prefix none outside of it.
    for (const other of [origin, off.origin]) {
      assert.equal((await fetch(`${other}${path}`)).status, 404, path);
    }
  }
  for (const name of OTHERS) {
    assert.equal((await fetch(`${origin}/shop/page/${name}`)).status, 404, name);
  }
  for (const path of ['/', '/docs']) {
    for (const [method, status] of Object.entries({ HEAD: 200, OPTIONS: 204, POST: 405 })) {
      const { status: got, headers } = await fetch(`${origin}/shop${path}`, { method });
      assert.equal(got, status);
      assert.equal(headers.get('Allow'), method === 'HEAD' ? null : 'GET, HEAD, OPTIONS');
    }
  }
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
