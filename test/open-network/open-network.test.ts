/**
 * The server for the open network: the cases of every gate, those of its own gate, connections
 * without progress, and what it does on a Node whose parser does not stop.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { LONG, openBench } from '../http/gate-bench.ts';
import { GATE_CASES, HELD, NOW } from '../http/gate-cases.ts';
import { requestOf } from '../support/http/requests.ts';
import { importOpenNetwork } from './modules.ts';
import { STALLED_CASES } from './stalled-cases.ts';
import { TURN_CASES } from './turn-cases.ts';

const extra = await importOpenNetwork();

for (const [name, run] of Object.entries(GATE_CASES)) {
  test(name, async (t) => run(await openBench(t, extra.createHttpServer)));
}

for (const [name, run] of Object.entries({ ...TURN_CASES, ...STALLED_CASES })) {
  test(name, (t) => run(t, extra));
}

test('Habit: the handle of a socket knows how much of a long write the kernel has not accepted', async (t) => {
  const bench = await openBench(t, createServer);
  const client = await bench.open();
  client.socket.pause();
  await client.send(requestOf('GET /long'));
  const handle = Reflect.get(client.serverSide, '_handle') as { readonly writeQueueSize: number };
  const queued = handle.writeQueueSize;
  assert.ok(queued > 0 && queued <= LONG.length, `${queued} bytes`);
  client.socket.resume();
  await bench.settle();
  assert.equal(handle.writeQueueSize, 0);
});

test('If the parser does not stop, requests wait in the queue of the core, and the log says so', async (t) => {
  // As in a runtime whose sockets have no parser of this kind.
  Object.defineProperty(Duplex.prototype, 'parser', {
    get: () => undefined,
    set: () => undefined,
    configurable: true,
  });
  t.after(() => Reflect.deleteProperty(Duplex.prototype, 'parser'));
  const logged: unknown[] = [];
  const bench = await openBench(t, (listener) =>
    extra.createHttpServer(listener, {}, (...entry) => logged.push(entry)),
  );
  const event = 'The parser of this Node.js does not stop, so pipelined requests are queued';
  assert.deepEqual(logged, [['warn', event]]);
  const client = await bench.open(HELD + NOW.repeat(3));
  assert.deepEqual(bench.served, ['/held']);
  await bench.release();
  assert.deepEqual(client.seen(), ['held', 'now', 'now', 'now']);
});
