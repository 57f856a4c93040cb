/** The limits of the node:http server, and of a lingering close. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Duplex } from 'node:stream';
import { createHttpServer } from '../../src/http/http-server.ts';
import { LIMITS } from '../../src/http/limits.ts';
import { lingeringClose } from '../../src/http/lingering-close.ts';
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
