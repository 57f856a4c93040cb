/**
 * What this project decided about HTTP itself, for services that adopt it: authentication first,
 * paths, methods, media types and header fields. The specification leaves it open.
 */

import assert from 'node:assert/strict';
import { onHttp, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import { assertStatus } from '../expect.ts';
import { refusal, type Refusal, type Send } from '../refusal.ts';

const REX = '{"name":"Conformance Rex","categoryId":1}';
const WITHOUT_KEY = ['GET /nothing', 'GET /pets?limit=0', 'DELETE /pets', 'POST /pets'];
const PATHS = ['', '/', '/pet', '/Pets', '/pets/', '//pets', '/pets/1/2', '/pets.json', '/pets%20'];
const BROKEN = ['/pets/%', '/pets/%zz', '/pets/%C3', '/pets/%C0%80', '/pets?a=%zz', '/pets?%=1'];
const METHODS = ['PUT', 'PATCH', 'DELETE'];
const TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/jsonx'];

const get: Send = (client, path) => client.get(path);
const sendLine: Send = (client, line) => {
  const [method = '', path = ''] = line.split(' ');
  return client.send(method, path, { Authorization: '' });
};
const sendMethod: Send = (client, method) => client.send(method, '/pets');
const postAs: Send = (client, type) => client.post(REX, { 'Content-Type': type });

const REFUSALS: readonly Refusal[] = [
  ['no-key-first', 'Authentication comes first', 401, 'unauthorized', WITHOUT_KEY, sendLine],
  ['paths', 'A path that does not match exactly', 404, 'unknown_path', PATHS, get],
  ['broken-encoding', 'Broken percent-encoding', 400, 'malformed_request', BROKEN, get],
  ['method', 'Another method', 405, 'method_not_allowed', METHODS, sendMethod],
  ['other-type', 'Another Content-Type', 415, 'unsupported_media_type', TYPES, postAs],
];

const ALLOW: readonly [method: string, path: string, status: number, allow: string][] = [
  ['PUT', '/pets', 405, 'GET, HEAD, OPTIONS, POST'],
  ['OPTIONS', '/pets', 204, 'GET, HEAD, OPTIONS, POST'],
  ['DELETE', '/pets/1', 405, 'GET, HEAD, OPTIONS'],
];

/** A body whose length its header does not say. */
const CHUNKS = {
  async *[Symbol.asyncIterator]() {
    yield Buffer.from(REX.slice(0, 9));
    yield Buffer.from(REX.slice(9));
  },
};

export const http: readonly Check[] = [
  ...REFUSALS.flatMap((given) => refusal(onHttp, given)),
  onHttp('scheme', "The scheme's name is case-insensitive", (client) =>
    eachCase(client, ['bearer', 'BEARER', 'bEaReR'], async (own, scheme) => {
      const Authorization = `${scheme} ${own.target.key}`;
      assertStatus(await own.send('GET', '/pets', { Authorization }), 200);
    }),
  ),
  onHttp('challenge', '401 carries WWW-Authenticate', async (client) => {
    const { headers } = await client.send('GET', '/pets', { Authorization: '' });
    assert.match(headers.get('WWW-Authenticate') ?? '', /^Bearer\b/i, 'WWW-Authenticate');
  }),
  onHttp('allow', '405 and OPTIONS carry Allow', (client) =>
    eachCase(client, ALLOW, async (own, [method, path, status, expected]) => {
      const response = await own.send(method, path);
      assertStatus(response, status);
      const allow = (response.headers.get('Allow') ?? '').split(/, */).sort().join(', ');
      assert.equal(allow, expected, 'Allow');
    }),
  ),
  onHttp('head', 'HEAD wherever GET is', (client) =>
    eachCase(client, ['/pets', '/pets?limit=1', '/pets/0'], async (own, path) => {
      const expected = (await own.get(path)).status;
      // HEAD comes last, since the last request is the evidence.
      const { status, text } = await own.head(path);
      assert.deepEqual([status, text], [expected, ''], 'status and body');
    }),
  ),
  onHttp('chunked', 'A body may be sent in chunks', async (client) => {
    const type = { 'Content-Type': 'application/json' };
    assertStatus(await client.send('POST', '/pets', type, CHUNKS), 201);
  }),
  onHttp('location', '201 carries Location, which leads to the pet', async (client) => {
    const { id, response } = await client.add(REX);
    const location = new URL(
      response.headers.get('Location') ?? '',
      `${client.target.baseUrl}/pets`,
    );
    assert.ok(location.pathname.endsWith(`/v1/pets/${id}`), 'expected a Location of the pet');
  }),
];
