/** Several requests on one connection: each gets its answer, in its turn, however they are cut. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createHeldStore } from '../support/pets/held-store.ts';
import { rounds } from '../support/extent.ts';
import { addLongPets, openService } from '../support/http/service.ts';
import {
  assertErrorAnswer,
  lastRequestOf,
  openWire,
  requestOf,
  statusesOf,
  talk,
} from '../support/http/wire.ts';

const service = await openService({ after });

const REX = '{"name":"Rex","categoryId":1}';
const CHUNKED = 'Transfer-Encoding: chunked';
const CREATE = requestOf('POST /v1/pets', [], REX);

test('Connections stay in step after bodies that nobody reads', async () => {
  const requests = [
    requestOf('GET /livez', [], 'GET /unseen HTTP/1.1\r\nHost: a\r\n\r\n'),
    requestOf('GET /v1/pets?limit=1', [], REX),
    requestOf('OPTIONS /v1/pets', [], 'x'),
    requestOf('GET /v1/pets/0'),
    lastRequestOf('GET /v1/nothing'),
  ];
  const answers = await talk(service.port, requests.join(''));
  assert.deepEqual(statusesOf(answers), [200, 200, 204, 404, 404]);
});

test('A create without a body is refused, and the connection stays', async () => {
  const empty = [requestOf('POST /v1/pets'), requestOf('POST /v1/pets', ['Content-Length: 0'])];
  const chunked = requestOf('POST /v1/pets', [CHUNKED], '0\r\n\r\n');
  const bytes = [...empty, chunked, lastRequestOf('GET /livez')].join('');
  const answers = await talk(service.port, bytes);
  assert.deepEqual(statusesOf(answers), [400, 400, 400, 200]);
  for (const answer of answers.slice(0, 3)) assertErrorAnswer(answer, 'invalid_json');
});

test('It does not matter where the bytes of requests are cut', async (t) => {
  const own = await openService(t);
  const bytes =
    requestOf('GET /livez', [], 'body') +
    CREATE +
    requestOf('POST /v1/pets', [CHUNKED], '2;x=y\r\n{}\r\n0\r\nA: b\r\n\r\n') +
    lastRequestOf('GET /v1/pets/1');
  const cut = async (at: number): Promise<void> => {
    const wire = await openWire(t, own.port);
    wire.socket.setNoDelay(true);
    wire.socket.write(bytes.slice(0, at));
    await new Promise((resolve) => setImmediate(resolve));
    wire.socket.write(bytes.slice(at));
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), [200, 201, 400, 200], `cut at ${at}`);
    wire.socket.destroy();
  };
  const cuts = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
  const tried = cuts.filter((at) => at % rounds(4, 1) === 0);
  for (let at = 0; at < tried.length; at += 8) await Promise.all(tried.slice(at, at + 8).map(cut));
});

test('A hundred requests sent at once are answered in their order', async () => {
  const lines = Array.from({ length: 99 }, (_, i) => i % 3);
  const requests = lines.map((kind) => [CREATE, requestOf('GET /livez'), requestOf('PUT /')][kind]);
  const answers = await talk(service.port, requests.join('') + lastRequestOf('GET /livez'));
  const expected = [...lines.map((kind) => [201, 200, 404][kind]), 200];
  assert.deepEqual(statusesOf(answers), expected);
});

const FAULTS = [
  ['a malformed request', 'nonsense\r\n\r\n', 'malformed_request'],
  ['a request cut by the end of the connection', 'GET /livez', 'malformed_request'],
  ['a header too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(17_000)}`, 'headers_too_large'],
  ['a refused version', 'GET /\r\n\r\n', 'unsupported_http_version'],
  ['a malformed body', requestOf('POST /v1/pets', [CHUNKED], 'x'), 'malformed_request'],
  ['CONNECT', requestOf('CONNECT b:443'), 'method_not_allowed'],
] as const;

for (const [what, bytes, code] of FAULTS) {
  test(`Behind requests under way, ${what} is answered in its turn`, async (t) => {
    const store = createHeldStore();
    const own = await openService(t, { store });
    const wire = await openWire(t, own.port);
    wire.socket.write(CREATE + requestOf('GET /livez') + bytes);
    if (what.includes('cut')) wire.socket.end();
    await store.waiting();
    // The service has read everything once it answers on a later connection.
    await talk(own.port, lastRequestOf('GET /livez'));
    assert.equal(wire.text(), '');
    // To the parser this is one fault more.
    if (!what.includes('cut')) wire.socket.write('nonsense');
    await talk(own.port, lastRequestOf('GET /livez'));
    store.release();
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers).slice(0, 2), [201, 200]);
    assert.equal(answers.length, 3);
    assertErrorAnswer(answers[2], code);
  });
}

test('A GET with a body above the limit is answered, and its connection closed', async (t) => {
  const bytes = requestOf('GET /livez', ['Content-Length: 65537']);
  const wire = await openWire(t, service.port);
  wire.socket.write(bytes);
  const [answer] = await wire.allAnswers();
  assert.equal(answer?.status, 200);
  assert.equal(answer?.headers.get('connection'), 'close');
});

test('A GET with a body of exactly the limit is answered at once, and its connection stays', async (t) => {
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('GET /livez', ['Content-Length: 65536']));
  await wire.answers(1);
  wire.socket.write('x'.repeat(65536) + lastRequestOf('GET /v1/nothing'));
  assert.deepEqual(statusesOf(await wire.allAnswers()), [200, 404]);
});

test('Behind a long answer that goes out in pieces, CONNECT is answered in its turn', async (t) => {
  const own = await openService(t);
  await addLongPets(own, 100);
  const bytes = requestOf('GET /v1/pets?limit=100') + requestOf('CONNECT b:443');
  const answers = await talk(own.port, bytes);
  assert.deepEqual(statusesOf(answers), [200, 405]);
  assert.ok(answers[0]!.body.length > 6_000_000);
});
