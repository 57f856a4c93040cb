/**
 * Clients that send the whole request before they read get the whole response; if one goes away,
 * nothing is logged, and nothing breaks; one that reads nothing is disconnected; and one that sends
 * a body in the smallest chunks takes little memory.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { LIMITS } from '../../src/core/http/limits.ts';
import { rounds } from '../support/extent.ts';
import { CHUNKED, lastRequestOf, requestOf, REX, REX_1 } from '../support/http/requests.ts';
import { addLongPets, listenFor, openService } from '../support/http/service.ts';
import { assertErrorAnswer, openWire, statusesOf, talk } from '../support/http/wire.ts';
import { usedBytes } from '../support/process/heap.ts';
import { until } from '../support/until.ts';
import { holdCreate, IN_FORCE, noLog, openBothSides, setLate, stopClock } from './connections.ts';

test('A client that sends 7 MB before it reads gets the whole response, on any server', async (t) => {
  // A server that createHttpServer did not make; more than the buffers of a connection take.
  const { app } = await openService(t);
  const wire = await openWire(t, await listenFor(t, createServer(app.listener)));
  wire.socket.pause();
  const refused = requestOf('POST /v1/pets', ['Content-Type: a/b'], ' '.repeat(7_500_000));
  await new Promise((resolve) => wire.socket.write(refused, resolve));
  wire.socket.resume();
  assertErrorAnswer((await wire.allAnswers())[0], 'unsupported_media_type');
});

test('A create is stored, although its client goes away meanwhile, and the service continues', async (t) => {
  for (const leave of ['destroy', 'resetAndDestroy'] as const) {
    for (const more of ['', requestOf('CONNECT b:443')]) {
      const { service, wire, serverSide, release } = await holdCreate(t, more, noLog);
      wire.socket[leave]();
      await talk(service.port, 'x\r\n\r\n');
      // A connection that was only closed fails when it is written to.
      release();
      await until(() => serverSide.destroyed);
      assert.equal(await (await service.fetch('/v1/pets')).text(), `[${REX_1}]`);
    }
  }
});

test('A client that reads nothing is disconnected even if it sends empty lines or CONNECT', async (t) => {
  // The limits in force, on a clock that is stopped.
  const clock = stopClock(t);
  const service = await openService(t, {}, IN_FORCE);
  setLate(service, false);
  await addLongPets(service, 100);
  const list = requestOf('GET /v1/pets?limit=100');
  for (const more of ['', requestOf('CONNECT b:443')]) {
    const { wire, serverSide } = await openBothSides(t, service);
    wire.socket.pause();
    wire.socket.write(list + more);
    await until(() => serverSide.bytesRead === list.length + more.length);
    let seconds = 0;
    for (; !serverSide.destroyed && seconds < 600; seconds += 1) {
      clock.pass(1000);
      if (more !== '') continue;
      const sent = serverSide.bytesRead + 2;
      wire.socket.write('\r\n');
      await until(() => serverSide.destroyed || serverSide.bytesRead >= sent);
    }
    // It is later than the limit if the kernel takes more of the response meanwhile.
    assert.ok(seconds > LIMITS.timeout / 1000 && seconds < 600, `${seconds} s`);
  }
});

const LENGTH = rounds(20_000, 60_000);

test('A body in chunks of one byte takes little more than its length', async (t) => {
  const own = await openService(t);
  const chunks = [...REX.padEnd(LENGTH)].map((byte) => `1\r\n${byte}\r\n`).join('');
  const wires = await Promise.all(Array.from({ length: 8 }, () => openWire(t, own.port)));
  const before = usedBytes();
  for (const { socket } of wires) socket.write(requestOf('POST /v1/pets', [CHUNKED], chunks));
  // All of that is read when another connection is answered and nothing waits to be sent.
  await until(() => wires.every(({ socket }) => socket.writableLength === 0));
  await talk(own.port, lastRequestOf('GET /livez'));
  const perBody = (usedBytes() - before) / wires.length;
  assert.ok(perBody < 5 * LENGTH, `${perBody} bytes`);
  for (const { socket } of wires) socket.write('0\r\n\r\n');
  for (const wire of wires) assert.deepEqual(statusesOf(await wire.answers(1)), [201]);
});
