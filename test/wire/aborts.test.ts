/** Clients that go away: nothing is stored of half a request, nothing is logged, nothing breaks. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { PetStore } from '../../src/model/pet-store.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { createHeldStore } from '../support/pets/held-store.ts';
import { openService, type Service } from '../support/http/service.ts';
import { assertErrorAnswer, openWire, requestOf, statusesOf, talk } from '../support/http/wire.ts';

const REX = '{"name":"Rex","categoryId":1}';
const EXPECTING = ['Expect: 100-continue', 'Content-Length: 29'];
const CHUNKED = 'Transfer-Encoding: chunked';

/** A service that must log nothing. */
async function start(t: TestContext, store: PetStore = createMemoryStore()): Promise<Service> {
  const log = (...entry: readonly unknown[]): void => assert.fail(JSON.stringify(entry));
  const service = await openService(t, { log, store });
  return service;
}

/** Resolves with the service's end of the next connection. */
async function nextConnection({ server }: Service): Promise<Socket> {
  const [socket] = (await once(server, 'connection')) as [Socket];
  return socket;
}

/** Other than with `once` an error before it does not matter. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

const HALVES: readonly (readonly [what: string, bytes: string])[] = [
  ['a header', 'POST /v1/pets HTTP/1.1\r\nHost: a\r\n'],
  ['a body', requestOf('POST /v1/pets', ['Content-Length: 100']) + REX],
  ['a body without its last byte', requestOf('POST /v1/pets', [], REX).slice(0, -1)],
  ['a body in chunks', requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n`)],
  ['a body without its last chunk', requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n0\r\n`)],
  ['a body after an early answer', requestOf('PUT /v1/pets', ['Content-Length: 100'])],
  ['what it expected to send', requestOf('POST /v1/pets', EXPECTING)],
];
const WAYS = {
  closes: (socket: Socket): unknown => socket.destroy(),
  resets: (socket: Socket): unknown => socket.resetAndDestroy(),
};

for (const [what, bytes] of HALVES) {
  for (const [way, leave] of Object.entries(WAYS)) {
    test(`A client ${way} in the middle of ${what}: nothing is stored or logged`, async (t) => {
      const service = await start(t);
      const accepted = nextConnection(service);
      const wire = await openWire(t, service.port);
      const serverSide = await accepted;
      const gone = closeOf(serverSide);
      wire.socket.write(bytes);
      while (serverSide.bytesRead < bytes.length) await talk(service.port, 'x\r\n\r\n');
      leave(wire.socket);
      await gone;
      assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
    });
  }

  test(`A client half-closes in the middle of ${what}: it gets an error`, async (t) => {
    const service = await start(t);
    const wire = await openWire(t, service.port);
    wire.socket.end(bytes);
    const answers = await wire.allAnswers();
    const last = answers.filter(({ status }) => status !== 100);
    assert.equal(last.length, 1);
    const isEarly = what.includes('early');
    assertErrorAnswer(last[0], isEarly ? 'method_not_allowed' : 'malformed_request');
    assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
  });
}

test('A client that half-closes after its requests gets all responses', async (t) => {
  const store = createHeldStore();
  const service = await start(t, store);
  const wire = await openWire(t, service.port);
  wire.socket.end(requestOf('POST /v1/pets', [], REX).repeat(2) + requestOf('GET /livez'));
  await store.waiting();
  await talk(service.port, 'x\r\n\r\n');
  store.release();
  assert.deepEqual(statusesOf(await wire.allAnswers()), [201, 201, 200]);
});

for (const [way, leave] of Object.entries(WAYS)) {
  test(`A client ${way} while its create is in progress: the service continues`, async (t) => {
    const store = createHeldStore();
    const service = await start(t, store);
    const accepted = nextConnection(service);
    const wire = await openWire(t, service.port);
    const gone = closeOf(await accepted);
    wire.socket.write(requestOf('POST /v1/pets', [], REX));
    await store.waiting();
    leave(wire.socket);
    // A connection that was only closed fails when it is written to.
    if (way === 'closes') store.release();
    await gone;
    store.release();
    const pets = await (await service.fetch('/v1/pets')).text();
    assert.equal(pets, '[{"id":1,"name":"Rex","categoryId":1}]');
  });

  test(`A client ${way} after CONNECT: the service continues`, async (t) => {
    const store = createHeldStore();
    const service = await start(t, store);
    const accepted = nextConnection(service);
    const wire = await openWire(t, service.port);
    const gone = closeOf(await accepted);
    wire.socket.write(requestOf('POST /v1/pets', [], REX) + requestOf('CONNECT b:443'));
    await store.waiting();
    leave(wire.socket);
    await talk(service.port, 'x\r\n\r\n');
    store.release();
    await gone;
    assert.equal((await service.fetch('/livez')).status, 200);
  });
}
