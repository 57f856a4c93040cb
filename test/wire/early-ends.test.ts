/**
 * Early responses: the client gets the whole response, even if it sends the whole request before it
 * reads, and no client can make the service read without an end. And clients that go away: nothing
 * is stored of half a request, nothing is logged, nothing breaks.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ErrorCode } from '../../src/core/api/api-error.ts';
import {
  CHUNKED,
  EXPECT,
  lastRequestOf,
  LIVEZ,
  requestOf,
  REX,
  REX_1,
} from '../support/http/requests.ts';
import { listenFor, openService } from '../support/http/service.ts';
import { assertErrorAnswer, openWire, statusesOf, talk, type Wire } from '../support/http/wire.ts';
import { until } from '../support/until.ts';
import { holdCreate, IN_FORCE, noLog, openBothSides, stopClock } from './connections.ts';

const service = await openService({ after });

const BODY_BYTES = 3_000_000;
const BODY: string = ' '.repeat(BODY_BYTES);
const TYPE = 'Content-Type: a/b';
const CHUNKED_BODY = `${BODY_BYTES.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

/** Too large a body, too large chunks, another type, two hosts. */
const EARLY: readonly (readonly [code: ErrorCode, request: string])[] = [
  ['body_too_large', requestOf('POST /v1/pets', [], BODY)],
  ['body_too_large', requestOf('POST /v1/pets', [CHUNKED], CHUNKED_BODY)],
  ['unsupported_media_type', requestOf('POST /v1/pets', [TYPE], BODY)],
  ['malformed_request', requestOf('POST /v1/pets', ['Host: b'], BODY)],
];

/** Sends everything before it reads. Rejects if the service does not take it. */
async function sendAll({ socket }: Wire, bytes: string): Promise<void> {
  socket.pause();
  await promisify((done: (error?: Error | null) => void) => socket.write(bytes, done))();
  socket.resume();
}

test('A client that sends 3 MB before it reads gets the whole response', async (t) => {
  stopClock(t);
  for (const [code, request] of EARLY) {
    const wire = await openWire(t, service.port);
    await sendAll(wire, request);
    const [answer, ...more] = await wire.allAnswers();
    assertErrorAnswer(answer, code);
    assert.deepEqual([answer?.headers.get('connection'), more], ['close', []]);
  }
  // On a server that createHttpServer did not make: more than the buffers of a connection take.
  const server = createServer(service.app.listener);
  const wire = await openWire(t, await listenFor(t, server));
  await sendAll(wire, requestOf('POST /v1/pets', [TYPE], ' '.repeat(7_500_000)));
  assertErrorAnswer((await wire.allAnswers())[0], 'unsupported_media_type');
});

test('The service does not wait for the rest of a body after an early response', async () => {
  for (const [line, fields, status] of [
    ['POST /v1/pets', [TYPE, 'Content-Length: 100'], 415],
    ['POST /v1/pets', ['Content-Length: 65537'], 413],
    ['POST /v1/pets', ['Expect: 100-continue', 'Content-Length: 70000'], 413],
    ['GET /v1/pets?limit=0', ['Content-Length: 100'], 400],
    ['GET /v1/pets', [CHUNKED], 200],
    ['GET /livez', ['Content-Length: 65537'], 200],
  ] as const) {
    const answers = await talk(service.port, requestOf(line, fields));
    assert.deepEqual(statusesOf(answers), [status], fields.join());
    assert.equal(answers[0]?.headers.get('connection'), 'close');
  }
});

for (const [what, fields, body] of [
  ['of a known length', ['Content-Length: 29'], REX],
  ['in chunks', [CHUNKED], `1d\r\n${REX}\r\n0\r\n\r\n`],
  ['asked for twice more,', ['Content-Length: 29', 'expect: 100-Continue , 100-continue'], REX],
] as const) {
  test(`100 comes before a body ${what}, 201 after it, and the connection stays`, async (t) => {
    const wire = await openWire(t, service.port, requestOf('POST /v1/pets', [EXPECT, ...fields]));
    await until(() => wire.text() !== '');
    assert.equal(wire.text(), 'HTTP/1.1 100 Continue\r\n\r\n');
    wire.socket.write(body + lastRequestOf('GET /livez'));
    assert.deepEqual(statusesOf(await wire.allAnswers()), [100, 201, 200]);
  });
}

test('A client of HTTP/1.0 gets no 100, which it would take for the response', async (t) => {
  const wire = await openWire(t, service.port);
  const fields = [EXPECT, 'Content-Length: 29'];
  wire.socket.write(requestOf('POST /v1/pets', fields).replace('/1.1', '/1.0'));
  await talk(service.port, lastRequestOf('GET /livez'));
  wire.socket.write(REX);
  assert.deepEqual(statusesOf(await wire.allAnswers()), [201]);
});

test('A CONNECT behind a last response writes nothing, and resets nothing', async (t) => {
  const own = await openService(t);
  const codes: (string | undefined)[] = [];
  own.server.on('connection', (socket) => {
    socket.on('error', ({ code }: NodeJS.ErrnoException) => codes.push(code));
  });
  const refused = 'POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello';
  for (let round = 0; round < 10; round += 1) {
    const rest = 'z'.repeat(300_000);
    const answers = await talk(own.port, `${refused}${requestOf('CONNECT b:443')}${rest}`);
    assert.deepEqual(statusesOf(answers), [401]);
  }
  // The client itself may reset a connection, since it does not send the rest.
  assert.ok(
    codes.every((code) => code === 'ECONNRESET'),
    codes.join(),
  );
});

const EXPECTING = ['Expect: 100-continue', 'Content-Length: 29'];

const HALVES: readonly (readonly [what: string, bytes: string])[] = [
  ['a header', 'POST /v1/pets HTTP/1.1\r\nHost: a\r\n'],
  ['a body', requestOf('POST /v1/pets', ['Content-Length: 100']) + REX],
  ['a body without its last chunk', requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n0\r\n`)],
  ['a body after an early answer', requestOf('PUT /v1/pets', ['Content-Length: 100'])],
  ['what it expected to send', requestOf('POST /v1/pets', EXPECTING)],
];
const WAYS = {
  closes: (socket: Socket): unknown => socket.destroy(),
  resets: (socket: Socket): unknown => socket.resetAndDestroy(),
};

for (const [what, bytes] of HALVES) {
  test(`A client closes, half-closes or resets in the middle of ${what}: nothing is stored or logged`, async (t) => {
    const service = await openService(t, { log: noLog });
    for (const leave of Object.values(WAYS)) {
      const { wire, serverSide } = await openBothSides(t, service);
      wire.socket.write(bytes);
      await until(() => serverSide.bytesRead === bytes.length);
      leave(wire.socket);
      await until(() => serverSide.destroyed);
    }
    // A client that half-closes gets an error.
    const wire = await openWire(t, service.port);
    wire.socket.end(bytes);
    const answers = await wire.allAnswers();
    const last = answers.filter(({ status }) => status !== 100);
    assert.equal(last.length, 1);
    const isEarly = what.includes('early');
    assertErrorAnswer(last[0], isEarly ? 'method_not_allowed' : 'malformed_request');
    assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
  });
}

for (const [way, leave] of Object.entries(WAYS)) {
  for (const [what, more] of [
    ['while its create is in progress', ''],
    ['before its 100', requestOf('POST /v1/pets', EXPECTING)],
    ['after CONNECT', requestOf('CONNECT b:443')],
  ] as const) {
    test(`A client ${way} ${what}: its create is stored, and the service continues`, async (t) => {
      const { service, wire, serverSide, release } = await holdCreate(t, more, {}, noLog);
      leave(wire.socket);
      await talk(service.port, 'x\r\n\r\n');
      // A connection that was only closed fails when it is written to.
      release();
      await until(() => serverSide.destroyed);
      assert.equal(await (await service.fetch('/v1/pets')).text(), `[${REX_1}]`);
    });
  }
}

test('A reset is noticed while its connection waits, and a half-closed one gets its responses', async (t) => {
  const clock = stopClock(t);
  const reset = await holdCreate(t, LIVEZ.repeat(100), IN_FORCE, noLog);
  const closed = await holdCreate(t, LIVEZ.repeat(100), IN_FORCE, noLog);
  assert.equal(reset.serverSide.isPaused(), true);
  reset.wire.socket.resetAndDestroy();
  closed.wire.socket.end();
  const check = async (): Promise<boolean> => {
    clock.pass(20);
    await nextTurn();
    return reset.serverSide.destroyed;
  };
  await until(check);
  for (let checks = 0; checks < 10; checks += 1) await check();
  assert.equal(closed.serverSide.destroyed, false);
  for (const { release } of [reset, closed]) release();
  const expected = [201, ...Array<number>(100).fill(200)];
  assert.deepEqual(statusesOf(await closed.wire.allAnswers()), expected);
});
