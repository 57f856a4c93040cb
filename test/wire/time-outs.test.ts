/**
 * Limits of time and number: who is too slow is cut off, and the others do not notice.
 *
 * The limits are shorter than those in force, which test/http/http-server.test.ts looks at.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import type { Limits } from '../../src/http/limits.ts';
import { createHeldStore } from '../support/held-store.ts';
import { startService, type Service } from '../support/service.ts';
import {
  assertErrorAnswer,
  lastRequestOf,
  openWire,
  requestOf,
  statusesOf,
  type Wire,
} from '../support/wire.ts';

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
  const service = await startService({ log }, limits);
  t.after(() => service.close());
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

test('The time that the service takes itself does not count', async (t) => {
  const store = createHeldStore();
  const service = await startService({ store }, SHORT);
  t.after(() => service.close());
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('POST /v1/pets', [], REX));
  await store.waiting();
  // A client that says nothing is cut off meanwhile, so that the time is over for certain.
  await (await openWire(t, service.port)).allAnswers();
  await (await openWire(t, service.port)).allAnswers();
  store.release();
  assert.deepEqual(statusesOf(await wire.answers(1)), [201]);
});

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
