/**
 * The limits of the node:http server, of a lingering close, and of connections without progress,
 * second by second: which are closed, and when.
 */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { createHttpServer } from '../../src/http/http-server.ts';
import { LIMITS } from '../../src/http/limits.ts';
import { lingeringClose } from '../../src/http/lingering-close.ts';
import { type Connection, PipelineQueue } from '../../src/http/pipelining.ts';
import { closeStalledConnections } from '../../src/http/stalled-connections.ts';
import { requestOf } from '../support/http/requests.ts';
import { listenFor } from '../support/http/service.ts';
import { openWire, statusesOf } from '../support/http/wire.ts';

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

test('A lingering close discards 8 MiB, and ends after 2 s', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  lingeringClose(socket);
  await once(socket, 'finish');
  socket.emit('data', Buffer.alloc((8 << 20) - 1));
  t.mock.timers.tick(1999);
  assert.deepEqual([socket.isPaused(), socket.destroyed], [false, false]);
  socket.emit('data', Buffer.alloc(1));
  t.mock.timers.tick(1);
  assert.deepEqual([socket.isPaused(), socket.destroyed], [true, true]);
});

/** A connection: its socket, as far as it is looked at, and its state. */
const IDLE = {
  isDue: false,
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
