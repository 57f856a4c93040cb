/**
 * Early responses: the client gets the whole response, even if it sends the whole request before it
 * reads, and no client can make the service read without an end.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { ErrorCode } from '../../src/http/api-error.ts';
import { openBothSides } from './connections.ts';
import { addLongPets, listenFor, openService } from '../support/http/service.ts';
import { CHUNKED, EXPECT, REX, lastRequestOf, requestOf } from '../support/http/requests.ts';
import { assertErrorAnswer, openWire, statusesOf, talk, type Wire } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

const service = await openService({ after });

const BODY_BYTES = 3_000_000;
const BODY: string = ' '.repeat(BODY_BYTES);
const TYPE = 'Content-Type: a/b';
const CHUNKED_BODY = `${BODY_BYTES.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

const EARLY: readonly (readonly [what: string, code: ErrorCode, request: string])[] = [
  ['with a body too large', 'body_too_large', requestOf('POST /v1/pets', [], BODY)],
  ['with too large chunks', 'body_too_large', requestOf('POST /v1/pets', [CHUNKED], CHUNKED_BODY)],
  ['of another type', 'unsupported_media_type', requestOf('POST /v1/pets', [TYPE], BODY)],
  ['with two hosts', 'malformed_request', requestOf('POST /v1/pets', ['Host: b'], BODY)],
];

/** Sends everything before it reads. Rejects if the service does not take it. */
async function sendAll({ socket }: Wire, bytes: string): Promise<void> {
  socket.pause();
  await promisify((done: (error?: Error | null) => void) => socket.write(bytes, done))();
  socket.resume();
}

describe('A client that sends 3 MB before it reads gets the whole response', () => {
  for (const [what, code, request] of EARLY) {
    test(`to a request ${what}: ${code}`, async (t) => {
      const wire = await openWire(t, service.port);
      await sendAll(wire, request);
      const answers = await wire.allAnswers();
      assert.equal(answers.length, 1);
      assertErrorAnswer(answers[0], code);
      assert.equal(answers[0]?.headers.get('connection'), 'close');
    });
  }
});

test('On a server that createHttpServer did not make the client gets the whole response, too', async (t) => {
  const server = createServer(service.app.listener);
  const wire = await openWire(t, await listenFor(t, server));
  // More than the buffers of a connection take.
  await sendAll(wire, requestOf('POST /v1/pets', [TYPE], ' '.repeat(7_500_000)));
  assertErrorAnswer((await wire.allAnswers())[0], 'unsupported_media_type');
});

test('The service reads little more than 8 MiB of an endless body', async (t) => {
  const { wire, serverSide } = await openBothSides(t, service);
  const closed = once(serverSide, 'close');
  wire.socket.write(requestOf('POST /v1/pets', ['Content-Type: a/b', 'Content-Length: 99000000']));
  const pour = (): void => {
    while (!wire.socket.destroyed && wire.socket.write(' '.repeat(10_000)));
  };
  wire.socket.on('drain', pour);
  pour();
  await closed;
  // What was in the buffers then is read, too.
  assert.ok(serverSide.bytesRead < (8 << 20) + (512 << 10), `${serverSide.bytesRead} bytes`);
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

test('A body that is malformed after its early response gets no second response', async (t) => {
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('POST /v1/pets', ['Content-Type: a/b', CHUNKED], '5\r\n12345\r\n'));
  assertErrorAnswer((await wire.answers(1))[0], 'unsupported_media_type');
  wire.socket.write('no size\r\n');
  assert.equal((await wire.allAnswers()).length, 1);
});

test('A body that is malformed behind its first chunk does not reset the early response', async (t) => {
  const { wire, serverSide } = await openBothSides(t, service);
  // node:http runs the next tick with the first chunk: the response is out when the rest is parsed.
  wire.socket.write(requestOf('POST /v1/nothing', [CHUNKED], '1\r\nx\r\nno size\r\n'));
  assertErrorAnswer((await wire.answers(1))[0], 'unknown_path');
  assert.equal(serverSide.destroyed, false);
  assert.equal((await wire.allAnswers()).length, 1);
});

test('A long response goes out to its end if the body of its request is malformed', async (t) => {
  const own = await openService(t);
  await addLongPets(own, 100);
  const { wire, serverSide } = await openBothSides(t, own);
  wire.socket.pause();
  const request = requestOf('GET /v1/pets?limit=100', [CHUNKED], '1\r\n');
  wire.socket.write(request);
  await until(() => serverSide.writableLength > 0);
  wire.socket.write('no size\r\n');
  await until(() => serverSide.bytesRead > request.length);
  wire.socket.resume();
  const [answer, ...more] = await wire.allAnswers();
  assert.ok(answer!.body.length > 6_000_000);
  assert.deepEqual(more, []);
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
