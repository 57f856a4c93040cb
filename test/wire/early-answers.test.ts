/**
 * Early responses: the client gets the whole response, even if it sends the whole request before it
 * reads, and no client can make the service read without an end.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import type { ErrorCode } from '../../src/http/api-error.ts';
import { openService } from '../support/http/service.ts';
import { assertErrorAnswer, openWire, requestOf, statusesOf, talk } from '../support/http/wire.ts';

const service = await openService({ after });

const REX = '{"name":"Rex","categoryId":1}';
const BODY_BYTES = 3_000_000;
const BODY: string = ' '.repeat(BODY_BYTES);
const TYPE = 'Content-Type: a/b';
const CHUNKED = 'Transfer-Encoding: chunked';
const CHUNKED_BODY = `${BODY_BYTES.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

const EARLY: readonly (readonly [what: string, code: ErrorCode, request: string])[] = [
  ['without a key', 'unauthorized', requestOf('POST /v1/pets', [], BODY).replace('Bearer', 'x')],
  ['with a body too large', 'body_too_large', requestOf('POST /v1/pets', [], BODY)],
  ['with too large chunks', 'body_too_large', requestOf('POST /v1/pets', [CHUNKED], CHUNKED_BODY)],
  ['of another type', 'unsupported_media_type', requestOf('POST /v1/pets', [TYPE], BODY)],
  ['to an unknown path', 'unknown_path', requestOf('POST /v1/nothing', [], BODY)],
  ['with another method', 'method_not_allowed', requestOf('PUT /v1/pets', [CHUNKED], CHUNKED_BODY)],
  ['with a bad query', 'invalid_parameter', requestOf('GET /v1/pets?limit=0', [], BODY)],
  ['with an expectation', 'expectation_failed', requestOf('POST /v1/pets', ['Expect: x'], BODY)],
  ['with two hosts', 'malformed_request', requestOf('POST /v1/pets', ['Host: b'], BODY)],
];

describe('A client that sends 3 MB before it reads gets the whole response', () => {
  for (const [what, code, request] of EARLY) {
    test(`to a request ${what}: ${code}`, async (t) => {
      const wire = await openWire(t, service.port);
      wire.socket.pause();
      await new Promise<void>((resolve) => wire.socket.write(request, () => resolve()));
      wire.socket.resume();
      const answers = await wire.allAnswers();
      assert.equal(answers.length, 1);
      assertErrorAnswer(answers[0], code);
      assert.equal(answers[0]?.headers.get('connection'), 'close');
    });
  }
});

test('A Content-Length above the limit is refused before a byte of the body comes', async (t) => {
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('POST /v1/pets', ['Content-Length: 65537']));
  assertErrorAnswer((await wire.answers(1))[0], 'body_too_large');
});

test('A body of exactly the limit is accepted, and a longer one refused, also in chunks', async (t) => {
  for (const [length, status] of [
    [65_536, 201],
    [65_537, 413],
  ] as const) {
    const body = REX + ' '.repeat(length - REX.length);
    const [head, rest] = [body.slice(0, 8), body.slice(8)];
    const inChunks = `8\r\n${head}\r\n${rest.length.toString(16)}\r\n${rest}\r\n`;
    for (const request of [
      requestOf('POST /v1/pets', ['Connection: close'], body),
      requestOf('POST /v1/pets', ['Connection: close', CHUNKED], `${inChunks}0\r\n\r\n`),
    ]) {
      const wire = await openWire(t, service.port);
      wire.socket.write(request);
      assert.deepEqual(statusesOf(await wire.allAnswers()), [status]);
    }
  }
});

test('The service reads little more than 8 MiB of an endless body', async (t) => {
  const accepted = once(service.server, 'connection') as Promise<[Socket]>;
  const wire = await openWire(t, service.port);
  const [serverSide] = await accepted;
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
  const requests = [
    requestOf('POST /v1/pets', [TYPE, 'Content-Length: 100']),
    requestOf('GET /v1/pets', [CHUNKED]),
    requestOf('POST /v1/pets', ['Expect: 100-continue', 'Content-Length: 70000']),
  ];
  const talks = requests.map((request) => talk(service.port, request));
  for (const answers of await Promise.all(talks)) assert.equal(answers.length, 1);
});

test('A request after an early response on its connection is not processed', async (t) => {
  const before = await (await service.fetch('/v1/pets')).text();
  const wire = await openWire(t, service.port);
  const early = requestOf('POST /v1/pets', ['Content-Type: a/b'], REX);
  wire.socket.write(early + requestOf('POST /v1/pets', [], REX).repeat(3));
  assert.deepEqual(statusesOf(await wire.allAnswers()), [415]);
  assert.equal(await (await service.fetch('/v1/pets')).text(), before);
});

test('A body that is malformed after its early response gets no second response', async (t) => {
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('POST /v1/pets', ['Content-Type: a/b', CHUNKED], '5\r\n12345\r\n'));
  assertErrorAnswer((await wire.answers(1))[0], 'unsupported_media_type');
  wire.socket.write('no size\r\n');
  assert.equal((await wire.allAnswers()).length, 1);
});
