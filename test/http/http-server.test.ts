/** The node:http server: its limits, and a fault that no client can bring about for certain. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { Duplex } from 'node:stream';
import { createHttpServer } from '../../src/http/http-server.ts';
import { LIMITS } from '../../src/http/limits.ts';
import { lingeringClose } from '../../src/http/lingering-close.ts';
import { parseAnswers } from '../support/http/answers.ts';
import { listenFor } from '../support/http/service.ts';
import { requestOf } from '../support/http/requests.ts';
import { assertErrorAnswer, openWire, statusesOf } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

test('The server has the limits of time and connections, and checks them every second', () => {
  // node:http has the interval as a property, which its types leave out.
  const server: Server & { connectionsCheckingInterval?: number } = createHttpServer(
    () => undefined,
  );
  const { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections } = server;
  const { connectionsCheckingInterval: interval } = server;
  const limits = [headersTimeout, requestTimeout, keepAliveTimeout, maxConnections, interval];
  assert.deepEqual(limits, [10_000, 20_000, 65_000, 1024, 1000]);
  assert.equal(LIMITS.timeout, 60_000);
});

test('A second client error of a connection does not cut off the response to the first', async () => {
  const server = createHttpServer(() => undefined);
  const texts: string[] = [];
  let flush = (): void => undefined;
  const socket = new Duplex({
    read: () => undefined,
    // The client closes its side when we have.
    final(done) {
      this.push(null);
      done();
    },
    write(chunk: Buffer, _encoding, done) {
      texts.push(chunk.toString());
      flush = done;
    },
  });
  for (const code of ['HPE_INVALID_METHOD', 'HPE_INVALID_EOF_STATE']) {
    server.emit('clientError', Object.assign(new Error('Parse Error'), { code }), socket);
  }
  assert.equal(socket.destroyed, false);
  const closed = once(socket, 'close');
  flush();
  await closed;
  const [answer, ...more] = parseAnswers(texts.join(''));
  const message = 'The request is not well-formed HTTP: Parse Error';
  assert.equal(assertErrorAnswer(answer, 'malformed_request'), message);
  assert.deepEqual(more, []);
});

test('A client whose connection was not read until now gets no 408', async (t) => {
  let respond: () => void = () => undefined;
  const server = createHttpServer(({ url }, response) => {
    if (url === '/slow') respond = () => response.end();
    else response.end();
  });
  const port = await listenFor(t, server);
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const wire = await openWire(t, port);
  const [socket] = await connected;
  // node:http's check comes while the second request waits, and just after it was served.
  const expire = (): void => {
    const timeout = Object.assign(new Error('Timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', timeout, socket);
  };
  wire.socket.write(requestOf('GET /slow') + requestOf('GET /'));
  await until(() => socket.isPaused());
  expire();
  respond();
  await wire.answers(2);
  expire();
  wire.socket.write(requestOf('GET /'));
  assert.deepEqual(statusesOf(await wire.answers(3)), [200, 200, 200]);
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
