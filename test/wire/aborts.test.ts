/** Clients that go away: nothing is stored of half a request, nothing is logged, nothing breaks. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { holdCreate, noLog, openBothSides } from './connections.ts';
import { openService } from '../support/http/service.ts';
import { CHUNKED, LIVEZ, REX, REX_1, requestOf } from '../support/http/requests.ts';
import { assertErrorAnswer, openWire, statusesOf, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

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
  const limits = { connectionsCheckingInterval: 20 };
  const reset = await holdCreate(t, LIVEZ.repeat(100), limits, noLog);
  const closed = await holdCreate(t, LIVEZ.repeat(100), limits, noLog);
  assert.equal(reset.serverSide.isPaused(), true);
  reset.wire.socket.resetAndDestroy();
  closed.wire.socket.end();
  await until(() => reset.serverSide.destroyed);
  // Several checks of the connections.
  await sleep(200);
  assert.equal(closed.serverSide.destroyed, false);
  for (const { release } of [reset, closed]) release();
  const expected = [201, ...Array<number>(100).fill(200)];
  assert.deepEqual(statusesOf(await closed.wire.allAnswers()), expected);
});
