/** What the server itself promises, whatever its gate: limits, last responses, lingering closes. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { connectionsOf, createPlainServer, responsesOf } from '../../src/core/http/http-server.ts';
import { lingeringClose } from '../../src/core/http/lingering-close.ts';
import { requestOf } from '../support/http/requests.ts';
import { openBench, type Case } from './gate-bench.ts';

const MIB = 1 << 20;

/** Begins a lingering close. Resolves when all that was written has gone out. */
async function linger(): Promise<Duplex> {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  lingeringClose(socket);
  await once(socket, 'finish');
  return socket;
}

export const SERVER_CASES = {
  'The server has the limits of time and connections, and checks them every second': () => {
    const server = createPlainServer(() => undefined);
    const { headersTimeout, requestTimeout, keepAliveTimeout, timeout, maxConnections } = server;
    // node:http has the interval as a property, which its types leave out.
    const interval = Reflect.get(server, 'connectionsCheckingInterval');
    const times = [headersTimeout, requestTimeout, keepAliveTimeout, timeout, interval];
    assert.deepEqual(times, [10_000, 20_000, 65_000, 60_000, 1000]);
    assert.deepEqual([maxConnections, server.maxHeadersCount], [1024, 256]);
    // A time without an end, with which node:http would fail at each connection.
    const endless = createPlainServer(() => undefined, { timeout: Infinity });
    assert.equal(endless.timeout, 2 ** 31 - 1);
  },
  'Each error of node:http gets an Error body with its code': async (t) => {
    const bench = await openBench(t, createPlainServer);
    for (const [bytes, status, code] of [
      ['nonsense\r\n\r\n', 400, 'malformed_request'],
      [requestOf('CONNECT b:443'), 405, 'method_not_allowed'],
    ] as const) {
      const client = await bench.open(bytes);
      const text = client.text();
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"${code}"[^]*\\}$`));
      assert.match(text, /\r\nConnection: close\r\n[^]*\r\nX-Content-Type-Options: nosniff\r\n/);
      assert.equal(/\r\nAllow: \r\n/.test(text), status === 405);
    }
    const client = await bench.open('GET');
    const late = Object.assign(new Error('Late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    bench.server.emit('clientError', late, client.serverSide);
    await bench.settle();
    assert.match(client.text(), /^HTTP\/1\.1 408 [^]*"request_timeout"/);
    assert.deepEqual(bench.served, []);
  },
  'A last response arrives whole, although its client sends megabytes more': async (t) => {
    const bench = await openBench(t, createPlainServer);
    const codes: (string | undefined)[] = [];
    bench.server.on('connection', (socket) =>
      socket.on('error', ({ code }: NodeJS.ErrnoException) => codes.push(code)),
    );
    const client = await bench.open();
    client.socket.pause();
    await client.send(requestOf('GET /now?last', ['Content-Length: 9000000']));
    await client.send('x'.repeat(5 * MIB));
    client.socket.resume();
    await bench.settle();
    assert.deepEqual([client.seen(), codes], [['now', 'closed'], []]);
    // All of it was read: what is unread would reset the connection.
    assert.ok(client.serverSide.bytesRead > 5 * MIB);
  },
  'After a last response the parser gets nothing': async (t) => {
    const bench = await openBench(t, createPlainServer);
    let errors = 0;
    bench.server.on('clientError', () => (errors += 1));
    const client = await bench.open(requestOf('GET /now?last'));
    await client.send('nonsense\r\n\r\n');
    assert.deepEqual([errors, client.seen()], [0, ['now', 'closed']]);
  },
  'The open connections of a server are known': async (t) => {
    const bench = await openBench(t, createPlainServer);
    const client = await bench.open();
    await bench.open();
    assert.equal(connectionsOf(bench.server).size, 2);
    client.close();
    await bench.settle();
    assert.equal(connectionsOf(bench.server).size, 1);
    // No request is kept in memory once its response has gone out.
    await bench.open(requestOf('GET /held'));
    const latest = () => [...responsesOf(bench.server).values()];
    assert.deepEqual(latest(), ['none', bench.held[0]]);
    await bench.release();
    assert.deepEqual(latest(), ['none', 'sent']);
  },
  'A lingering close discards 8 MiB, and ends after 2 s without a byte, or after 20 s': async (
    t,
  ) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const full = await linger();
    full.emit('data', Buffer.alloc(8 * MIB - 1));
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
  },
} as const satisfies Readonly<Record<string, Case>>;
