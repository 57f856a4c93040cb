/**
 * Limits of time and number: who is too slow is cut off, and the others do not notice.
 *
 * The limits are shorter than those in force, which test/http/http-server.test.ts looks at.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionsOf } from '../../src/http/http-server.ts';
import type { Limits } from '../../src/http/limits.ts';
import { holdCreate, noLog } from './connections.ts';
import { addLongPets, openService } from '../support/http/service.ts';
import {
  CHUNKED,
  LIVEZ,
  REX,
  assertErrorAnswer,
  lastRequestOf,
  openWire,
  requestOf,
  statusesOf,
  talk,
  type Wire,
} from '../support/http/wire.ts';
import { until } from '../support/until.ts';

const UPGRADE = ['Connection: Upgrade', 'Upgrade: h2c', CHUNKED];
const SHORT: Partial<Limits> = {
  headersTimeout: 600,
  requestTimeout: 900,
  connectionsCheckingInterval: 20,
};

/** Sends the bytes one by one until the connection is closed. */
function drip(t: TestContext, { socket }: Wire, bytes: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < bytes.length && socket.writable) socket.write(bytes[at++]!);
  }, 20);
  t.after(() => clearInterval(timer));
}

const ENDLESS = 'x'.repeat(10_000);
const SLOW: readonly (readonly [what: string, fast: string, slow: string])[] = [
  ['a request line', '', `GET /${ENDLESS}`],
  ['a header', 'GET /v1/pets HTTP/1.1\r\n', 'X-A: b\r\n'.repeat(1000)],
  ['a body', requestOf('POST /v1/pets', ['Content-Length: 10000']), REX + ' '.repeat(9000)],
  ['a body in chunks', requestOf('POST /v1/pets', [CHUNKED]), '1\r\n \r\n'.repeat(1000)],
  ['a second request', LIVEZ, `GET /${ENDLESS}`],
  ['nothing at all', '', ''],
  // node:http does not parse such a body.
  ['a malformed body after Upgrade', requestOf('POST /v1/pets', UPGRADE, 'x\r\n'), ''],
];

test('A client that is slow with any part of a request gets 408', async (t) => {
  const service = await openService(t, { log: noLog }, SHORT);
  const converse = async ([what, fast, slow]: (typeof SLOW)[number]): Promise<void> => {
    const wire = await openWire(t, service.port);
    wire.socket.write(fast);
    drip(t, wire, slow);
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), fast === LIVEZ ? [200, 408] : [408], what);
    assertErrorAnswer(answers.at(-1), 'request_timeout', what);
    assert.equal(answers.at(-1)?.headers.get('connection'), 'close', what);
  };
  await Promise.all(SLOW.map(converse));
  assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
});

test('A connection that is idle after a response is closed without another response', async (t) => {
  const closed = async (bytes: string, limits: Partial<Limits>): Promise<void> => {
    const service = await openService(t, { log: noLog }, limits);
    assert.deepEqual(statusesOf(await talk(service.port, bytes)), [200]);
  };
  // The second one announces a body, and never sends it.
  const announcing = requestOf('GET /livez', ['Content-Length: 10']);
  await Promise.all([closed(LIVEZ, { keepAliveTimeout: 100 }), closed(announcing, SHORT)]);
});

const LIST = requestOf('GET /v1/pets?limit=100');

test('A client that reads nothing is disconnected even if it sends empty lines or CONNECT', async (t) => {
  const service = await openService(t, {}, { ...SHORT, timeout: 300, keepAliveTimeout: 200 });
  await addLongPets(service, 100);
  for (const bytes of [LIST, LIST + requestOf('CONNECT b:443')]) {
    const wire = await openWire(t, service.port);
    wire.socket.pause();
    wire.socket.write(bytes);
    if (bytes === LIST) drip(t, wire, '\r\n'.repeat(10_000));
  }
  await talk(service.port, lastRequestOf('GET /livez'));
  await until(() => connectionsOf(service.server).size === 0);
});

test('A request that waited for others has its own time after them', async (t) => {
  const wait = async (now: string, later: string, rest: string): Promise<readonly number[]> => {
    const limits = { ...SHORT, keepAliveTimeout: 200 };
    const { service, wire, release } = await holdCreate(t, LIVEZ + now, limits);
    wire.socket.write(later);
    // A client that says nothing is cut off meanwhile: the time is over for certain, twice.
    for (let time = 0; time < 2; time += 1) await talk(service.port, '');
    release();
    await wire.answers(2);
    drip(t, wire, rest);
    return statusesOf(await wire.allAnswers());
  };
  // The rest of the first one arrives while others wait before it, and is not read.
  const waited = [wait(LIVEZ.slice(0, -2), LIVEZ.slice(-2), ''), wait('GET', '', ` /${ENDLESS}`)];
  assert.deepEqual(await Promise.all(waited), [
    [201, 200, 200],
    [201, 200],
  ]);
});

test('A connection above the limit is closed, and busy ones are served', async (t) => {
  const service = await openService(t, { log: noLog }, { maxConnections: 2 });
  const wires = await Promise.all([openWire(t, service.port), openWire(t, service.port)]);
  for (const { socket } of wires) socket.write(LIVEZ.slice(0, -1));
  // The service has read that when it refuses a third.
  assert.deepEqual(await talk(service.port, ''), []);
  for (const wire of wires) {
    wire.socket.write('\n');
    assert.deepEqual(statusesOf(await wire.answers(1)), [200]);
  }
});

test('If all connections are in use, those that are idle, or unused for over a second, are closed', async (t) => {
  const service = await openService(t, {}, { maxConnections: 4 });
  const open = (): Promise<Wire> => openWire(t, service.port);
  const [idle, busy, dribbling, unused] = await Promise.all([open(), open(), open(), open()]);
  for (const wire of [idle, busy]) {
    wire.socket.write(LIVEZ);
    await wire.answers(1);
  }
  busy.socket.write(LIVEZ.slice(0, -2));
  dribbling.socket.write('G');
  await until(() => connectionsOf(service.server).size === 4);
  assert.deepEqual(await talk(service.port, ''), []);
  assert.equal((await idle.allAnswers()).length, 1);
  // Those without a request may be about to send one; after a second they are not waited for.
  // (From Node 26 on, the unused one is gone, too.)
  await until(() => connectionsOf(service.server).size < 4);
  assert.equal(dribbling.socket.readableEnded, false);
  for (let { size } = connectionsOf(service.server); size < 4; size += 1) {
    await open();
    await until(() => connectionsOf(service.server).size > size);
  }
  await sleep(1100);
  assert.deepEqual(await talk(service.port, ''), []);
  for (const wire of [dribbling, unused]) assert.deepEqual(await wire.allAnswers(), []);
  const later = await open();
  for (const wire of [later, busy]) {
    wire.socket.write(wire === busy ? '\r\n' : LIVEZ);
    const expected = wire === busy ? [200, 200] : [200];
    assert.deepEqual(statusesOf(await wire.answers(expected.length)), expected);
  }
});
