/**
 * The process while it starts, and its listening socket: hang-ups, failed accepts, Unix sockets.
 */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertRefused,
  end,
  KEY,
  logged,
  SERVER_JS,
  startProgram,
  type Process,
} from './support/process/process.ts';
import { openSupervisor } from './support/process/supervisor.ts';
import { tempDir } from './support/disk/temp-dir.ts';

const POSIX = { skip: process.platform === 'win32' && 'Windows has no such signals and sockets' };
const hasPython =
  spawnSync('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode']).status === 0;
const PTY = { skip: !hasPython && 'Only python3, from 3.9 on, makes a terminal here' };

test(
  'A SIGHUP while the pets load on an inherited socket reloads the API keys',
  POSIX,
  async (t) => {
    const folder = tempDir(t);
    const supervisor = openSupervisor();
    t.after(() => supervisor.close());
    const flock = waitingFlock(folder);
    writeFileSync(join(folder, 'keys'), 'old-key\n');
    const args = [
      '--data-file',
      join(folder, 'pets.json'),
      '--api-keys-file',
      join(folder, 'keys'),
    ];
    const service = supervisor.start(args, { PATH: flock.path });
    t.after(() => end(service, 'SIGKILL'));
    await flock.reached(service);
    writeFileSync(join(folder, 'keys'), 'new-key\n');
    service.child.kill('SIGHUP');
    await logged(service, '"Read the API keys again"');
    flock.release();
    const url = await service.ready();
    assert.deepEqual(await statusesOf(url), [401, 200]);
    assert.equal(await end(service, 'SIGTERM'), 0);
  },
);

test('A SIGHUP while the configuration is read reloads the API keys after it', POSIX, async (t) => {
  const folder = tempDir(t);
  const keysFile = join(folder, 'keys');
  execFileSync('mkfifo', [keysFile]);
  const args = ['--memory', '--port', '0', '--api-keys-file', keysFile];
  const service = startProgram(process.execPath, [SERVER_JS, ...args], {});
  t.after(() => end(service, 'SIGKILL'));
  // It opens as soon as the service reads the pipe.
  const pipe = await open(keysFile, 'w');
  service.child.kill('SIGHUP');
  writeFileSync(`${keysFile}.new`, 'new-key\n');
  renameSync(`${keysFile}.new`, keysFile);
  await pipe.writeFile('old-key\n');
  await pipe.close();
  const url = await service.ready();
  await logged(service, '"Read the API keys again"');
  assert.deepEqual(await statusesOf(url), [401, 200]);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

test('A service whose terminal is closed while it starts stops cleanly', PTY, async (t) => {
  const folder = tempDir(t);
  const keysFile = join(folder, 'keys');
  execFileSync('mkfifo', [keysFile]);
  const args = ['--memory', '--port', '0', '--api-keys-file', keysFile];
  const stderr = join(folder, 'log');
  const { stdout } = spawnSync(
    'python3',
    ['-c', TERMINAL, stderr, keysFile, process.execPath, SERVER_JS, ...args],
    { encoding: 'utf8', timeout: 60_000 },
  );
  // Node 20 itself crashes (SIGSEGV, SIGABRT) at its exit if its terminal is gone; newer ones do
  // not.
  const code = process.versions.node.startsWith('20.') ? '(0|-6|-11)' : '0';
  assert.match(stdout, new RegExp(`^exit code ${code}\n$`));
  assert.match(readFileSync(stderr, 'utf8'), /"Stopping","signal":"SIGHUP"[^]*"Stopped"/);
});

/** Runs the service on a terminal, its log in a file, and closes the terminal as keys are read. */
const TERMINAL = `
import os, pty, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(log, 2)
    os.execv(sys.argv[3], sys.argv[3:])
keys = os.open(sys.argv[2], os.O_WRONLY)
os.close(terminal)
os.write(keys, b'a-key\\n')
os.close(keys)
_, status = os.waitpid(pid, 0)
print('exit code', os.waitstatus_to_exitcode(status))
`;

test('A service that is stopped while it waits for its cluster exits with 0', async (t) => {
  const connections: Socket[] = [];
  const silent = createServer((socket) => connections.push(socket)).listen(0, '127.0.0.1');
  t.after(() => {
    silent.close();
    for (const socket of connections) socket.destroy();
  });
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const args = ['--port', '0', '--etcd', `http://127.0.0.1:${port}`];
  const env = { PETSTORE_API_KEYS: KEY };
  const service = startProgram(process.execPath, [SERVER_JS, ...args], { env });
  t.after(() => end(service, 'SIGKILL'));
  await once(silent, 'connection');
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.match(service.stderr(), /^[^\n]*"Stopping"[^\n]*\n[^\n]*"Stopped"[^\n]*\n$/);
});

test('Failed accepts are logged once a second, and the service continues', POSIX, async (t) => {
  // What libuv calls if accept fails.
  const hook = `import net from 'node:net';
import os from 'node:os';
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => setImmediate(() => {
    for (let i = 0; i < 3; i += 1) this._handle.onconnection(-os.constants.errno.ENOBUFS);
  }));
  return listen.apply(this, args);
};`;
  const hooked = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, SERVER_JS];
  const service = startProgram(process.execPath, [...hooked, '--memory', '--port', '0'], {
    env: { PETSTORE_API_KEYS: 'new-key' },
  });
  t.after(() => end(service, 'SIGKILL'));
  const url = await service.ready();
  assert.deepEqual(await statusesOf(url), [401, 200]);
  assert.equal(await end(service, 'SIGTERM'), 0);
  const lines = service.stderr().split('\n');
  const failures = lines.filter((line) => line.includes('"Cannot accept a connection"'));
  assert.equal(failures.length, 1, service.stderr());
  assert.match(failures[0]!, /"cause":"accept ENOBUFS","failures":1\}$/);
});

test('An inherited Unix socket is served, and kept for the next process', POSIX, async (t) => {
  const folder = tempDir(t);
  const path = join(folder, 'socket');
  const supervisor = openSupervisor(path);
  t.after(() => supervisor.close());
  const start = (): Process => {
    const args = ['--data-file', join(folder, 'pets.json')];
    const service = supervisor.start(args, { PETSTORE_API_KEYS: KEY });
    t.after(() => end(service, 'SIGKILL'));
    return service;
  };
  const first = start();
  await first.ready();
  assert.match(first.stdout(), /^Petstore \S+ listens on an inherited Unix socket \(process /);
  assert.match(first.stdout(), /curl --unix-socket <path of the socket> .* http:\/\/localhost\/v1/);
  assert.match(first.stderr(), /"Started".*"socket":"unix"/);
  const [status, pet] = await send(path, 'POST', '{"name":"Rex","categoryId":1}');
  assert.equal(status, 201);
  assert.equal(await end(first, 'SIGTERM'), 0, first.stderr());
  // It waits in the queue of the socket.
  const answer = send(path, 'GET');
  const second = start();
  assert.deepEqual(await answer, [200, `[${pet}]`]);
  await second.ready();
  assert.equal(await end(second, 'SIGTERM'), 0, second.stderr());
  assert.ok(existsSync(path));
});

test('An inherited descriptor that is not a socket is refused in one line', POSIX, async (t) => {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'file'), '');
  const file = await open(join(folder, 'file'));
  t.after(() => file.close());
  const script = 'LISTEN_PID=$$ exec "$@"';
  const command = ['-c', script, 'sh', process.execPath, SERVER_JS, '--memory'];
  const env = { LISTEN_FDS: '1', PETSTORE_API_KEYS: KEY };
  const service = startProgram('sh', command, { env, socket: file.fd });
  await assertRefused(service, /^petstore: Cannot listen on the inherited socket: .*EINVAL.*\n$/);
});

/** The statuses of a list with the key `old-key` and with `new-key`. */
async function statusesOf(url: string): Promise<readonly number[]> {
  const responses = ['old-key', 'new-key'].map((key) =>
    fetch(`${url}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } }),
  );
  return (await Promise.all(responses)).map(({ status }) => status);
}

async function send(
  socketPath: string,
  method: string,
  body = '',
): Promise<readonly [status: number | undefined, body: string]> {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  const call = request({ socketPath, method, path: '/v1/pets', headers, agent: false });
  call.end(body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return [response.statusCode, (await response.toArray()).join('')];
}

interface WaitingFlock {
  /** A PATH with a `flock` that waits before it locks. */
  readonly path: string;
  /** Resolves when the service waits for it. */
  reached(service: Process): Promise<void>;
  release(): void;
}

function waitingFlock(folder: string): WaitingFlock {
  const realFlock = execFileSync('sh', ['-c', 'command -v flock'], { encoding: 'utf8' }).trim();
  const [reached, released] = [join(folder, 'reached'), join(folder, 'released')];
  const wait = `: > ${reached}\nwhile [ ! -e ${released} ]; do sleep 0.02; done`;
  const script = `#!/bin/sh\n${wait}\nexec ${realFlock} "$@"\n`;
  writeFileSync(join(folder, 'flock'), script, { mode: 0o755 });
  return {
    path: `${folder}:${process.env['PATH'] ?? ''}`,
    async reached(service) {
      while (!existsSync(reached)) {
        assert.equal(service.child.exitCode, null, service.stderr());
        await sleep(20);
      }
    },
    release: () => writeFileSync(released, ''),
  };
}
