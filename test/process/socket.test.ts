/** The listening socket: an inherited one, failed accepts, and too many connections. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertRefused, end, KEY, listPets, SERVER_JS } from '../support/process/process.ts';
import { metricOf, PET, startFor, startProgram, withLimits } from '../support/process/process.ts';
import { openSupervisor, startInheriting } from '../support/process/supervisor.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { requestOf } from '../support/http/requests.ts';
import { openWire } from '../support/http/wire.ts';

const LINUX = { skip: process.platform !== 'linux' && 'The descriptors are known on Linux only' };
const MEMORY = ['--port', '0', '--memory'];

test('Failed accepts are logged once, and when they are over', async (t) => {
  // Calls what libuv calls if accept fails.
  const hook = `import net from 'node:net';
import os from 'node:os';
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => setImmediate(() => {
    for (let i = 0; i < 3; i += 1) this._handle.onconnection(-os.constants.errno.ENOBUFS);
  }));
  return listen.apply(this, args);
};`;
  const service = startFor(t, MEMORY, { hook });
  assert.equal((await listPets(await service.ready())).status, 200);
  assert.equal(await end(service, 'SIGTERM'), 0);
  const lines = service.stderr().split('\n');
  const failures = lines.filter((line) => line.includes('"Cannot accept a connection"'));
  assert.equal(failures.length, 1, service.stderr());
  assert.match(failures[0]!, /"cause":"accept ENOBUFS"\}$/);
  assert.match(service.stderr(), /"Accepts connections again"/);
});

test('An inherited Unix socket is served, and kept for the next process', async (t) => {
  const folder = tempDir(t);
  const path = join(folder, 'socket');
  const supervisor = openSupervisor(t, path);
  const args = ['--data-file', join(folder, 'pets.json')];
  const first = supervisor.start(args);
  await first.ready();
  assert.match(first.stderr(), /"Started".*"socket":"unix"/);
  const [status, pet] = await send(path, 'POST', PET);
  assert.equal(status, 201);
  assert.equal(await end(first, 'SIGTERM'), 0, first.stderr());
  // It waits in the queue of the socket.
  const answer = send(path, 'GET');
  const second = supervisor.start(args);
  assert.deepEqual(await answer, [200, `[${pet}]`]);
  await second.ready();
  assert.equal(await end(second, 'SIGTERM'), 0, second.stderr());
  assert.ok(existsSync(path));
  const third = supervisor.start([...args, '--prefix', '/shop'], {});
  const greeting = await third.greeting();
  assert.match(greeting, /^Petstore \S+ listens on an inherited Unix socket \(process /);
  assert.match(
    greeting,
    /curl --unix-socket <path of the socket> .* http:\/\/localhost\/shop\/v1\/pets\n/,
  );
  assert.equal(await end(third, 'SIGTERM'), 0, third.stderr());
});

/** Resolves with the status and the body. */
async function send(socketPath: string, method: string, body = '') {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  const call = request({ socketPath, method, path: '/v1/pets', headers, agent: false });
  call.end(body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return [response.statusCode, (await response.toArray()).join('')] as const;
}

test('If the inherited descriptor is not a socket, the start is refused in one line', async (t) => {
  const file = await open(join(tempDir(t), 'file'), 'w');
  t.after(() => file.close());
  const service = startInheriting(t, file.fd, ['--memory']);
  await assertRefused(service, /^petstore: Cannot listen on the inherited socket: .*EINVAL.*\n$/);
});

test('One socket is inherited, if it is for this process', async (t) => {
  const supervisor = openSupervisor(t);
  const two = supervisor.start(['--memory'], { LISTEN_FDS: '2' });
  const line = /^petstore: LISTEN_FDS must be 1, since one socket is served, not "2"\n$/;
  await assertRefused(two, line);
  for (const env of [{ LISTEN_FDS: '2', LISTEN_PID: '1' }, { LISTEN_PID: '1' }]) {
    const service = startFor(t, MEMORY, { env });
    assert.notEqual(Number(new URL(await service.ready()).port), supervisor.port);
  }
});

test('Connections above the limit are counted as refused', async (t) => {
  // Fewer than in force, and no connection is closed because its request takes long.
  const service = startFor(t, MEMORY, { hook: withLimits({ maxConnections: 50 }) });
  const url = await service.ready();
  // A connection whose response is due makes no room for others.
  const begun = requestOf('POST /v1/pets', ['Content-Length: 100']);
  const sockets: Socket[] = [];
  while (sockets.every((socket) => !socket.closed)) {
    assert.ok(sockets.length < 1000);
    const more = Array.from({ length: 20 }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    for (const socket of more) socket.on('error', () => undefined).write(begun);
    sockets.push(...more);
    await Promise.all(more.map((socket) => once(socket, 'connect').catch(() => undefined)));
  }
  for (const socket of sockets) socket.destroy();
  // Not asked before: a connection that is kept for a second request would be closed as idle.
  assert.ok((await metricOf(url, 'petstore_http_refused_connections_total')) > 0);
});

test(
  'With few descriptors fewer connections are served, and the metrics, too',
  LINUX,
  async (t) => {
    const script = 'ulimit -n 256 && exec "$@"';
    const args = ['-c', script, 'sh', process.execPath, SERVER_JS, ...MEMORY];
    const service = startProgram('sh', args, { env: { PETSTORE_API_KEYS: KEY } });
    t.after(() => end(service, 'SIGKILL'));
    const { port } = new URL(await service.ready());
    const told = /"Serves fewer connections.*"connections":([0-9]+),"descriptors":256\}/;
    const limit = Number(told.exec(service.stderr())![1]);
    assert.ok(limit > 100 && limit < 192, `${limit} connections`);
    const first = await openWire(t, Number(port));
    const others = Array.from({ length: 400 }, () => connect(Number(port), '127.0.0.1'));
    t.after(() => others.forEach((socket) => socket.destroy()));
    for (const socket of others) socket.on('error', () => undefined);
    // Each request keeps the connection from being the one that is idle for the longest time.
    let response = await first.send('GET', '/metrics');
    while (!others.some((socket) => socket.closed)) response = await first.send('GET', '/metrics');
    assert.equal(response.status, 200);
    assert.match('body' in response ? response.body : '', /^process_resident_memory_bytes [1-9]/m);
  },
);
