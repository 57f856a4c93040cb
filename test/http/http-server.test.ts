/**
 * The server: its cases, and three habits of node:http that no page of its documentation promises.
 * A Node that changes one of them fails here, under its name.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { requestOf } from '../support/http/requests.ts';
import { openBench } from './gate-bench.ts';
import { importHttp } from './modules.ts';
import { SERVER_CASES } from './server-cases.ts';

const http = await importHttp();

for (const [name, run] of Object.entries(SERVER_CASES)) {
  test(name, (t) => run(t, http));
}

for (const httpAllowHalfOpen of [false, true]) {
  const gets = httpAllowHalfOpen ? 'gets' : 'loses';
  test(`Habit: with httpAllowHalfOpen ${httpAllowHalfOpen}, a client that half-closes ${gets} its response`, async (t) => {
    const bench = await openBench(t, (listener) =>
      Object.assign(createServer(listener), { httpAllowHalfOpen }),
    );
    const client = await bench.open(requestOf('GET /held'));
    client.socket.end();
    await bench.settle();
    await bench.release();
    assert.deepEqual(client.seen(), httpAllowHalfOpen ? ['held', 'closed'] : ['closed']);
  });
}

test('Habit: after a last response node:http calls destroySoon, once', async (t) => {
  let calls = 0;
  const bench = await openBench(t, createServer);
  bench.server.on('connection', (socket) => {
    socket.destroySoon = () => (calls += 1);
  });
  const client = await bench.open(requestOf('GET /now'));
  assert.equal(calls, 0);
  await client.send(requestOf('GET /now?last'));
  assert.deepEqual([calls, client.seen()], [1, ['now', 'now']]);
});

test('Habit: the parser listens for data, and gets nothing once another listener replaces it', async (t) => {
  const bench = await openBench(t, createServer);
  const connected = once(bench.server, 'connection') as Promise<[Socket]>;
  const client = await bench.open(requestOf('GET /now'));
  const [socket] = await connected;
  let bytes = 0;
  socket.removeAllListeners('data').on('data', (chunk: Buffer) => (bytes += chunk.length));
  await client.send(requestOf('GET /now'));
  assert.deepEqual([bytes, client.seen()], [requestOf('GET /now').length, ['now']]);
});
