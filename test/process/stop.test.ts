/** How the process ends: by a signal, at its deadline, in the middle of a start. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  end,
  listPets,
  logged,
  portOf,
  SERVER_JS,
  startFor,
  startOn,
  type Process,
} from '../support/process/process.ts';
import { listen } from '../support/http/service.ts';
import { openWire, talk } from '../support/http/wire.ts';
import { openSupervisor } from '../support/process/supervisor.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

/** The signal comes in the first iteration of the event loop after the service listens. */
const STOP_AT_START = `import net from 'node:net';
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => setImmediate(() => process.kill(process.pid, 'SIGTERM')));
  return listen.apply(this, args);
};`;

test('A service that is stopped during its start does not log that it started', async (t) => {
  const service = startOn(t, undefined, { hook: STOP_AT_START });
  assert.equal(await service.exit(), 0);
  assert.equal(service.stdout(), '');
  const events = eventsOf(service).filter((event) => event !== 'Made an empty data file');
  assert.deepEqual(events, ['Stopping', 'Stopped']);
});

test('A service that is stopped while it reads a damaged file names the damage', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  writeFileSync(path, '[{"id":1}]');
  const service = startOn(t, path, { hook: STOP_AT_START });
  assert.equal(await service.exit(), 1);
  assert.match(service.stderr(), /"Stopping"[^]*pets\.json is not a list of pets/);
});

test('While a service waits for its cluster, it heeds SIGHUP and SIGTERM', async (t) => {
  const silent = createServer();
  const port = await listen(silent);
  t.after(() => silent.close());
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'a-key\n');
  const etcd = ['--etcd', `http://127.0.0.1:${port}`];
  // With an inherited socket, the service opens its store before it listens.
  const service = openSupervisor(t).start([...etcd, '--api-keys-file', keysFile], {});
  await once(silent, 'connection');
  service.child.kill('SIGHUP');
  await logged(service, '"Read the API keys again"');
  assert.equal(await end(service, 'SIGTERM'), 0);
  const events = ['Read the API keys again', 'Stopping', 'Stopped'];
  assert.deepEqual(eventsOf(service), events);
});

test('A request that is still in progress 5 s after SIGTERM is cut off, and the exit code is 0', async (t) => {
  // Shortens a timer of exactly five seconds.
  const hook = `const { setTimeout } = globalThis;
globalThis.setTimeout = (work, ms, ...rest) => setTimeout(work, ms === 5000 ? 0 : ms, ...rest);`;
  const service = startOn(t, undefined, { hook });
  const port = await portOf(service);
  (await openWire(t, port)).socket.write('GET /livez HTTP/1.1\r\n');
  // The service has read that when it refuses another connection's request.
  await talk(port, 'x\r\n\r\n');
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.deepEqual(eventsOf(service).slice(-2), ['Stopping', 'Stopped']);
});

test('A stop that fails exits with 1, and logs the reason', async (t) => {
  const module = new URL('stores/log-store.js', pathToFileURL(SERVER_JS));
  const hook = `const { LogStore } = await import('${module}');
LogStore.prototype.close = () => Promise.reject(new Error('The pets are not safe'));`;
  const service = startOn(t, undefined, { hook });
  await service.ready();
  assert.equal(await end(service, 'SIGTERM'), 1);
  assert.match(service.stderr(), /"Graceful shutdown failed","cause":"The pets are not safe"\}\n$/);
});

test('The service continues after the reader of its log has ended', async (t) => {
  const service = startFor(t, ['--port', '0', '--memory', '--access-log', 'on']);
  const url = await service.ready();
  service.child.stderr?.destroy();
  for (let i = 0; i < 3; i += 1) assert.equal((await listPets(url)).status, 200);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

function eventsOf(service: Process): readonly unknown[] {
  const lines = service.stderr().trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { event?: unknown }).event);
}
