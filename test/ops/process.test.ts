/**
 * What the metrics and the access log show of a real process: refused connections, failed reloads
 * of its API keys, and a reader of its log that stops.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../support/disk/temp-dir.ts';
import { openWire } from '../support/http/wire.ts';
import {
  end,
  KEY,
  listPets,
  logged,
  metricOf,
  SERVER_JS,
  startFor,
  startProgram,
} from '../support/process/process.ts';
import { needsTerminal } from '../support/process/program.ts';

const LINUX = { skip: process.platform !== 'linux' && 'The descriptors are known on Linux only' };
const MEMORY = ['--port', '0', '--memory'];
/** By this clock no connection is old enough to be closed for a newcomer, however slow it comes. */
const STOPPED_CLOCK = ['--import', 'data:text/javascript,performance.now = () => 1'];

test(
  'With few descriptors fewer connections are served, and the metrics, which count the others',
  LINUX,
  async (t) => {
    const script = 'ulimit -n 256 && exec "$@"';
    const args = ['-c', script, 'sh', process.execPath, ...STOPPED_CLOCK, SERVER_JS, ...MEMORY];
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
    const open = (): number => others.filter((socket) => !socket.closed).length;
    while (open() >= limit) await first.send('GET', '/metrics');
    const { body } = (await first.send('GET', '/metrics')) as { readonly body: string };
    assert.match(body, /^petstore_http_refused_connections_total [1-9]/m);
  },
);

test('A reload of the API keys that fails is counted; the reader of the log may end', async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'key-1\n');
  const service = startFor(t, [...MEMORY, '--access-log', 'on', '--api-keys-file', keysFile]);
  const url = await service.ready();
  const failures = (): Promise<number> => metricOf(url, 'petstore_api_key_reload_failures_total');
  assert.equal(await failures(), 0);
  writeFileSync(keysFile, 'key-1\nkey-1\n');
  service.child.kill('SIGHUP');
  await logged(service, '"Kept the API keys in force"');
  assert.equal(await failures(), 1);
  service.child.stderr.destroy();
  for (let i = 0; i < 3; i += 1) assert.equal((await listPets(url)).status, 200);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

test(
  'A terminal that is stopped by Ctrl+S holds neither requests nor a stop',
  needsTerminal(),
  async (t) => {
    const service = [SERVER_JS, '--memory', '--port', '0', '--access-log'];
    const args = ['-c', STOPPED_TERMINAL, process.execPath, ...service];
    const python = startProgram('python3', args, { env: { PETSTORE_API_KEYS: KEY } });
    t.after(() => end(python, 'SIGKILL'));
    await python.wrote(() => python.stdout().includes('\n'));
    const [, url, pid] = /^(\S+) (\d+)\n$/.exec(python.stdout())!;
    t.after(() => spawnSync('kill', ['-9', pid!]));
    // With the access log, each of them writes a line.
    const answers = Array.from({ length: 3 }, () => fetch(`${url}/livez`));
    const late = sleep(HUNG_MS, undefined, { ref: false });
    const served = await Promise.race([Promise.all(answers), late]);
    assert.ok(served !== undefined, 'The service hangs');
    process.kill(Number(pid), 'SIGTERM');
    assert.equal(await python.exit(), 0, python.stderr());
  },
);

/** Only a service that hangs takes so long. */
const HUNG_MS = 120_000;

const STOPPED_TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text = ''
while '"url":"' not in text or not text.endswith('/v1/pets\\r\\n'):
    text += os.read(terminal, 65536).decode()
os.write(terminal, b'\\x13')
print(text.split('"url":"')[1].split('"')[0], pid, flush=True)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
`;
