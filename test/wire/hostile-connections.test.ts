/**
 * Connections of hostile and unlucky clients: each ends, costs at most its share, and delays
 * nobody else.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionsOf } from '../../src/http/http-server.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { startBystander } from '../support/http/bystander.ts';
import { usedBytes } from '../support/process/heap.ts';
import { createHeldStore } from '../support/pets/held-store.ts';
import { rounds } from '../support/extent.ts';
import { addLongPets, openService, type Service } from '../support/http/service.ts';
import {
  lastRequestOf,
  openWire,
  requestOf,
  statusesOf,
  talk,
  type Wire,
} from '../support/http/wire.ts';

const REX = '{"name":"Rex","categoryId":1}';
const CHUNKED = 'Transfer-Encoding: chunked';
const CREATE = requestOf('POST /v1/pets', [], REX);
const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n';

const service = await openService({ after });

/** Resolves when the service has so many connections. */
async function connections({ server }: Service, count: number): Promise<void> {
  while (connectionsOf(server).size !== count) await sleep(5);
}

const BATCHES: Readonly<Record<string, readonly [request: string, status: number]>> = {
  'of /livez': [LIVEZ, 200],
  'of lists': [requestOf('GET /v1/pets?limit=5'), 200],
  'of creates': [CREATE, 201],
  'of creates in chunks': [
    requestOf(
      'POST /v1/pets',
      [CHUNKED],
      `d\r\n${REX.slice(0, 13)}\r\n10\r\n${REX.slice(13)}\r\n0\r\n\r\n`,
    ),
    201,
  ],
  'of invalid creates': [requestOf('POST /v1/pets', [], '{}'), 400],
  'of pets that are not there': [requestOf('GET /v1/pets/0'), 404],
  'without a key': ['GET /v1/pets HTTP/1.1\r\nHost: a\r\n\r\n', 401],
  'of OPTIONS': [requestOf('OPTIONS /v1/pets'), 204],
};

for (const [what, [request, status]] of Object.entries(BATCHES)) {
  test(`Batches ${what}, one after the other on one connection, all get responses`, async (t) => {
    const wire = await openWire(t, service.port);
    let sent = 0;
    for (const size of [2, 2, 1, 3, 100, 2, 1, 1, 10]) {
      wire.socket.write(request.repeat(size));
      sent += size;
      const answers = await answersSoFar(wire, sent);
      assert.equal(answers, sent);
    }
    const statuses = wire.text().match(/(?<=HTTP\/1\.1 )[0-9]{3}/g);
    assert.deepEqual(statuses, Array(sent).fill(String(status)));
  });
}

/** Waits for so many answers. A 204 has no length, so that they are counted by their first line. */
async function answersSoFar(wire: Wire, count: number): Promise<number> {
  const countIn = (text: string): number => text.split('HTTP/1.1 ').length - 1;
  return countIn(
    await wire.until(
      (text) => countIn(text) >= count && text.endsWith(END_OF[text.at(-1) ?? ''] ?? ''),
    ),
  );
}

/** What the last answer of a batch ends with, by its last character. */
const END_OF: Readonly<Record<string, string>> = { '\n': '\r\n\r\n', '}': '}', ']': ']' };

test('A second batch that arrives during the first gets its responses in order', async (t) => {
  const store = createHeldStore();
  const own = await openService(t, { store });
  const wire = await openWire(t, own.port);
  wire.socket.write(CREATE + LIVEZ);
  await store.waiting();
  wire.socket.write(requestOf('GET /v1/pets/1') + CREATE);
  await talk(own.port, lastRequestOf('GET /livez'));
  wire.socket.write(requestOf('GET /v1/pets/2'));
  assert.equal(wire.text(), '');
  store.release();
  // A pet that was created before on the connection is there.
  assert.deepEqual(statusesOf(await wire.answers(5)), [201, 200, 200, 201, 200]);
});

test('Pipelining clients that disconnect free their connections', async (t) => {
  const own = await openService(t, {}, { maxConnections: 50 });
  for (let round = 0; round < rounds(2, 3); round += 1) {
    const wires = await Promise.all(Array.from({ length: 50 }, () => openWire(t, own.port)));
    for (let batch = 0; batch < 2; batch += 1) {
      for (const { socket } of wires) socket.write(LIVEZ.repeat(2));
      await Promise.all(wires.map((wire) => wire.answers(2 * (batch + 1))));
    }
    for (const [index, { socket }] of wires.entries()) {
      socket.write(LIVEZ.repeat(2));
      if (index % 2 === 0) socket.end();
      else socket.resetAndDestroy();
    }
    await connections(own, 0);
  }
});

test('A client that reads nothing is disconnected after the timeout, and others are not', async (t) => {
  const own = await openService(t, {}, { timeout: 300, connectionsCheckingInterval: 20 });
  await addLongPets(own, 20);
  const bystander = await startBystander(own.port);
  const others = connectionsOf(own.server).size;
  const before = usedBytes();
  const wires = await Promise.all(Array.from({ length: 20 }, () => openWire(t, own.port)));
  for (const { socket } of wires) {
    socket.pause();
    // Each answer is 1.2 MB: all of them would be 24 GB.
    socket.write(requestOf('GET /v1/pets').repeat(1000));
  }
  let most = 0;
  while (connectionsOf(own.server).size > others) {
    most = Math.max(most, process.memoryUsage().external);
    await sleep(20);
  }
  // What was sent stays in memory until the next collection, about a hundred megabytes.
  assert.ok(most < 500 << 20, `${most} bytes`);
  for (const { socket } of wires) socket.destroy();
  await bystander.stop();
  const rest = usedBytes() - before;
  assert.ok(rest < 40 << 20, `${rest} bytes`);
});

test('A response that never comes ends its connection after the timeout', async (t) => {
  const get = (): Promise<undefined> => new Promise(() => undefined);
  const own = await openService(
    t,
    { store: { ...createMemoryStore(), get } },
    { timeout: 200, connectionsCheckingInterval: 20 },
  );
  const requests = [requestOf('GET /v1/pets/1'), LIVEZ];
  assert.deepEqual(await talk(own.port, requests.join('')), []);
  const half = await openWire(t, own.port);
  half.socket.end(requests.join(''));
  assert.deepEqual(await half.allAnswers(), []);
  await connections(own, 0);
});

const FLOOD = rounds(60_000, 160_000);
/** If all of them are read at once, they take 180 MB, or 480 MB. */
const MAX_FLOOD_BYTES: number = rounds(150, 200) << 20;

test('A flood of short requests takes bounded memory, and another client is served', async (t) => {
  const own = await openService(t);
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const wire = await openWire(t, own.port);
  wire.socket.write(request);
  await wire.answers(1);
  const answerBytes = wire.socket.bytesRead;
  wire.socket.removeAllListeners('data').resume();

  const before = usedBytes();
  const bystander = await startBystander(own.port);
  let most = 0;
  const watch = setInterval(() => {
    const { heapUsed, external } = process.memoryUsage();
    most = Math.max(most, heapUsed + external - before);
  }, 10);
  t.after(() => clearInterval(watch));
  if (!wire.socket.write(request.repeat(FLOOD))) await once(wire.socket, 'drain');
  while (wire.socket.bytesRead < (FLOOD + 1) * answerBytes) await sleep(10);
  const { asked, longestMs } = await bystander.stop();
  t.diagnostic(`At most ${most >> 20} MiB more; a bystander was answered ${asked} times`);
  t.diagnostic(`Its longest wait was ${longestMs.toFixed(0)} ms`);
  assert.ok(most < MAX_FLOOD_BYTES, `${most} bytes`);
});

test('If one request too many waits, the response in progress is the last', async (t) => {
  const store = createHeldStore();
  const own = await openService(t, { store }, { maxWaitingRequests: 10 });
  const first = await openWire(t, own.port);
  first.socket.write(CREATE + LIVEZ.repeat(8));
  await store.waiting();
  const greedy = await openWire(t, own.port);
  greedy.socket.write(CREATE + LIVEZ.repeat(8));
  await talk(own.port, lastRequestOf('GET /livez'));
  store.release();
  const [created, ...more] = await greedy.allAnswers();
  assert.deepEqual([created?.status, more], [201, []]);
  assert.equal(created?.headers.get('connection'), 'close');
  assert.equal((await first.answers(9)).length, 9);
  // What it had is free again.
  const modest = await openWire(t, own.port);
  modest.socket.write(CREATE + LIVEZ.repeat(2));
  assert.equal((await modest.answers(3)).length, 3);
});

test('A waiting request with many header fields counts as several', async (t) => {
  const store = createHeldStore();
  const own = await openService(t, { store }, { maxWaitingRequests: 10 });
  const wire = await openWire(t, own.port);
  const heavy = requestOf('GET /livez', Array<string>(600).fill('a:'));
  wire.socket.write(CREATE + heavy.repeat(2));
  await store.waiting();
  await talk(own.port, lastRequestOf('GET /livez'));
  store.release();
  // The first of the two fills the bound alone.
  assert.deepEqual(statusesOf(await wire.allAnswers()), [201]);
});

test('A request that is half read because others wait before it does not time out', async (t) => {
  const store = createHeldStore();
  const limits = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };
  const own = await openService(t, { store }, limits);
  const wire = await openWire(t, own.port);
  wire.socket.write(CREATE + LIVEZ + LIVEZ.slice(0, -2));
  await store.waiting();
  wire.socket.write(LIVEZ.slice(-2));
  // A client that says nothing is cut off meanwhile: the time is over for certain, twice.
  await (await openWire(t, own.port)).allAnswers();
  await (await openWire(t, own.port)).allAnswers();
  store.release();
  assert.deepEqual(statusesOf(await wire.answers(3)), [201, 200, 200]);
});

test('A body in chunks of one byte takes little more than its length', async (t) => {
  // On a busy machine so many chunks take longer than the limit in force.
  const own = await openService(t, {}, { requestTimeout: 0 });
  const body = REX.padEnd(60_000);
  const chunks = [...body].map((byte) => `1\r\n${byte}\r\n`).join('');
  const count = rounds(5, 20);
  const wires = await Promise.all(Array.from({ length: count }, () => openWire(t, own.port)));
  const before = usedBytes();
  for (const { socket } of wires) socket.write(requestOf('POST /v1/pets', [CHUNKED], chunks));
  // All of that is read when another connection is answered and nothing waits to be sent.
  while (wires.some(({ socket }) => socket.writableLength > 0)) await sleep(5);
  await talk(own.port, lastRequestOf('GET /livez'));
  const perBody = (usedBytes() - before) / wires.length;
  assert.ok(perBody < 300_000, `${perBody} bytes`);
  for (const { socket } of wires) socket.write('0\r\n\r\n');
  for (const wire of wires) assert.deepEqual(statusesOf(await wire.answers(1)), [201]);
});

test('If all connections are in use, idle and unused ones are closed', async (t) => {
  const own = await openService(t, {}, { maxConnections: 5 });
  const used = await Promise.all(Array.from({ length: 3 }, () => openWire(t, own.port)));
  for (const { socket } of used) socket.write(LIVEZ);
  for (const wire of used) await wire.answers(1);
  const unused = await openWire(t, own.port);
  const busy = await openWire(t, own.port);
  busy.socket.write(LIVEZ);
  await busy.answers(1);
  busy.socket.write(LIVEZ.slice(0, -2));
  await connections(own, 5);
  assert.deepEqual(await (await openWire(t, own.port)).allAnswers(), []);
  for (const wire of used) assert.equal((await wire.allAnswers()).length, 1);
  // One that was just made may be about to speak; after a second it is not waited for.
  // (From Node 26 on, the first unused one is gone, too.)
  while (connectionsOf(own.server).size > 2) await sleep(5);
  const others: Wire[] = [];
  while (connectionsOf(own.server).size < 5) {
    others.push(await openWire(t, own.port));
    await sleep(20);
  }
  await sleep(1100);
  assert.deepEqual(await (await openWire(t, own.port)).allAnswers(), []);
  for (const wire of [unused, ...others]) assert.deepEqual(await wire.allAnswers(), []);
  const later = await openWire(t, own.port);
  for (const wire of [later, busy]) {
    wire.socket.write(wire === busy ? '\r\n' : LIVEZ);
    const expected = wire === busy ? [200, 200] : [200];
    assert.deepEqual(statusesOf(await wire.answers(expected.length)), expected);
  }
});

test('If all connections are in use, one whose first header takes over a second is closed', async (t) => {
  const own = await openService(t, {}, { maxConnections: 3 });
  const dribbling = await Promise.all(Array.from({ length: 3 }, () => openWire(t, own.port)));
  for (const { socket } of dribbling) socket.write('G');
  await connections(own, 3);
  await sleep(1100);
  assert.deepEqual(await (await openWire(t, own.port)).allAnswers(), []);
  for (const wire of dribbling) assert.deepEqual(await wire.allAnswers(), []);
  assert.deepEqual(statusesOf(await talk(own.port, lastRequestOf('GET /livez'))), [200]);
});

for (const name of ['Connection', 'proxy-connection']) {
  test(`The response to a request with ${name}: close in its trailer is the last`, async () => {
    const body = `1d\r\n${REX}\r\n0\r\n${name}: close\r\n\r\n`;
    const [answer, ...more] = await talk(service.port, requestOf('POST /v1/pets', [CHUNKED], body));
    assert.deepEqual([answer?.status, more], [201, []]);
    assert.equal(answer?.headers.get('connection'), 'close');
  });
}

test('Another trailer leaves the connection open', async (t) => {
  const body = `1d\r\n${REX}\r\n0\r\nX-Connection: close\r\n\r\n`;
  const wire = await openWire(t, service.port);
  wire.socket.write(requestOf('POST /v1/pets', [CHUNKED], body) + LIVEZ);
  assert.deepEqual(statusesOf(await wire.answers(2)), [201, 200]);
});

test('A GET whose announced body never comes gets one response', async (t) => {
  const limits = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };
  const own = await openService(t, {}, limits);
  const bytes = requestOf('GET /livez', ['Content-Length: 10']);
  assert.deepEqual(statusesOf(await talk(own.port, bytes)), [200]);
});
