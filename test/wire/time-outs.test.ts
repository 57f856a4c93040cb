/**
 * Limits of time and number: who is too slow is cut off, and the others do not notice.
 *
 * The limits are those in force, on a clock that the test moves. What they are, and what happens in
 * each second, is in test/http/server-cases.ts.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectionsOf } from '../../src/core/http/http-server.ts';
import { LIMITS } from '../../src/core/http/limits.ts';
import { IN_FORCE, noLog, openBothSides, setLate, stopClock } from './connections.ts';
import { addLongPets, openService } from '../support/http/service.ts';
import { CHUNKED, LIVEZ, REX, requestOf } from '../support/http/requests.ts';
import { assertErrorAnswer, openWire, statusesOf, type Wire } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

const UPGRADE = ['Connection: Upgrade', 'Upgrade: h2c', CHUNKED];
/** Longer than half the time for a header: then a request that node:http finds late is late. */
const LATE_MS = LIMITS.headersTimeout;

/** Starts a service on a clock that is stopped, with the limits in force. */
async function openTimed(t: TestContext, options = {}, limits = {}) {
  const clock = stopClock(t);
  const service = await openService(t, options, { ...IN_FORCE, ...limits });
  setLate(service, false);
  return { clock, service };
}

/** The beginnings of requests, of which no more comes. */
const BEGINNINGS: Readonly<Record<string, string>> = {
  'a request line': 'GET /',
  'a header': 'GET /v1/pets HTTP/1.1\r\nX',
  'a body': requestOf('POST /v1/pets', ['Content-Length: 10000']) + REX,
  'a body in chunks': requestOf('POST /v1/pets', [CHUNKED], '1\r\n \r\n'),
  'a second request': `${LIVEZ}GET /`,
  // node:http does not parse such a body.
  'a malformed body after Upgrade': requestOf('POST /v1/pets', UPGRADE, 'x\r\n'),
};

test('A client that is slow with any part of a request gets 408', async (t) => {
  const { clock, service } = await openTimed(t, { log: noLog });
  for (const [what, bytes] of Object.entries(BEGINNINGS)) {
    setLate(service, false);
    const { wire, serverSide } = await openBothSides(t, service);
    wire.socket.write(bytes);
    await until(() => serverSide.bytesRead === bytes.length);
    clock.pass(LATE_MS);
    setLate(service, true);
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), bytes.startsWith(LIVEZ) ? [200, 408] : [408], what);
    assertErrorAnswer(answers.at(-1), 'request_timeout', what);
    assert.equal(answers.at(-1)?.headers.get('connection'), 'close', what);
  }
  setLate(service, false);
  assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
});

const LIST = requestOf('GET /v1/pets?limit=100');

test('A client that reads nothing is disconnected even if it sends empty lines or CONNECT', async (t) => {
  const { clock, service } = await openTimed(t);
  await addLongPets(service, 100);
  for (const more of ['', requestOf('CONNECT b:443')]) {
    const { wire, serverSide } = await openBothSides(t, service);
    wire.socket.pause();
    wire.socket.write(LIST + more);
    await until(() => serverSide.bytesRead === LIST.length + more.length);
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

test('If nearly all connections are in use, a new one closes the one that is idle for the longest time', async (t) => {
  // One connection is kept free.
  const { clock, service } = await openTimed(t, {}, { maxConnections: 32 });
  const open = async (): Promise<Wire> => {
    const wire = await openWire(t, service.port, LIVEZ);
    await wire.answers(1);
    clock.pass(20);
    return wire;
  };
  const wires: Wire[] = [];
  for (let opened = 0; opened < 31; opened += 1) wires.push(await open());
  clock.pass(1200);
  const errors: Error[] = [];
  for (const longest of wires.splice(0, 3)) {
    const added = await open();
    await until(longest.isClosed);
    // A request that was in transit is not answered by a reset.
    longest.socket.on('error', (cause) => errors.push(cause));
    longest.socket.write(LIVEZ);
    added.socket.write(LIVEZ);
    await added.answers(2);
    // The kernel reports a reset at the second write.
    longest.socket.end(LIVEZ);
    await until(() => longest.socket.destroyed);
    await until(() => connectionsOf(service.server).size === 31);
    wires.push(added);
  }
  assert.deepEqual(errors, []);
  for (const wire of wires) assert.equal(wire.isClosed(), false);
});
