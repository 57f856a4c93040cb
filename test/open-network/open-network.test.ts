/**
 * The server for the open network: the cases of every gate, those of its own gate, connections
 * without progress, and what it does on a Node whose parser does not stop.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { createHttpServer } from '../../src/extras/open-network/open-network-server.ts';
import { LONG, openBench } from '../http/gate-bench.ts';
import { HELD, NOW } from '../http/gate-cases.ts';
import { requestOf } from '../support/http/requests.ts';
import { startFor } from '../support/process/process.ts';
import { OPEN_NETWORK_CASES } from './cases.ts';

for (const [name, run] of Object.entries(OPEN_NETWORK_CASES)) test(name, (t) => run(t));

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
    createHttpServer(listener, {}, (...entry) => logged.push(entry)),
  );
  const event = 'The parser of this Node.js does not stop, so pipelined requests are queued';
  assert.deepEqual(logged, [['warn', event]]);
  const client = await bench.open(HELD + NOW.repeat(3));
  assert.deepEqual(bench.served, ['/held']);
  await bench.release();
  assert.deepEqual(client.seen(), ['held', 'now', 'now', 'now']);
});

test('The process has this server: its log says so, too', async (t) => {
  const hook = `import { Duplex } from 'node:stream';
Object.defineProperty(Duplex.prototype, 'parser', { get: () => undefined, set: () => undefined });`;
  const service = startFor(t, ['--port', '0', '--memory'], { hook });
  await service.ready();
  assert.match(service.stderr(), /"The parser of this Node\.js does not stop, /);
});
