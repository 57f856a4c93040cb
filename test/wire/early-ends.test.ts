/**
 * Early responses: the client gets the whole response, even if it sends the whole request before it
 * reads. And clients that go away: nothing is logged, nothing breaks.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIVEZ, requestOf, REX_1 } from '../support/http/requests.ts';
import { listenFor, openService } from '../support/http/service.ts';
import { assertErrorAnswer, openWire, statusesOf, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';
import { holdCreate, IN_FORCE, noLog, stopClock } from './connections.ts';

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
      const { service, wire, serverSide, release } = await holdCreate(t, more, {}, noLog);
      wire.socket[leave]();
      await talk(service.port, 'x\r\n\r\n');
      // A connection that was only closed fails when it is written to.
      release();
      await until(() => serverSide.destroyed);
      assert.equal(await (await service.fetch('/v1/pets')).text(), `[${REX_1}]`);
    }
  }
});

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
