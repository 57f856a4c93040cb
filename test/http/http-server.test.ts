/**
 * The limits of the node:http server, of a lingering close, and of connections without progress,
 * second by second: which are closed, and when.
 *
 * The table of pipelining.ts: what leads a connection to each state, and back. That nothing is
 * processed after a last response is in test/wire.
 */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createHttpServer } from '../../src/http/http-server.ts';
import { LIMITS } from '../../src/http/limits.ts';
import { lingeringClose } from '../../src/http/lingering-close.ts';
import { createRouter } from '../../src/http/router.ts';
import { type Connection, PipelineQueue } from '../../src/http/pipelining.ts';
import { closeStalledConnections } from '../../src/http/stalled-connections.ts';
import { requestOf } from '../support/http/requests.ts';
import { listenFor } from '../support/http/service.ts';
import { openWire, statusesOf } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

test('The server has the limits of time and connections, and checks them every second', () => {
  const server = createHttpServer(() => undefined);
  const { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections } = server;
  // node:http has the interval as a property, which its types leave out.
  const interval = Reflect.get(server, 'connectionsCheckingInterval');
  const limits = [headersTimeout, requestTimeout, keepAliveTimeout, maxConnections, interval];
  assert.deepEqual(limits, [10_000, 20_000, 65_000, 1024, 1000]);
  assert.equal(LIMITS.timeout, 60_000);
});

test('A client gets no 408 just after the service began to read its connection', async (t) => {
  const server = createHttpServer((_request, response) => response.end());
  const connected = once(server, 'connection');
  const wire = await openWire(t, await listenFor(t, server));
  const timeout = Object.assign(new Error('Timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  server.emit('clientError', timeout, (await connected)[0]);
  wire.socket.write(requestOf('GET /'));
  assert.deepEqual(statusesOf(await wire.answers(1)), [200]);
});

/** Begins a lingering close. Resolves when all that was written has gone out. */
async function linger(): Promise<Duplex> {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  lingeringClose(socket);
  await once(socket, 'finish');
  return socket;
}

test('A lingering close discards 8 MiB, and ends after 2 s without a byte, or after 20 s', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const full = await linger();
  full.emit('data', Buffer.alloc((8 << 20) - 1));
  assert.equal(full.isPaused(), false);
  full.emit('data', Buffer.alloc(1));
  assert.equal(full.isPaused(), true);
  const sends = await linger();
  for (let second = 1; second < 20; second += 1) {
    sends.emit('data', Buffer.alloc(1));
    t.mock.timers.tick(1000);
    assert.equal(sends.destroyed, false);
  }
  sends.emit('data', Buffer.alloc(1));
  t.mock.timers.tick(1000);
  assert.equal(sends.destroyed, true);
  const silent = await linger();
  for (const isDestroyed of [false, true]) {
    t.mock.timers.tick(1000);
    assert.equal(silent.destroyed, isDestroyed);
  }
});

/** A connection: its socket, as far as it is looked at, and its state. */
const IDLE = {
  isDue: false,
  bytesRead: 9,
  bytesWritten: 0,
  /** The bytes that the kernel has not accepted yet. */
  writeQueueSize: 9000,
  /** The listeners of its socket for `timeout`. */
  listeners: 1,
};
type Watched = typeof IDLE;
type Change = (watched: Watched, second: number) => void;
const DUE: Watched = { ...IDLE, isDue: true };

/** Connections, what happens in each second, and the second in which they are closed. */
const CASES: readonly (readonly [string, Watched, Change, closed: number | undefined])[] = [
  ['does not take a response', DUE, (it) => (it.bytesWritten = it.writeQueueSize += 10), 62],
  [
    'takes a byte every minute',
    DUE,
    (it, at) => (it.writeQueueSize = 9000 - Math.floor(at / 60)),
    undefined,
  ],
  ['sends nothing', { ...IDLE, bytesRead: 0 }, () => undefined, 67],
  ['sends no request', IDLE, () => undefined, 77],
  ['sends a request in time', IDLE, (it, at) => (it.isDue = at > 70), 132],
  ['another program has taken', { ...IDLE, listeners: 0 }, () => undefined, undefined],
];

for (const [what, start, change, closed] of CASES) {
  test(`A connection that ${what} is closed ${closed === undefined ? 'never' : `after ${closed} s`}`, (t) => {
    let second = 0;
    let closedAt: number | undefined;
    const listenerCount = (): number => start.listeners;
    const destroy = (): unknown => (closedAt ??= second);
    // One object is the connection, its socket and the handle of that.
    const progress = { isDue: false, sentBytes: 0, at: 0 };
    const watched = { ...start, progress, listenerCount, destroy };
    const socket = Object.assign(watched, { _handle: watched }) as unknown as Socket;
    const queue = new PipelineQueue(() => undefined);
    queue.connections.set(socket, Object.assign(watched, { socket }) as unknown as Connection);
    let check = (): void => assert.fail('Nothing is checked');
    t.mock.method(globalThis, 'setInterval', (run: () => void, ms: number) => {
      assert.equal(ms, 1000);
      check = run;
      return setTimeout(() => undefined, 0);
    });
    t.mock.method(performance, 'now', () => 1000 * second);
    const server = new EventEmitter() as Server;
    closeStalledConnections(server, queue, LIMITS);
    server.emit('listening');
    while (second < 300) {
      second += 1;
      change(watched, second);
      check();
    }
    assert.equal(closedAt, closed);
  });
}

/** The listener answers immediately, or holds its response until the test ends it. */
const NOW = requestOf('GET /now');
const HELD = requestOf('GET /held');
/** Its body comes with it, so that node:http runs the next tick between the two requests. */
const BODY = requestOf('GET /now', [], 'x');

/** `stops` is false for a parser that does not stop. */
async function startBench(t: TestContext, stops = true) {
  /** The responses that wait for the test, in the order of their requests. */
  const held: ServerResponse[] = [];
  /** The paths of all requests that were served, with the port of their client. */
  const served: { readonly url: string; readonly port: number | undefined }[] = [];
  const queue = new PipelineQueue((request, response) => {
    served.push({ url: request.url!, port: request.socket.remotePort });
    const hold = (): unknown => held.push(response);
    if (request.url === '/now') response.end('now');
    else if (request.method === 'POST') request.resume().on('end', hold);
    else hold();
  });
  const server = createServer((request, response) => queue.serve(request, response));
  server.on('clientError', (error: Error & { rawPacket?: Buffer; bytesParsed?: number }, socket) =>
    queue.keepUnparsed(socket, error.rawPacket!.subarray(error.bytesParsed)),
  );
  server.on('connection', (socket: Socket & { parser: { onIncoming: unknown } }) => {
    const { onIncoming } = socket.parser;
    queue.add(socket);
    if (!stops) socket.parser.onIncoming = onIncoming;
  });
  const port = await listenFor(t, server);
  const connect = async () => {
    const known = queue.connections.size;
    const wire = await openWire(t, port);
    await until(() => queue.connections.size > known);
    return { wire, connection: [...queue.connections.values()].at(-1)! };
  };
  return { queue, held, served, connect };
}

test('reading → waiting → reading: one request waits for the response before it, the rest as bytes', async (t) => {
  const { connect, held, served } = await startBench(t);
  const { wire, connection } = await connect();
  wire.socket.write(NOW + HELD + NOW.repeat(500));
  await until(() => connection.unparsed !== undefined && held.length === 1);
  assert.equal(connection.state, 'waiting');
  assert.equal(connection.unparsed!.length, 499 * NOW.length);
  assert.equal(connection.socket.isPaused(), true);
  // It is not read while it waits.
  wire.socket.write(NOW);
  for (let iteration = 0; iteration < 20; iteration += 1) await nextIteration();
  const urls = served.map(({ url }) => url);
  assert.deepEqual(urls, ['/now', '/held']);
  assert.equal(connection.socket.bytesRead, (NOW + HELD).length + 500 * NOW.length);
  held[0]!.end();
  await wire.answers(503);
  await until(() => !connection.isDue);
  assert.deepEqual([connection.state, connection.unparsed], ['reading', undefined]);
  assert.equal(connection.socket.isPaused(), false);
});

test('reading → waiting: a request waits if another of its connection was served in the iteration', async (t) => {
  const { connect, served } = await startBench(t);
  const { wire } = await connect();
  let isOver = false;
  let most = 0;
  /** Counts the requests that are served between two polls of all connections. */
  const count = (before: number): void => {
    most = Math.max(most, served.length - before);
    if (!isOver) setImmediate(count, served.length);
  };
  count(0);
  wire.socket.write(BODY.repeat(500));
  await wire.answers(500);
  isOver = true;
  // 64 that wait for others, and one that was read; twice, since they may come before the count.
  assert.ok(most >= 1 && most <= 2 * 65, `${most} requests`);
});

test('waiting → reading: connections that wait for others are served in the order of waiting, by turns', async (t) => {
  const { connect, held, served } = await startBench(t);
  const first = [await connect(), await connect(), await connect()];
  const clients = [...first, await connect(), await connect()];
  for (const { wire, connection } of clients) {
    wire.socket.write(HELD + NOW.repeat(100));
    await until(() => connection.unparsed !== undefined);
  }
  served.length = 0;
  const order = [3, 1, 4, 0, 2];
  for (const index of order) held[index]!.end();
  for (const { wire } of clients) await wire.answers(101);
  const ports = order.map((index) => clients[index]!.wire.socket.localPort);
  const turns = served.map(({ port }) => ports.indexOf(port));
  const inTurn = Array.from({ length: 500 }, (_, turn) => turn % 5);
  assert.deepEqual(turns, inTurn);
});

test('If the parser does not stop, the connection is closed, and the others are served', async (t) => {
  const { connect, held, queue } = await startBench(t, false);
  const [first, second] = [await connect(), await connect()];
  first.wire.socket.write(HELD + NOW.repeat(500));
  assert.deepEqual(await first.wire.allAnswers(), []);
  await until(() => queue.connections.size === 1);
  second.wire.socket.write(NOW);
  await second.wire.answers(1);
  // One request that waits is as with any parser.
  second.wire.socket.write(HELD + NOW);
  await until(() => second.connection.state === 'waiting');
  held.at(-1)!.end();
  await second.wire.answers(3);
});

test('Operations of one path that need different API keys are refused', () => {
  const operations = ([true, 'metrics'] as const).map((needsKey) => {
    return { name: 'x', method: 'GET', path: '/x', needsKey, handle: () => assert.fail() } as const;
  });
  assert.throws(() => createRouter(operations, ''), /^Error: All operations of \/x need the same/);
});
