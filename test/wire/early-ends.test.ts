/**
 * Early responses: the client gets the whole response, even if it sends the whole request before it
 * reads. Clients that go away: nothing is logged, nothing breaks. And clients that read nothing.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { LIMITS } from '../../src/core/http/limits.ts';
import { requestOf, REX_1 } from '../support/http/requests.ts';
import { addLongPets, listenFor, openService } from '../support/http/service.ts';
import { assertErrorAnswer, openWire, talk } from '../support/http/wire.ts';
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
