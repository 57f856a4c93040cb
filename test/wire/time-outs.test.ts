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
import { CHUNKED, LIVEZ, REX, lastRequestOf, requestOf } from '../support/http/requests.ts';
import { assertErrorAnswer, openWire, statusesOf, talk, type Wire } from '../support/http/wire.ts';
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
    const wire = await openWire(t, service.port, fast);
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
    const { service, wire, release } = await holdCreate(t, LIVEZ + now, SHORT);
    wire.socket.write(later);
    // A client that says nothing is cut off meanwhile: the time is over for certain, twice.
    for (let time = 0; time < 2; time += 1) await talk(service.port, '');
    release();
    await wire.answers(2);
    drip(t, wire, rest);
    return statusesOf(await wire.allAnswers());
  };
  // The rest of the first one arrives while others wait before it, and is not read. The second one
  // is parsed after them, and is slow from then on.
  const last = lastRequestOf('GET /livez');
  const waited = [wait(last.slice(0, -2), last.slice(-2), ''), wait('GET', '', ` /${ENDLESS}`)];
  assert.deepEqual(await Promise.all(waited), [
    [201, 200, 200],
    [201, 200, 408],
  ]);
});

test('If nearly all connections are in use, a new one closes the one that is idle for the longest time', async (t) => {
  // One connection is kept free.
  const limits = { maxConnections: 32, connectionsCheckingInterval: 20 };
  const service = await openService(t, {}, limits);
  const open = (): Promise<Wire> => openWire(t, service.port);
  const ask = async (wire: Wire, count: number, bytes = LIVEZ): Promise<void> => {
    wire.socket.write(bytes);
    await wire.answers(count);
  };
  const busy = await open();
  busy.socket.write(requestOf('POST /v1/pets', ['Content-Length: 100']));
  const [unused, idle, dribbling] = [await open(), await open(), await open()];
  await ask(idle, 1);
  // A complete request, and the first byte of the next one.
  await ask(dribbling, 1, `${LIVEZ}G`);
  const others = [];
  for (let opened = 4; opened < 31; opened += 1) others.push(await open());
  for (const other of others) await ask(other, 1);
  await sleep(1200);
  for (const other of others) await ask(other, 2);
  const added: Wire[] = [];
  const errors: Error[] = [];
  for (const longest of [unused, idle, dribbling]) {
    added.push(await open());
    await ask(added.at(-1)!, 1);
    await until(longest.isClosed);
    // A request that was in transit is not answered by a reset.
    longest.socket.on('error', (cause) => errors.push(cause));
    longest.socket.write(LIVEZ);
    await ask(added.at(-1)!, 2);
    // The kernel reports a reset at the second write.
    longest.socket.end(LIVEZ);
    await until(() => longest.socket.destroyed);
    await until(() => connectionsOf(service.server).size === 31);
  }
  assert.deepEqual(errors, []);
  for (const wire of [...others, ...added]) assert.equal(wire.isClosed(), false);
  for (const other of others) await ask(other, 3);
  assert.equal(busy.isClosed(), false);
});
