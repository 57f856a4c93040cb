/** The listening socket: an inherited one, and failed accepts. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertRefused, end, KEY, listPets, PET, startFor } from '../support/process/process.ts';
import { openSupervisor, startInheriting } from '../support/process/supervisor.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

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
    /--unix-socket <path of the socket> .* http:\/\/localhost\/shop\/v1\/pets\n/,
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
