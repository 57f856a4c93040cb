/** The table of pipelining.ts, row by row: the states of a connection, and what leads to each. */

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Connection, PipelineQueue } from '../../src/http/pipelining.ts';
import { listenFor } from '../support/http/service.ts';
import { openWire, requestOf, type Wire } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

/** The listener answers at once, or holds its response until the test ends it. */
const NOW = requestOf('GET /now');
const HELD = requestOf('GET /held');
/** More than the buffers of a connection take. */
const LONG = requestOf('GET /long');
const LONG_BODY = Buffer.alloc(16 << 20);

interface Client {
  readonly wire: Wire;
  readonly connection: Connection;
  /** The states that it entered, in their order. */
  entered(): readonly Connection['state'][];
}

interface Bench {
  readonly server: Server;
  readonly queue: PipelineQueue;
  /** The responses that wait for the test, in the order of their requests. */
  readonly held: ServerResponse[];
  /** Called with each request before it is answered. */
  onRequest: (request: IncomingMessage) => void;
  connect(): Promise<Client>;
}

async function startBench(t: TestContext, maxWaiting: number): Promise<Bench> {
  const held: ServerResponse[] = [];
  const queue = new PipelineQueue((request, response) => {
    bench.onRequest(request);
    if (request.url === '/now') response.end('now');
    else if (request.url === '/long') response.end(LONG_BODY);
    else if (request.method === 'POST') request.resume().on('end', () => held.push(response));
    else held.push(response);
  }, maxWaiting);
  const server = createServer((request, response) => queue.serve(request, response));
  server.on('connection', (socket) => queue.add(socket));
  const port = await listenFor(t, server);
  const { mock } = t.mock.method(Connection.prototype, 'enter');
  const bench: Bench = {
    server,
    queue,
    held,
    onRequest: () => undefined,
    async connect() {
      const known = queue.connections.size;
      const wire = await openWire(t, port);
      await until(() => queue.connections.size > known);
      const connection = [...queue.connections.values()].at(-1)!;
      const calls = (): typeof mock.calls => mock.calls.filter((call) => call.this === connection);
      return { wire, connection, entered: () => calls().map((call) => call.arguments[0]) };
    },
  };
  return bench;
}

test('reading → queued → reading: a request waits for the response before it', async (t) => {
  const bench = await startBench(t, 100);
  const { wire, connection, entered } = await bench.connect();
  assert.deepEqual([connection.state, connection.isDue], ['reading', false]);
  // node:http resumes the connection after the first one.
  wire.socket.write(NOW + HELD + NOW + NOW);
  await until(() => connection.waiting.length === 2);
  assert.equal(connection.state, 'queued');
  assert.equal(connection.socket.isPaused(), true);
  // It is not read while it is queued.
  wire.socket.write(NOW);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  assert.equal(connection.waiting.length, 2);
  bench.held[0]!.end();
  await wire.answers(5);
  assert.deepEqual(entered(), ['queued', 'reading']);
  assert.equal(connection.socket.isPaused(), false);
});

test('reading → held → reading: a connection is not read while too many requests wait on another', async (t) => {
  const bench = await startBench(t, 16);
  const other = await bench.connect();
  const { wire, connection } = await bench.connect();
  wire.socket.write(HELD + NOW.repeat(3));
  await until(() => connection.waiting.length === 3);
  await until(() => other.entered().length === 2);
  assert.deepEqual(other.entered(), ['held', 'reading']);
  assert.equal(other.connection.socket.isPaused(), false);
});

test('queued → held → reading: a connection is held after its last request, if too many wait', async (t) => {
  const bench = await startBench(t, 16);
  const first = await bench.connect();
  const second = await bench.connect();
  first.wire.socket.write(HELD + NOW);
  await until(() => first.connection.state === 'queued');
  bench.onRequest = () => bench.held.shift()?.end();
  second.wire.socket.write(HELD + NOW.repeat(3));
  await first.wire.answers(2);
  await until(() => first.entered().length === 3);
  assert.deepEqual(first.entered(), ['queued', 'held', 'reading']);
});

test('A connection that is opened while others are held is held, too', async (t) => {
  const bench = await startBench(t, 16);
  const { wire, connection } = await bench.connect();
  const opened = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  // After this read, and before connections are read again.
  bench.onRequest = () => process.nextTick(() => bench.server.emit('connection', opened));
  wire.socket.write(HELD + NOW.repeat(3));
  await until(() => connection.waiting.length === 3);
  const late = bench.queue.connections.get(opened)!;
  assert.equal(late.state, 'held');
  // Its client has its time from now on.
  late.readSince = 0;
  await until(() => late.state === 'reading');
  assert.ok(late.readSince > 0);
  assert.equal(opened.isPaused(), false);
  opened.destroy();
});

test('queued → ending → closed: if too many wait, a response that waits for the store is the last', async (t) => {
  const bench = await startBench(t, 4);
  const { wire, connection } = await bench.connect();
  wire.socket.write(HELD + NOW.repeat(7));
  await until(() => connection.state === 'ending');
  assert.deepEqual(connection.waiting, []);
  assert.equal(connection.socket.isPaused(), true);
  bench.held[0]!.end('held');
  const [answer, ...more] = await wire.allAnswers();
  assert.deepEqual([answer?.body, more], ['held', []]);
  assert.equal(answer?.headers.get('connection'), 'close');
  await until(() => bench.queue.connections.size === 0);
});

test('queued → closed: if twice too many wait, a connection that waits for the store is closed at once', async (t) => {
  const bench = await startBench(t, 4);
  const first = await bench.connect();
  first.wire.socket.write(HELD + NOW.repeat(9));
  await until(() => first.connection.weight === 9);
  assert.equal(first.connection.state, 'ending');
  const second = await bench.connect();
  second.wire.socket.write(HELD + NOW);
  assert.deepEqual(await second.wire.allAnswers(), []);
  bench.held[0]!.end('held');
  assert.equal((await first.wire.allAnswers()).length, 1);
});

test('A create that may have taken effect gets its response, however many requests wait', async (t) => {
  const bench = await startBench(t, 4);
  const first = await bench.connect();
  const second = await bench.connect();
  second.wire.socket.write(requestOf('POST /pets', [], '{}'));
  await until(() => bench.held.length === 1);
  first.wire.socket.write(HELD + NOW.repeat(9));
  await until(() => first.connection.weight === 9);
  second.wire.socket.write(NOW.repeat(9));
  await until(() => second.connection.weight === 9);
  assert.equal(second.connection.state, 'ending');
  bench.held[0]!.end('created');
  const [answer, ...more] = await second.wire.allAnswers();
  assert.deepEqual([answer?.body, more], ['created', []]);
});

test('If too many wait, clients that do not read are closed first, the longest queued first', async (t) => {
  const bench = await startBench(t, 8);
  const blocked: Client[] = [];
  for (let i = 0; i < 3; i += 1) {
    const client = await bench.connect();
    client.wire.socket.pause();
    client.wire.socket.write(LONG + NOW);
    await until(() => client.connection.waiting.length === 1 && client.connection.isBlocked);
    blocked.push(client);
  }
  const { wire, connection } = await bench.connect();
  // The last one is one too many: one connection is enough.
  wire.socket.write(HELD + NOW.repeat(6));
  await until(() => connection.waiting.length === 6);
  const isOpen = (client: Client): boolean => bench.queue.connections.has(client.connection.socket);
  await until(() => !isOpen(blocked[0]!));
  assert.deepEqual(blocked.map(isOpen), [false, true, true]);
  assert.equal(connection.state, 'queued');
  bench.held[0]!.end('held');
  await wire.answers(7);
});

test('ending → closed: a client that does not read its last response is closed, and its requests discarded', async (t) => {
  const bench = await startBench(t, 4);
  const first = await bench.connect();
  first.wire.socket.pause();
  first.wire.socket.write(HELD + NOW.repeat(6));
  await until(() => first.connection.state === 'ending' && first.connection.weight === 6);
  // Now it goes out, and its client takes nothing.
  bench.held[0]!.write(LONG_BODY);
  await until(() => first.connection.isBlocked);
  const second = await bench.connect();
  second.wire.socket.write(HELD + NOW.repeat(2));
  await until(() => !bench.queue.connections.has(first.connection.socket));
  assert.deepEqual(second.entered(), ['queued']);
  bench.held[1]!.end('held');
  assert.equal((await second.wire.answers(3)).length, 3);
});

test('The waiting requests of a connection are discarded when it closes', async (t) => {
  const bench = await startBench(t, 4);
  for (let round = 0; round < 3; round += 1) {
    const { wire, connection, entered } = await bench.connect();
    wire.socket.write(HELD + NOW.repeat(4));
    await until(() => connection.weight === 4);
    assert.deepEqual(entered(), ['queued']);
    connection.socket.destroy();
    await until(() => bench.queue.connections.size === 0);
    assert.equal(connection.weight, 0);
  }
});
