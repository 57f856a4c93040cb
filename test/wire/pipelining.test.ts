/** Several requests on one connection: each gets its answer, in its turn, however they are cut. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { holdCreate, openBothSides } from './connections.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { rounds } from '../support/extent.ts';
import { addLongPets, openService } from '../support/http/service.ts';
import { usedBytes } from '../support/process/heap.ts';
import { CHUNKED, CREATE, LIVEZ, REX, lastRequestOf, requestOf } from '../support/http/requests.ts';
import { assertErrorAnswer, openWire, statusesOf, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

const service = await openService({ after });

test('Requests get the same responses wherever their bytes are split', async (t) => {
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
    await nextTurn();
    wire.socket.write(bytes.slice(at));
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), [200, 201, 400, 200], `cut at ${at}`);
    wire.socket.destroy();
  };
  const cuts = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
  const tried = cuts.filter((at) => at % rounds(4, 1) === 0);
  for (let at = 0; at < tried.length; at += 8) await Promise.all(tried.slice(at, at + 8).map(cut));
});

const KINDS: readonly (readonly [request: string, status: number])[] = [
  [LIVEZ, 200],
  [requestOf('GET /v1/pets?limit=5'), 200],
  [CREATE, 201],
  [requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n0\r\nX-Connection: close\r\n\r\n`), 201],
  [requestOf('POST /v1/pets', [], '{}'), 400],
  [requestOf('PUT /', ['Content-Length: 0']), 404],
  [requestOf('OPTIONS /v1/pets'), 204],
  // Bodies that are not read.
  [requestOf('GET /livez', [], LIVEZ), 200],
  [requestOf('OPTIONS /v1/pets', [], 'x'), 204],
  // Creates without a body.
  [requestOf('POST /v1/pets'), 400],
  [requestOf('POST /v1/pets', ['Content-Length: 0']), 400],
  [requestOf('POST /v1/pets', [CHUNKED], '0\r\n\r\n'), 400],
];

test('Batches of requests, one after the other on one connection, get their responses in order', async (t) => {
  const wire = await openWire(t, service.port);
  const expected: number[] = [];
  for (const size of [2, 2, 1, 3, 100, 2, 1, 1, 10]) {
    const batch = Array.from(
      { length: size },
      (_, i) => KINDS[(expected.length + i) % KINDS.length]!,
    );
    wire.socket.write(batch.map(([request]) => request).join(''));
    expected.push(...batch.map(([, status]) => status));
    assert.deepEqual(statusesOf(await wire.answers(expected.length)), expected);
  }
});

test('A batch that arrives during another gets its responses in order', async (t) => {
  const { service: own, wire, release } = await holdCreate(t, LIVEZ);
  wire.socket.write(requestOf('GET /v1/pets/1') + CREATE);
  await talk(own.port, lastRequestOf('GET /livez'));
  wire.socket.write(requestOf('GET /v1/pets/2'));
  assert.equal(wire.text(), '');
  release();
  // A pet that was created before on the connection is there.
  assert.deepEqual(statusesOf(await wire.answers(5)), [201, 200, 200, 201, 200]);
});

test('A client that half-closes after its create gets the response', async (t) => {
  const { service: own, wire, release } = await holdCreate(t, '');
  wire.socket.end();
  await talk(own.port, lastRequestOf('GET /livez'));
  release();
  assert.deepEqual(statusesOf(await wire.allAnswers()), [201]);
});

test('A body in chunks of one byte takes little more than its length', async (t) => {
  // On a busy machine so many chunks take longer than the limit in force.
  const own = await openService(t, {}, { requestTimeout: 0 });
  const chunks = [...REX.padEnd(60_000)].map((byte) => `1\r\n${byte}\r\n`).join('');
  const wires = await Promise.all(
    Array.from({ length: rounds(5, 20) }, () => openWire(t, own.port)),
  );
  const before = usedBytes();
  for (const { socket } of wires) socket.write(requestOf('POST /v1/pets', [CHUNKED], chunks));
  // All of that is read when another connection is answered and nothing waits to be sent.
  await until(() => wires.every(({ socket }) => socket.writableLength === 0));
  await talk(own.port, lastRequestOf('GET /livez'));
  const perBody = (usedBytes() - before) / wires.length;
  assert.ok(perBody < 300_000, `${perBody} bytes`);
  for (const { socket } of wires) socket.write('0\r\n\r\n');
  for (const wire of wires) assert.deepEqual(statusesOf(await wire.answers(1)), [201]);
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
  test(`After requests in progress, ${what} gets its response in its turn`, async (t) => {
    const { service: own, wire, release } = await holdCreate(t, LIVEZ + bytes);
    assert.equal(wire.text(), '');
    // To the parser this is one fault more.
    if (what.includes('cut')) wire.socket.end();
    else wire.socket.write('nonsense');
    await talk(own.port, lastRequestOf('GET /livez'));
    release();
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers).slice(0, 2), [201, 200]);
    assert.equal(answers.length, 3);
    assertErrorAnswer(answers[2], code);
  });
}

test('A HEAD whose body is malformed gets 400 without content', async (t) => {
  const memory = createMemoryStore();
  let listed = 0;
  const list = (): Promise<never> => {
    listed += 1;
    return new Promise(() => undefined);
  };
  const own = await openService(t, { store: { ...memory, list } });
  for (const before of ['', LIVEZ]) {
    const wire = await openWire(t, own.port);
    wire.socket.write(before + requestOf('HEAD /v1/pets', [CHUNKED]));
    const asked = listed + 1;
    await until(() => listed === asked);
    wire.socket.write('x');
    const answers = await wire.allAnswers(true);
    assert.equal(answers.length, before === '' ? 1 : 2);
    assert.deepEqual([answers.at(-1)?.status, answers.at(-1)?.body], [400, '']);
    assert.ok(Number(answers.at(-1)?.headers.get('content-length')) > 0);
  }
});

test('A GET with a body of exactly the limit gets its response before the body, and its connection stays', async (t) => {
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('GET /livez', ['Content-Length: 65536']));
  await wire.answers(1);
  wire.socket.write('x'.repeat(65536) + lastRequestOf('GET /v1/nothing'));
  assert.deepEqual(statusesOf(await wire.allAnswers()), [200, 404]);
});

test('A long response goes out in pieces, as its client reads, and CONNECT gets its response after it', async (t) => {
  const own = await openService(t);
  await addLongPets(own, 100);
  const { wire, serverSide } = await openBothSides(t, own);
  wire.socket.pause();
  wire.socket.write(requestOf('GET /v1/pets?limit=100') + requestOf('CONNECT b:443'));
  await until(() => serverSide.writableLength > 0);
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  assert.ok(serverSide.writableLength < 200_000, `${serverSide.writableLength} bytes are queued`);
  wire.socket.resume();
  const answers = await wire.allAnswers();
  assert.deepEqual(statusesOf(answers), [200, 405]);
  assert.ok(answers[0]!.body.length > 6_000_000);
});
