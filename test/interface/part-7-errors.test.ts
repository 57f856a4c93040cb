/** The interface's part 7: errors. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, Client } from './client.ts';
import { assertError, type Code } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();

const NO_KEY = { Authorization: '' };
const SHOWN: readonly [name: string, code: Code, send: (to: Client) => Promise<Answer>][] = [
  ['400, POST /pets: missing required fields', 'invalid_body', (to) => to.post({})],
  ['400, POST /pets: invalid values', 'invalid_body', (to) => to.post({ name: 1, categoryId: 1 })],
  ['400, POST /pets: a body that is no JSON', 'invalid_json', (to) => to.post('{')],
  ['401, GET /pets: missing API key', 'unauthorized', (to) => to.send('GET', '/pets', NO_KEY)],
  ['401, POST /pets: missing API key', 'unauthorized', (to) => to.post('{}', NO_KEY)],
  ['401, GET /pets/{petId}: missing', 'unauthorized', (to) => to.send('GET', '/pets/1', NO_KEY)],
  ['404, GET /pets/{petId}: not found', 'not_found', (to) => to.get('/pets/0')],
];

for (const [name, code, send] of SHOWN) {
  test(`Every error response body is an Error object: ${name}`, async () => {
    assertError(await send(client), code);
  });
}

const NOT_SHOWN: readonly [path: string, code: Code][] = [
  ['/pets?limit=0', 'invalid_parameter'],
  ['/pets?status=lost', 'invalid_parameter'],
  ['/pets?a=%zz', 'malformed_request'],
  ['/nothing', 'unknown_path'],
];

for (const [path, code] of NOT_SHOWN) {
  test(`An error that part 7 does not list is an Error object too: GET ${path}`, async () => {
    assertError(await client.get(path), code);
  });
}

test('A message is readable: what it quotes of a request is cut short', async () => {
  const long = 'x'.repeat(5000);
  for (const answer of [
    await client.get(`/pets/${long}`),
    await client.get(`/pets?status=${long}`),
    await client.get(`/pets?limit=${long}`),
    await client.post({ name: [long], categoryId: long, status: long }),
  ]) {
    assert.ok(answer.text.length < 500, answer.text);
  }
});
