/**
 * Limits of time and number: who is too slow is cut off, and the others do not notice.
 *
 * The limits are shorter than those in force, which test/http/http-server.test.ts looks at.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionsOf } from '../../src/http/http-server.ts';
import type { Limits } from '../../src/http/limits.ts';
import { createHeldStore } from '../support/pets/held-store.ts';
import { addLongPets, openService, type Service } from '../support/http/service.ts';
import {
  assertErrorAnswer,
  lastRequestOf,
  openWire,
  requestOf,
  statusesOf,
  talk,
  type Wire,
} from '../support/http/wire.ts';

const REX = '{"name":"Rex","categoryId":1}';
const CHUNKED = 'Transfer-Encoding: chunked';
const SHORT: Partial<Limits> = {
  headersTimeout: 300,
  requestTimeout: 600,
  connectionsCheckingInterval: 20,
};

/** A service with short limits that must log nothing. */
async function start(t: TestContext, limits: Partial<Limits> = SHORT): Promise<Service> {
  const log = (...entry: readonly unknown[]): void => assert.fail(JSON.stringify(entry));
  const service = await openService(t, { log }, limits);
  return service;
}

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
  ['a second request', requestOf('GET /livez'), `GET /${ENDLESS}`],
  ['nothing at all', '', ''],
];

for (const [what, fast, slow] of SLOW) {
  test(`A client that is slow with ${what} gets 408, and others go on undisturbed`, async (t) => {
    const service = await start(t);
    const other = await openWire(t, service.port);
    const wire = await openWire(t, service.port);
    if (fast !== '') wire.socket.write(fast);
    drip(t, wire, slow);
    let asked = 0;
    let isOver = false;
    const over = wire.allAnswers().finally(() => (isOver = true));
    while (!isOver) {
      asked += 1;
      other.socket.write(requestOf('GET /v1/pets'));
      assert.equal((await other.answers(asked)).at(-1)?.status, 200);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const answers = await over;
    assert.deepEqual(statusesOf(answers), what === 'a second request' ? [200, 408] : [408]);
    assertErrorAnswer(answers.at(-1), 'request_timeout');
    assert.equal(answers.at(-1)?.headers.get('connection'), 'close');
    assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
  });
}

test('A malformed body behind Upgrade, which node:http passes over, gets 408', async (t) => {
  const service = await start(t);
  const fields = ['Connection: Upgrade', 'Upgrade: h2c', CHUNKED];
  const wire = await openWire(t, service.port);
  wire.socket.end(requestOf('POST /v1/pets', fields, 'x\r\n'));
  const answers = await wire.allAnswers();
  assert.equal(answers.length, 1);
  assertErrorAnswer(answers[0], 'request_timeout');
});

test('A connection that is idle after an answer is closed without another one', async (t) => {
  const service = await start(t, { ...SHORT, keepAliveTimeout: 100 });
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('GET /livez'));
  assert.deepEqual(statusesOf(await wire.allAnswers()), [200]);
});

/** Sends an empty line now and then, until the connection is closed. */
function sendEmptyLines(t: TestContext, { socket }: Wire): void {
  const timer = setInterval(() => socket.writable && socket.write('\r\n'), 20);
  t.after(() => clearInterval(timer));
}

/** Resolves when the service has closed all connections but so many. */
async function connections({ server }: Service, count: number): Promise<void> {
  while (connectionsOf(server).size > count) await sleep(10);
}

const LIST = requestOf('GET /v1/pets?limit=100');

test('A client that reads nothing is cut off, though it sends empty lines or CONNECT', async (t) => {
  const service = await openService(t, {}, { ...SHORT, timeout: 300, keepAliveTimeout: 200 });
  await addLongPets(service, 100);
  for (const bytes of [LIST, LIST + requestOf('CONNECT b:443')]) {
    const wire = await openWire(t, service.port);
    wire.socket.pause();
    wire.socket.write(bytes);
    if (bytes === LIST) sendEmptyLines(t, wire);
  }
  await talk(service.port, lastRequestOf('GET /livez'));
  await connections(service, 0);
});

test('A client that reads slowly goes forward, and is not cut off', async (t) => {
  const service = await openService(t, {}, { ...SHORT, timeout: 1000 });
  await addLongPets(service, 100);
  const wire = await openWire(t, service.port);
  wire.socket.write(LIST);
  const slow = setInterval(() => {
    wire.socket.resume();
    wire.socket.once('data', () => wire.socket.pause());
  }, 25);
  t.after(() => clearInterval(slow));
  const [answer] = await wire.answers(1);
  assert.ok(answer!.body.length > 6_500_000);
});

test('A connection that brings empty lines and no request is closed', async (t) => {
  const limits = { ...SHORT, headersTimeout: 200, keepAliveTimeout: 200 };
  const service = await openService(t, {}, limits);
  for (const first of ['', requestOf('GET /livez')]) {
    const wire = await openWire(t, service.port);
    wire.socket.write(first);
    sendEmptyLines(t, wire);
    const statuses = statusesOf(await wire.allAnswers());
    assert.deepEqual(statuses, first === '' ? [408] : [200]);
  }
});

test('A request that expired while others waited before it has its own time after them', async (t) => {
  const store = createHeldStore();
  const service = await openService(t, { store }, { ...SHORT, keepAliveTimeout: 200 });
  const wire = await openWire(t, service.port);
  wire.socket.write(
    requestOf('POST /v1/pets', [], REX) + requestOf('GET /livez').repeat(2) + 'GET',
  );
  await store.waiting();
  // A client that says nothing is cut off meanwhile: the time is over for certain, twice.
  await (await openWire(t, service.port)).allAnswers();
  await (await openWire(t, service.port)).allAnswers();
  store.release();
  await wire.answers(3);
  drip(t, wire, ` /${ENDLESS}`);
  assert.deepEqual(statusesOf(await wire.allAnswers()), [201, 200, 200]);
});

test('A connection beyond the greatest number is closed, and busy ones are served', async (t) => {
  const service = await start(t, { maxConnections: 2 });
  const request = requestOf('GET /livez');
  const wires = await Promise.all([openWire(t, service.port), openWire(t, service.port)]);
  const [first, second] = wires as [Wire, Wire];
  for (const { socket } of wires) socket.write(request.slice(0, -1));
  // The service has read that when it refuses a third.
  assert.deepEqual(await (await openWire(t, service.port)).allAnswers(), []);
  for (const wire of wires) {
    wire.socket.write('\n');
    assert.deepEqual(statusesOf(await wire.answers(1)), [200]);
  }

  // As soon as one goes there is room again.
  first.socket.write(request.slice(0, -1));
  second.socket.write(lastRequestOf('GET /livez'));
  await second.allAnswers();
  second.socket.end();
  await once(second.socket, 'close');
  const later = await openWire(t, service.port);
  later.socket.write(request);
  assert.deepEqual(statusesOf(await later.answers(1)), [200]);
});
