/** Stopping, as clients see it: nobody who is being answered is cut off, and nobody else waits. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionsOf, createPlainServer } from '../../src/core/http/http-server.ts';
import { LIMITS } from '../../src/core/http/limits.ts';
import { stopServer } from '../../src/core/http/stop-server.ts';
import { holdCreate, IN_FORCE, setLate, stopClock } from './connections.ts';
import { addLongPets, listenFor, openService, type Service } from '../support/http/service.ts';
import { CREATE, LIVEZ, REX, lastRequestOf, requestOf } from '../support/http/requests.ts';
import { assertErrorAnswer, openWire, statusesOf, talk, type Wire } from '../support/http/wire.ts';
import { usedBytes } from '../support/process/heap.ts';
import { until } from '../support/until.ts';

/** Nothing is cut. */
const FOR_EVER_MS = Infinity;

/**
 * A connection on which a request was answered, and of another one everything except the end was
 * read.
 */
async function halfSent(t: TestContext, port: number, bytes: string): Promise<Wire> {
  const wire = await openWire(t, port, LIVEZ);
  await wire.answers(1);
  wire.socket.write(bytes.slice(0, -1));
  // The service has read that when it answers on a later connection.
  await talk(port, 'x\r\n\r\n');
  return wire;
}

/** A service within this process, stopped as the process stops its own. */
function stop({ app, server }: Service, drainMs: number): Promise<void> {
  return stopServer(server, drainMs, () => app.drain());
}

test('A stopping service closes idle connections and completes half-sent requests', async (t) => {
  const service = await openService(t);
  const { port } = service;
  const idle = await openWire(t, port, CREATE);
  assert.deepEqual(statusesOf(await idle.answers(1)), [201]);
  const header = requestOf('POST /v1/pets', [`Content-Length: ${REX.length}`]);
  const begun = [requestOf('GET /readyz'), requestOf('GET /v1/pets'), header, CREATE];
  const halves = await Promise.all(begun.map((bytes) => halfSent(t, port, bytes)));
  const unused = await openWire(t, port);
  const stopped = stop(service, FOR_EVER_MS);
  await until(() => !service.server.listening);
  assert.deepEqual(statusesOf(await idle.allAnswers()), [201]);
  assert.deepEqual(await unused.allAnswers(), []);

  // The last one had begun before.
  const rests = ['\n', '\n', `\n${REX}`, '}'];
  for (const [index, { socket }] of halves.entries()) socket.write(rests[index]!);
  const answers = await Promise.all(halves.map(async (half) => (await half.allAnswers())[1]!));
  assert.deepEqual(statusesOf(answers), [503, 200, 503, 201]);
  assert.equal(answers[1]!.body, '[{"id":1,"name":"Rex","categoryId":1}]');
  for (const { headers } of answers) assert.equal(headers.get('connection'), 'close');
  await stopped;
});

test('A stop closes no idle connection while a client has not read its response', async (t) => {
  // Less time passes than a connection lingers.
  const clock = stopClock(t);
  for (const [request, bodyBytes] of [
    [requestOf('GET /v1/pets?limit=100'), 6_503_592],
    [lastRequestOf('GET /livez'), 15],
  ] as const) {
    const service = await openService(t);
    await addLongPets(service, 100);
    const slow = await openWire(t, service.port);
    slow.socket.pause();
    slow.socket.write(request);
    const idle = await openWire(t, service.port, LIVEZ);
    await idle.answers(1);
    const stopped = stop(service, FOR_EVER_MS);
    // Time for several looks at the idle connections.
    for (let looks = 0; looks < 10; looks += 1) {
      clock.pass(50);
      await sleep(50);
    }
    assert.equal(idle.isClosed(), false);
    slow.socket.resume();
    assert.equal((await slow.answers(1))[0]!.body.length, bodyBytes);
    slow.socket.end();
    await until(() => {
      clock.pass(50);
      return idle.isClosed() && slow.isClosed();
    });
    await stopped;
  }
});

test('A stop closes no connection whose next request was read, and waits for its turn', async (t) => {
  const service = await openService(t);
  const waiting = await openWire(t, service.port, LIVEZ);
  await waiting.answers(1);
  // As a gate does between two turns.
  const [socket] = connectionsOf(service.server);
  socket!.pause();
  const stopped = stop(service, FOR_EVER_MS);
  await until(() => !service.server.listening);
  // Time for several looks at the idle connections.
  await sleep(500);
  assert.equal(waiting.isClosed(), false);
  socket!.resume();
  await stopped;
});

/**
 * Returns how many connections the kernel holds for a server that has not accepted them yet. Only
 * Linux tells: elsewhere all of them have come by now.
 */
function waitingFor(port: number): number {
  if (!existsSync('/proc/net/tcp')) return Infinity;
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const sockets = readFileSync('/proc/net/tcp', 'latin1');
  const [, count] = new RegExp(` ${local} 00000000:0000 0A \\w+:(\\w+) `).exec(sockets)!;
  return parseInt(count!, 16);
}

test('A stop accepts all connections that wait, even if each takes long to serve', async (t) => {
  const service = await openService(t);
  service.server.prependListener('request', () => {
    const endsAt = performance.now() + 20;
    while (performance.now() < endsAt);
  });
  const sockets = Array.from({ length: 30 }, () => connect(service.port, '127.0.0.1'));
  let answered = 0;
  for (const socket of sockets) {
    socket.on('error', () => undefined).once('data', () => (answered += 1));
    socket.write(lastRequestOf('GET /livez'));
  }
  const closed = sockets.map((socket) => once(socket, 'close'));
  // They are sent now, and the service accepts none in this iteration of the event loop.
  await new Promise(process.nextTick);
  while (waitingFor(service.port) < sockets.length);
  await stop(service, FOR_EVER_MS);
  await Promise.all(closed);
  assert.equal(answered, sockets.length);
});

test('A client that is too slow gets 408 during a graceful shutdown, too', async (t) => {
  const clock = stopClock(t);
  const service = await openService(t, {}, IN_FORCE);
  setLate(service, false);
  const half = await halfSent(t, service.port, LIVEZ);
  const stopped = stop(service, FOR_EVER_MS);
  await until(() => !service.server.listening);
  clock.pass(LIMITS.headersTimeout);
  setLate(service, true);
  assertErrorAnswer((await half.allAnswers())[1], 'request_timeout');
  await stopped;
});

test('A stopped server is not kept in memory', async () => {
  const stopped = async (): Promise<WeakRef<Server>> => {
    const server = createPlainServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await stopServer(server, FOR_EVER_MS);
    return new WeakRef(server);
  };
  const server = await stopped();
  // What is used is measured after a collection.
  await until(() => usedBytes() > 0 && server.deref() === undefined);
});

test('At the end of its time, a stop closes what is busy, after CONNECT and on any server', async (t) => {
  const { service, wire } = await holdCreate(t, requestOf('CONNECT b:443'));
  const plain = createServer(() => undefined);
  const other = await openWire(t, await listenFor(t, plain), LIVEZ);
  await once(plain, 'request');
  await Promise.all([stop(service, 100), stopServer(plain, 100)]);
  for (const { allAnswers } of [wire, other]) assert.deepEqual(await allAnswers(), []);
});
