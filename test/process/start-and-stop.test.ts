/**
 * How the process starts: its greeting, addresses, files and inherited socket, and why a start is
 * refused; and how it ends: by a signal, at its deadline, in the middle of a start. SIGHUP: API
 * keys are read again, at any time, or the terminal of the process was closed.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createApp } from '../../src/app.ts';
import { silentLogger, type Logger } from '../../src/core/base/logger.ts';
import { createHttpServer } from '../../src/index.ts';
import { createShutdown } from '../../src/process/shutdown.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { listen } from '../support/http/service.ts';
import { openWire, talk } from '../support/http/wire.ts';
import {
  addPet,
  assertRefused,
  end,
  KEY,
  listPets,
  logged,
  PET,
  portOf,
  type Process,
  SERVER_JS,
  startFor,
  startOn,
  startProgram,
} from '../support/process/process.ts';
import { needsTerminal, pathOf } from '../support/process/program.ts';
import { openSupervisor, startInheriting } from '../support/process/supervisor.ts';

const MEMORY = ['--port', '0', '--memory'];
const PROC = { skip: !fs.existsSync('/proc/self') && 'needs /proc' };

test('The process reads its variables, serves, and has all pets in its data file', async (t) => {
  const cwd = fs.realpathSync(tempDir(t));
  const env = {
    ...{ PORT: '0', HOST: '0.0.0.0', PETSTORE_PREFIX: '/shop' },
    ...{ PETSTORE_DATA_FILE: 'sub/pets.json', PETSTORE_BODY_LIMIT: String(PET.length) },
  };
  const service = startFor(t, [], { cwd, env });
  // Without PORT it would be 8080.
  const [, port] = /^http:\/\/0\.0\.0\.0:(?!8080\/)([0-9]+)\/shop$/.exec(await service.ready())!;
  const url = `http://127.0.0.1:${port}/shop`;
  const greeting = await service.greeting();
  const key = keyIn(greeting);
  assert.equal((await addPet(url, key)).status, 201);
  assert.equal((await addPet(url, key, `${PET} `)).status, 413);
  const folder = join(cwd, 'sub');
  const dataFile = join(folder, 'pets.json');
  for (const part of [`(process ${service.child.pid})`, `in ${dataFile}\n`]) {
    assert.ok(greeting.includes(part), part);
  }
  assert.match(greeting, new RegExp(`^.*\\b[aA]dd a pet[^]* ${url}/v1/pets\n$`, 'm'));
  // The files are for their owner only.
  const names = ['.', 'pets.json'];
  const modes = names.map((name) => (fs.statSync(join(folder, name)).mode & 0o777).toString(8));
  assert.deepEqual(modes, ['700', '600']);
  assert.equal(await end(service, 'SIGINT'), 0);
  assert.deepEqual(JSON.parse(fs.readFileSync(dataFile, 'utf8')), [{ id: 1, ...JSON.parse(PET) }]);
  assert.deepEqual(fs.readdirSync(folder), ['pets.json']);
  const events = ['Made a data file without pets', 'Started', 'Stopping', 'Stopped'];
  assert.deepEqual(eventsOf(service), events);
});

function keyIn(greeting: string): string {
  return /^No API key is configured, .*: (\S{32,})$/m.exec(greeting)![1]!;
}

test('With --memory, the greeting names the data file that is read; a generated API key is not logged', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  fs.writeFileSync(dataFile, '[{"id":5,"name":"Old","categoryId":1}]');
  const args = ['--port=0', '--memory', '--data-file', dataFile];
  const service = startFor(t, args, { env: {} });
  const url = await service.ready();
  const greeting = await service.greeting();
  const key = keyIn(greeting);
  assert.match(greeting, /keeps its pets in memory only, until it ends; it began with/);
  assert.match(service.stderr(), /"event":"Started".*"pets":1\b/);
  assert.match(await (await listPets(url, key)).text(), /Old/);
  assert.equal((await listPets(url, `${key}x`)).status, 401);
  assert.ok(!service.stderr().includes(key));
});

test('With an API key, the output is JSON lines; SIGUSR1 and SIGHUP are logged, and change nothing', async (t) => {
  const service = startFor(t, [...MEMORY, '--idle-timeout', '620']);
  const url = await service.ready();
  const { headers } = await fetch(`${url}/livez`);
  assert.equal(headers.get('Keep-Alive'), 'timeout=620');
  // Node would open a debugger.
  service.child.kill('SIGUSR1');
  await service.wrote(() => /"signal":"SIGUSR1"|Debugger/.test(service.stderr()));
  service.child.kill('SIGHUP');
  const noFile = 'There is no API keys file to read again';
  await logged(service, noFile);
  assert.equal((await listPets(url)).status, 200);
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.equal(service.stdout(), '');
  const events = ['Started', 'Ignored a signal', noFile, 'Stopping', 'Stopped'];
  assert.deepEqual(eventsOf(service), events);
});

test('A HOST that is no name of this machine, as conda sets it, is refused by its name, with 2', async (t) => {
  const env = { HOST: 'host.invalid', PETSTORE_API_KEYS: KEY };
  // As the resolver of a machine with a network responds.
  const hook = `import dns from 'node:dns';
dns.lookup = (host, ...rest) => process.nextTick(rest.at(-1), Object.assign(
  new Error('getaddrinfo ENOTFOUND ' + host), { code: 'ENOTFOUND' }));`;
  for (const [args, name] of [
    [[], 'HOST'],
    [['--host', 'host.invalid'], '--host'],
  ] as const) {
    const service = startFor(t, [...MEMORY, ...args], { env, hook });
    assert.equal(await service.exit(), 2);
    const sentence = 'must be an address or a name of this machine, not "host.invalid"';
    const line = `petstore: ${name} ${sentence}: getaddrinfo ENOTFOUND host.invalid\n`;
    assert.equal(service.stderr(), line);
  }
});

test('No API key is left in the environment, nor passed on to `flock`; a warning is logged', async (t) => {
  const folder = tempDir(t);
  const seen = join(folder, 'seen');
  const script = `#!/bin/sh\nenv > ${seen}\nexec ${pathOf('flock')} "$@"\n`;
  fs.writeFileSync(join(folder, 'flock'), script, { mode: 0o755 });
  // A diagnostic report has the environment as the system sees it.
  const hook = `process.on('SIGUSR2', () => {
    console.error(JSON.stringify(process.report.getReport()));
    process.emitWarning('From the test');
  })`;
  const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
  const env = { PETSTORE_API_KEYS: KEY, PATH, OTHER: 'secret' };
  const service = startOn(t, join(folder, 'pets.json'), { env, hook });
  await service.ready();
  assert.doesNotMatch(fs.readFileSync(seen, 'utf8'), new RegExp(`${KEY}|secret`));
  service.child.kill('SIGUSR2');
  await logged(service, '"Node.js warns","cause":"Warning: From the test"');
  assert.match(service.stderr(), /"OTHER":"secret"/);
  assert.doesNotMatch(service.stderr(), new RegExp(KEY));
  for (const line of service.stderr().trim().split('\n')) JSON.parse(line);
});

test('If the port is in use, the start is refused in one line, and no file is made', async (t) => {
  const other = createServer();
  t.after(() => other.close());
  const port = await listen(other);
  const dataFile = join(tempDir(t), 'pets.json');
  const service = startFor(t, ['--port', String(port), '--data-file', dataFile]);
  const advice = 'stop what uses it, or choose another one \\(PORT or --port\\)';
  const line = `Cannot listen on 127.0.0.1 \\(HOST or --host\\), port ${port}: the port is in use: ${advice}`;
  await assertRefused(service, new RegExp(`^petstore: ${line}\n$`));
  assert.equal(fs.existsSync(dataFile), false);
});

test('If the working directory was removed, the start is refused in one line', async (t) => {
  const script = 'rmdir "$PWD" && exec "$@"';
  const args = ['-c', script, 'sh', process.execPath, SERVER_JS, '--port', '0'];
  const service = startProgram('sh', args, { cwd: tempDir(t) });
  assert.deepEqual([await service.exit(), service.stdout()], [1, '']);
  assert.match(service.stderr(), /^petstore: ENOENT.*\n$/);
});

const PERMISSION = ['--permission', '--experimental-permission'].find((flag) =>
  process.allowedNodeEnvironmentFlags.has(flag),
);

test("The service works under Node's permission model, or says that it refuses a sync", async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const allowed = ['--allow-child-process', '--allow-fs-read=*', `--allow-fs-write=${folder}*`];
  const net = ['--allow-net'].filter((flag) => process.allowedNodeEnvironmentFlags.has(flag));
  const service = startProgram(
    process.execPath,
    [PERMISSION!, ...allowed, ...net, SERVER_JS, '--port', '0', '--data-file', dataFile],
    { env: { PETSTORE_API_KEYS: KEY } },
  );
  t.after(() => end(service, 'SIGKILL'));
  if (Number.parseInt(process.versions.node) > 24) {
    assert.equal(await service.exit(), 1);
    assert.match(service.stderr(), /^petstore: fdatasync API is disabled when Permission Model/m);
    return;
  }
  assert.equal((await addPet(await service.ready())).status, 201);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

test('If no folder can be made for the data file, the start is refused', PROC, async (t) => {
  // mkdir with `recursive` of node:fs never ends here.
  const service = startOn(t, '/proc/nope/sub/pets.json');
  await assertRefused(service, /^petstore: The folder of \/proc\/nope.* cannot be made: .*\n$/);
});

/** A hook that does this in the first iteration of the event loop after the service listens. */
const onceListening = (code: string): string => `import net from 'node:net';
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => setImmediate(() => { ${code} }));
  return listen.apply(this, args);
};`;

const STOP_AT_START = onceListening("process.kill(process.pid, 'SIGTERM');");

test('A service that is stopped during its start does not log that it started', async (t) => {
  const service = startOn(t, undefined, { hook: STOP_AT_START });
  assert.equal(await service.exit(), 0);
  assert.equal(service.stdout(), '');
  const events = eventsOf(service).filter((event) => event !== 'Made a data file without pets');
  assert.deepEqual(events, ['Stopping', 'Stopped']);
});

test('A service that is stopped while it reads a damaged file names the damage', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  fs.writeFileSync(path, '[{"id":1}]');
  const service = startOn(t, path, { hook: STOP_AT_START });
  assert.equal(await service.exit(), 1);
  assert.match(service.stderr(), /"Stopping"[^]*pets\.json is not a list of pets/);
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
  const module = new URL('core/store/file-store.js', pathToFileURL(SERVER_JS));
  const hook = `const { FileStore } = await import('${module}');
FileStore.prototype.close = () => Promise.reject(new Error('The pets are not safe'));`;
  const service = startOn(t, undefined, { hook });
  await service.ready();
  assert.equal(await end(service, 'SIGTERM'), 1);
  assert.match(service.stderr(), /"Graceful shutdown failed","cause":"The pets are not safe"\}\n$/);
});

test('The first signal during the stop of a lost store ends nothing, the second one ends it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  const events: unknown[] = [];
  const log: Logger = (_level, event) => void events.push(event);
  const exit = (code: number): never => assert.fail(`exit code ${code}`);
  const running = { exit } as unknown as NodeJS.Process;
  const app = createApp({ memory: true, apiKeys: [KEY] });
  const shutdown = createShutdown(app, createHttpServer(app.listener), running, log, log);
  const stopped = shutdown.stop(1);
  shutdown.receive('SIGTERM');
  // Under npm, Ctrl+C comes from the terminal and from npm.
  shutdown.receive('SIGTERM');
  t.mock.timers.tick(500);
  assert.throws(() => shutdown.receive('SIGTERM'), /exit code 1/);
  await assert.rejects(stopped, /exit code 1/);
  assert.deepEqual(events, ['Stopping', 'Ended by a second signal', 'Stopped']);
});

test('A second signal during a call of the disk ends the process with 1 after the call, and kills it if that hangs', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  for (const [callMs, expected] of [
    [0, 'exit 1 after 0 ms'],
    [20, 'exit 1 after 20 ms'],
    // As PID 1, for which the system ignores SIGKILL.
    [Infinity, 'SIGKILL, abort after 240 ms'],
  ] as const) {
    let [ms, sent, ended] = [0, '', ''];
    const end = (how: string): void => void (ended ||= `${sent}${how} after ${ms} ms`);
    const running = {
      exit: (code: number) => end(`exit ${code}`),
      kill: (_pid: number, signal: string) => void (sent = `${signal}, `),
      abort: () => end('abort'),
    } as unknown as NodeJS.Process;
    const app = { ...createApp({ memory: true, apiKeys: [KEY] }), isWriting: () => ms < callMs };
    const server = createHttpServer(app.listener);
    const shutdown = createShutdown(app, server, running, silentLogger, silentLogger);
    shutdown.receive('SIGTERM');
    shutdown.receive('SIGINT');
    while (ms < 1000) {
      ms += 10;
      t.mock.timers.tick(10);
    }
    assert.equal(ended, expected);
  }
});

function eventsOf(service: Process): readonly unknown[] {
  const lines = service.stderr().trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { event?: unknown }).event);
}

/** A pipe is read for five seconds by this clock, which stands still. */
const STOPPED_CLOCK = 'performance.now = () => 1;';

test('SIGHUP reads the API keys file again, and a bad file changes nothing', async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  fs.writeFileSync(keysFile, 'shop-1: key-old\n');
  const args = [...MEMORY, '--api-keys-file', keysFile];
  const env = { PETSTORE_API_KEYS: 'key-fixed' };
  const service = startFor(t, args, { env, hook: STOPPED_CLOCK });
  const url = await service.ready();
  /** What the keys open. */
  const state = async (): Promise<readonly unknown[]> => {
    const keys = ['key-old', 'key-new', 'key-fixed'];
    const lists = await Promise.all(keys.map((key) => listPets(url, key)));
    return lists.map(({ status }) => status);
  };
  const reload = async (text: string, event: string): Promise<void> => {
    fs.writeFileSync(keysFile, text);
    service.child.kill('SIGHUP');
    await logged(service, event);
  };
  assert.deepEqual(await state(), [200, 401, 200]);
  await reload('shop-2: key-new\n', '"Read the API keys again","keys":2,"names":"shop-2"');
  assert.deepEqual(await state(), [401, 200, 200]);
  await reload('shop-2: key-new\nshop-2: key-old\n', '"Kept the API keys in force"');
  const mistake = `line 2 of --api-keys-file (${keysFile}) repeats the name of line 1`;
  assert.ok(service.stderr().includes(mistake));
  assert.deepEqual(await state(), [401, 200, 200]);

  // The service waits for a writer of the pipe, and serves and stops meanwhile.
  fs.rmSync(keysFile);
  execFileSync('mkfifo', [keysFile]);
  service.child.kill('SIGHUP');
  assert.deepEqual(await state(), [401, 200, 200]);
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.doesNotMatch(service.stdout() + service.stderr(), /key-/);
});

test('A SIGHUP while the configuration is read reloads the API keys after it', async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  execFileSync('mkfifo', [keysFile]);
  const args = ['--memory', '--port', '0', '--api-keys-file', keysFile];
  const service = startFor(t, args, { env: {}, hook: STOPPED_CLOCK });
  // It opens as soon as the service reads the pipe.
  const pipe = await open(keysFile, 'w');
  service.child.kill('SIGHUP');
  fs.writeFileSync(`${keysFile}.new`, 'new-key\n');
  fs.renameSync(`${keysFile}.new`, keysFile);
  // More than one read takes.
  await pipe.writeFile(`#${' '.repeat(200_000)}\nold-key\n`);
  await pipe.close();
  const url = await service.ready();
  await logged(service, '"Read the API keys again"');
  assert.equal((await listPets(url, 'old-key')).status, 401);
  assert.equal((await listPets(url, 'new-key')).status, 200);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

test('Failed accepts are logged once, and when they are over', async (t) => {
  // Calls what libuv calls if accept fails.
  const call = `this._handle.onconnection(-${constants.errno.ENOBUFS});`;
  const service = startFor(t, MEMORY, { hook: onceListening(call.repeat(3)) });
  const url = await service.ready();
  // A connection that was accepted before them would not end them.
  await logged(service, '"Cannot accept a connection"');
  assert.equal((await listPets(url)).status, 200);
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
  assert.ok(fs.existsSync(path));
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
  await assertRefused(two, line, 2);
  for (const env of [{ LISTEN_FDS: '2', LISTEN_PID: '1' }, { LISTEN_PID: '1' }]) {
    const service = startFor(t, MEMORY, { env });
    assert.notEqual(Number(new URL(await service.ready()).port), supervisor.port);
  }
});

/** Which stream is left on the terminal, and what the other two are numbered. */
const STREAMS = [
  ['standard input', '1 2'],
  ['standard output', '0 2'],
  ['standard error', '0 1'],
] as const;

const onTerminal = needsTerminal();

for (const [left, redirected] of STREAMS) {
  const name = `A service with its ${left} on a terminal that is closed stops cleanly`;
  test(name, onTerminal, async (t) => {
    const folder = tempDir(t);
    const [keysFile, log] = [join(folder, 'keys'), join(folder, 'log')];
    fs.writeFileSync(keysFile, 'a-key\n');
    const service = [SERVER_JS, '--memory', '--port', '0', '--api-keys-file', keysFile];
    const args = ['-c', TERMINAL, log, redirected, process.execPath, ...service];
    const python = startProgram('python3', args, {});
    t.after(() => end(python, 'SIGKILL'));
    await python.exit();
    const stdout = python.stdout();
    // Node 20 itself crashes (SIGSEGV, SIGABRT) at its exit if its terminal is gone; newer ones do
    // not.
    const code = process.versions.node.startsWith('20.') ? '(0|-6|-11)' : '0';
    assert.match(stdout, new RegExp(`^exit code ${code}\n$`));
    // A log on the terminal ends with the terminal.
    if (!redirected.endsWith('2')) return;
    assert.match(fs.readFileSync(log, 'utf8'), /"Stopping","signal":"SIGHUP"[^]*"Stopped"/);
  });
}

/**
 * Runs a command on its own terminal, with some streams in a log, and closes the terminal after the
 * service has read its keys again.
 */
const TERMINAL = `
import os, pty, select, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
pid, terminal = pty.fork()
if pid == 0:
    for stream in sys.argv[2].split():
        os.dup2(log, int(stream))
    os.execv(sys.argv[3], sys.argv[3:])
def wait_for(text):
    while text not in open(sys.argv[1]).read():
        if os.waitpid(pid, os.WNOHANG)[0]:
            sys.exit('It ended without ' + text)
        if select.select([terminal], [], [], 0.02)[0]:
            os.write(log, os.read(terminal, 65536))
wait_for('"Started"')
os.kill(pid, signal.SIGHUP)
wait_for('Read the API keys again')
os.close(terminal)
# A shell sends a signal of its own, and so the service gets more than one.
for _ in range(20):
    os.kill(pid, signal.SIGHUP)
    time.sleep(0.01)
_, status = os.waitpid(pid, 0)
print('exit code', os.waitstatus_to_exitcode(status))
`;
