/** The process: what its user sees of it, from the outside. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../src/commands/commands.ts';
import { HELP } from '../src/commands/help.ts';
import {
  assertRefused,
  end,
  logged,
  SERVER_JS,
  startProcess,
  startProgram,
  type Process,
} from './support/process/process.ts';
import { tempDir } from './support/disk/temp-dir.ts';

const KEY = 'configured-key';
type Env = Record<string, string>;

const POSIX = { skip: process.platform === 'win32' && 'Windows has no such files' };
const hasPython =
  spawnSync('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode']).status === 0;
const PTY = { skip: !hasPython && 'Only python3, from 3.9 on, makes a terminal here' };

const ENV: Env = { PETSTORE_API_KEYS: KEY };
const PET = '{"name":"Rex","categoryId":7}';

test('A pet is still there after kill -9 and a restart', async (t) => {
  const args = anyPort(join(tempDir(t), 'pets.json'));

  const first = start(t, args);
  const added = await addPet(await first.ready());
  assert.equal(added.status, 201);
  first.child.kill('SIGKILL');
  assert.equal(await first.exit(), 'SIGKILL');

  const second = start(t, args);
  const found = await listPets(await second.ready());
  assert.match(second.stderr(), /"event":"Started".*"pets":1\b/);
  assert.equal(await found.text(), '[{"id":1,"name":"Rex","categoryId":7}]');
  second.child.kill('SIGTERM');
  assert.equal(await second.exit(), 0);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`On ${signal} the process puts all pets into the data file and exits with 0`, async (t) => {
    const folder = join(tempDir(t), 'made', 'on', 'start');
    const dataFile = join(folder, 'pets.json');
    const service = start(t, anyPort(dataFile));
    assert.equal((await addPet(await service.ready())).status, 201);
    assert.equal(readFileSync(dataFile, 'utf8').includes('Rex'), false);
    assert.ok(readFileSync(`${dataFile}.journal`, 'utf8').includes('Rex'));

    service.child.kill(signal);
    assert.equal(await service.exit(), 0);
    assert.deepEqual(JSON.parse(readFileSync(dataFile, 'utf8')), [{ id: 1, ...JSON.parse(PET) }]);
    assert.deepEqual(readdirSync(folder).sort(), ['pets.json', 'pets.json.lock']);
    const events = service
      .stderr()
      .trimEnd()
      .split('\n')
      .map((line) => eventOf(line));
    assert.deepEqual(events, ['Made an empty data file', 'Started', 'Stopping', 'Stopped']);
  });
}

test('A service that is stopped while it starts does not say that it started', async (t) => {
  // The signal comes in the first turn of the event loop after it listens.
  const hook = `import net from 'node:net';
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => setImmediate(() => process.kill(process.pid, 'SIGTERM')));
  return listen.apply(this, args);
};`;
  const args = anyPort(join(tempDir(t), 'pets.json'));
  const hooked = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, SERVER_JS];
  const service = startProgram(process.execPath, [...hooked, ...args], { env: ENV });
  assert.equal(await service.exit(), 0);
  assert.equal(service.stdout(), '');
  assert.match(service.stderr(), /"Stopping"[^]*"Stopped"/);
  assert.doesNotMatch(service.stderr(), /"Started"/);
});

test('A stop that takes longer than ten seconds ends then, with 0 if the pets are in a file', async (t) => {
  // Only a timer of just so long fires here, and at once.
  const hook = `const { setTimeout } = globalThis;
globalThis.setTimeout = (work, ms, ...rest) => setTimeout(work, ms === 10_000 ? 0 : ms, ...rest);`;
  const args = anyPort(join(tempDir(t), 'pets.json'));
  const hooked = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, SERVER_JS];
  const service = startProgram(process.execPath, [...hooked, ...args], { env: ENV });
  t.after(() => end(service, 'SIGKILL'));
  await holdStop(t, await service.ready());
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.match(
    service.stderr(),
    /"Graceful shutdown timed out","deadlineMs":10000,"pets":"snapshot"\}\n$/,
  );
});

test('A second signal ends the process at once, with 1 and every pet in the journal', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const service = start(t, anyPort(dataFile));
  const url = await service.ready();
  await addPet(url);
  await holdStop(t, url);
  service.child.kill('SIGTERM');
  await logged(service, '"Stopping"');
  service.child.kill('SIGINT');
  assert.equal(await service.exit(), 1);
  assert.ok(readFileSync(`${dataFile}.journal`, 'utf8').includes('Rex'));
});

/** Once it is told to go on, a client that sends no more keeps the service from stopping. */
async function holdStop(t: TestContext, url: string): Promise<void> {
  const client = connect(Number(new URL(url).port), '127.0.0.1');
  t.after(() => client.destroy());
  client.on('error', () => undefined);
  client.write(
    `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n` +
      'Expect: 100-continue\r\nContent-Length: 20\r\n\r\n',
  );
  const [answer] = (await once(client, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 100 /);
}

test('--help shows the help and exits with 0', async (t) => {
  const service = start(t, ['--help'], { PORT: 'a mistake' });
  assert.equal(await service.exit(), 0);
  assert.deepEqual([service.stdout(), service.stderr()], [HELP, '']);
});

test('help shows the same, and of a command what that takes', async (t) => {
  const helpOf = async (...args: readonly string[]): Promise<string> => {
    const program = start(t, ['help', ...args]);
    assert.equal(await program.exit(), 0);
    return program.stdout();
  };
  assert.equal(await helpOf(), HELP);
  assert.equal(await helpOf('no-such-command'), HELP);
  for (const name of Object.keys(COMMANDS)) {
    assert.match(await helpOf(name), new RegExp(`^Usage: petstore ${name}\\b`, 'm'));
    assert.match(HELP, new RegExp(`^  ${name} `, 'm'));
  }
});

test('--version shows the version of package.json and exits with 0', async (t) => {
  const manifest = fileURLToPath(new URL('../../package.json', import.meta.url));
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const service = start(t, ['--version']);
  assert.equal(await service.exit(), 0);
  assert.deepEqual([service.stdout(), service.stderr()], [`${version}\n`, '']);
});

test('Mistakes in the configuration are told one a line, with exit code 2', async (t) => {
  const folder = tempDir(t);
  const args = [
    'make-kee',
    '--what',
    '--data-file',
    join(folder, 'sub', 'pets.json'),
    '--body-limit=0',
  ];
  const service = start(t, args, { PORT: 'x', PETSTORE_API_KEYS: 'a,' });
  assert.equal(await service.exit(), 2);
  assert.deepEqual(service.stderr().split('\n'), [
    'petstore: Argument 1 is no option and no command: did you mean make-key?',
    'petstore: Unknown option --what: see --help',
    'petstore: PORT must be an integer from 0 to 65535, not "x"',
    'petstore: PETSTORE_API_KEYS, key 2: a key must not be empty',
    'petstore: --body-limit must be an integer from 1 to 5242880, not "0"',
    '',
  ]);
  assert.equal(service.stdout(), '');
  assert.deepEqual(readdirSync(folder), []);
});

test('The service outlives whoever reads its log', async (t) => {
  const service = start(t, [...anyPort(join(tempDir(t), 'pets.json')), '--access-log', 'on']);
  const origin = await service.ready();
  service.child.stderr?.destroy();
  for (let i = 0; i < 3; i += 1) assert.equal((await listPets(origin)).status, 200);
  service.child.kill('SIGTERM');
  assert.equal(await service.exit(), 0);
});

test('A port in use is told in one line, with exit code 1', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const dataFile = join(tempDir(t), 'pets.json');
  const service = start(t, ['--port', String(port), '--data-file', dataFile]);
  const line = `Cannot listen on 127.0.0.1, port ${port}: the port is in use`;
  await assertRefused(service, new RegExp(`^petstore: ${line}\n$`));
  assert.equal(existsSync(dataFile), false);
});

test('A data file in a place that cannot be is told in one line, with exit code 1', async (t) => {
  // Below a file there is no folder, not for root either.
  const file = join(tempDir(t), 'a-file');
  writeFileSync(file, 'mine');
  for (const place of [join(file, 'pets.json'), join(file, 'sub', 'pets.json')]) {
    await assertRefused(start(t, anyPort(place)), /^petstore: .*a-file.*\n$/);
  }
  // To node:fs's own way of making folders this has no end.
  if (existsSync('/proc/self')) {
    const service = start(t, anyPort('/proc/nope/sub/pets.json'));
    await assertRefused(service, /^petstore: .*\/proc\/nope.*\n$/);
  }
  assert.equal(readFileSync(file, 'utf8'), 'mine');
});

test('A data file that is a folder is told in one line, with exit code 1', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  mkdirSync(dataFile);
  await assertRefused(start(t, anyPort(dataFile)), /^petstore: .*pets\.json is not a file\n$/);
  assert.deepEqual(readdirSync(dataFile), []);
});

test('A damaged data file is told with the place, in one line, and is left as it is', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const cases: readonly (readonly [text: string, offset: number])[] = [
    ['', 0],
    ['[{"id":1,"name":"a","categoryId":1},', 36],
    ['[{"id":1,"name":"a","categoryId":x}]', 33],
    ['{"pets":[]}', 0],
  ];
  for (const [text, offset] of cases) {
    writeFileSync(dataFile, text);
    const service = start(t, anyPort(dataFile));
    const line = new RegExp(
      `^petstore: .*pets\\.json is damaged at byte ${offset}, line [0-9]+: .*\n$`,
    );
    await assertRefused(service, line);
    assert.equal(readFileSync(dataFile, 'utf8'), text);
  }
});

test('A second process on the same data file is refused in one line', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const first = start(t, anyPort(dataFile));
  const url = await first.ready();
  const second = start(t, anyPort(dataFile));
  await assertRefused(second, /^petstore: .*pets\.json is in use already.*\n$/);
  assert.equal((await addPet(url)).status, 201);
});

test('Without a configured key a random one is shown, works, and is not logged', async (t) => {
  const keys = new Set<string>();
  for (const name of ['a.json', 'b.json']) {
    const service = start(t, anyPort(join(tempDir(t), name)), {});
    const url = await service.ready();
    const key = /^No API key is configured, .*: (\S+)$/m.exec(service.stdout())?.[1];
    assert.ok(key !== undefined && key.length >= 32, service.stdout());
    assert.equal((await listPets(url, key)).status, 200);
    assert.equal((await listPets(url, `${key}x`)).status, 401);
    // The first answer comes after the signal for certain, and the second one after its handler.
    service.child.kill('SIGHUP');
    assert.equal((await fetch(`${url}/livez`)).status, 200);
    assert.equal((await addPet(url, key)).status, 201);
    service.child.kill('SIGTERM');
    assert.equal(await service.exit(), 0);
    assert.equal(service.stderr().includes(key), false);
    keys.add(key);
  }
  assert.equal(keys.size, 2);
});

test('A configured key is never shown or logged, nor is one that a client sent', async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'key-of-the-file\n');
  const args = [...anyPort(join(tempDir(t), 'pets.json')), '--api-keys-file', keysFile];
  const service = start(t, args);
  const url = await service.ready();
  const cases = [
    [KEY, 200],
    ['key-of-the-file', 200],
    ['key-of-a-client', 401],
  ] as const;
  for (const [key, status] of cases) {
    assert.equal((await listPets(url, key)).status, status);
  }
  service.child.kill('SIGHUP');
  await logged(service, '"Read the API keys again"');
  service.child.kill('SIGTERM');
  assert.equal(await service.exit(), 0);
  assert.doesNotMatch(service.stdout() + service.stderr(), /configured-key|key-of/);
});

test('On SIGHUP without a keys file the service goes on, where no terminal was closed', async (t) => {
  const service = start(t, anyPort(join(tempDir(t), 'pets.json')));
  const url = await service.ready();
  service.child.kill('SIGHUP');
  await logged(service, '"There is no keys file to read again"');
  assert.equal((await listPets(url)).status, 200);
  service.child.kill('SIGTERM');
  assert.equal(await service.exit(), 0);
});

test('On SIGHUP the keys file is read again, and a broken one changes nothing', async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'old-key\n');
  const args = [...anyPort(join(tempDir(t), 'pets.json')), '--api-keys-file', keysFile];
  const service = start(t, args, {});
  const url = await service.ready();
  const statuses = async (): Promise<readonly number[]> => {
    const answers = ['old-key', 'new-key'].map((key) => listPets(url, key));
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  assert.deepEqual(await statuses(), [200, 401]);

  writeFileSync(keysFile, 'new-key\n');
  service.child.kill('SIGHUP');
  await logged(service, '"Read the API keys again"');
  assert.deepEqual(await statuses(), [401, 200]);

  writeFileSync(keysFile, 'old-key\nnot a key\n');
  service.child.kill('SIGHUP');
  await logged(service, '"The API keys were left as they are"');
  assert.deepEqual(await statuses(), [401, 200]);
  assert.ok(service.stderr().includes('line 2: '));
  service.child.kill('SIGTERM');
  assert.equal(await service.exit(), 0);
});

test('On SIGHUP a keys file that is a pipe, or far too long, changes nothing', POSIX, async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'old-key\n');
  const args = [...anyPort(join(tempDir(t), 'pets.json')), '--api-keys-file', keysFile];
  const service = start(t, args, {});
  const url = await service.ready();
  rmSync(keysFile);
  execFileSync('mkfifo', [keysFile]);
  service.child.kill('SIGHUP');
  assert.equal((await listPets(url, 'old-key')).status, 200);
  await logged(service, 'it did not end within 5000 ms');
  rmSync(keysFile);
  writeFileSync(keysFile, 'no key\n'.repeat(149_000));
  service.child.kill('SIGHUP');
  await logged(service, '148980 more lines are not valid keys');
  writeFileSync(keysFile, 'no key\n'.repeat(7_000_000));
  service.child.kill('SIGHUP');
  await logged(service, 'it is longer than 1048576 bytes');
  assert.ok(service.stderr().length < 10_000, `${service.stderr().length} characters of log`);
  assert.equal((await listPets(url, 'old-key')).status, 200);
  // It waits for the pipe, and heeds the signal all the same.
  rmSync(keysFile);
  execFileSync('mkfifo', [keysFile]);
  service.child.kill('SIGHUP');
  assert.equal((await listPets(url, 'old-key')).status, 200);
  service.child.kill('SIGTERM');
  assert.equal(await service.exit(), 0);
});

for (const [what, streams] of [
  ['is on it', '2'],
  ['goes to a file', '1 2'],
  ['is on it only in its log', '0 1'],
] as const) {
  test(
    `When its terminal is closed the service stops, where its output ${what}`,
    PTY,
    async (t) => {
      const folder = tempDir(t);
      writeFileSync(join(folder, 'keys'), `${KEY}\n`);
      const dataFile = join(folder, 'pets.json');
      const args = [...anyPort(dataFile), '--api-keys-file', join(folder, 'keys')];
      const stderr = join(folder, 'log');
      const { stdout } = spawnSync(
        'python3',
        ['-c', TERMINAL, stderr, streams, process.execPath, SERVER_JS, ...args],
        {
          encoding: 'utf8',
          timeout: 60_000,
        },
      );
      // It outlived a `kill -HUP`, and ended by itself when the terminal went.
      // Node 20 itself crashes (SIGSEGV, SIGABRT) at its exit when its terminal is gone; newer ones
      // do not.
      const code = process.versions.node.startsWith('20.') ? '(0|-6|-11)' : '0';
      assert.match(stdout, new RegExp(`^read the keys again\nexit code ${code}\n$`));
      // A log on the terminal ends with it.
      if (!streams.endsWith('2')) return;
      assert.match(readFileSync(stderr, 'utf8'), /"Stopping","signal":"SIGHUP"[^]*"Stopped"/);
    },
  );
}

/** Runs a command on a terminal of its own, but for some streams, and closes that. */
const TERMINAL = `
import os, pty, select, signal, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
pid, terminal = pty.fork()
if pid == 0:
    for stream in sys.argv[2].split():
        os.dup2(log, int(stream))
    os.execv(sys.argv[3], sys.argv[3:])
def wait_for(text):
    while text not in open(sys.argv[1]).read():
        if select.select([terminal], [], [], 0.02)[0]:
            os.write(log, os.read(terminal, 65536))
wait_for('"Started"')
os.kill(pid, signal.SIGHUP)
wait_for('Read the API keys again')
print('read the keys again', flush=True)
os.close(terminal)
_, status = os.waitpid(pid, 0)
print('exit code', os.waitstatus_to_exitcode(status))
`;

test(
  'No key is left in the environment, nor handed to the command that locks',
  POSIX,
  async (t) => {
    const folder = tempDir(t);
    const seen = join(folder, 'seen');
    const realFlock = execFileSync('sh', ['-c', 'command -v flock'], { encoding: 'utf8' }).trim();
    const script = `#!/bin/sh\nenv > ${seen}\nexec ${realFlock} "$@"\n`;
    writeFileSync(join(folder, 'flock'), script, { mode: 0o755 });
    const report = [
      '--report-on-signal',
      `--report-directory=${folder}`,
      '--report-filename=report',
    ];
    const service = startProgram(
      process.execPath,
      [...report, SERVER_JS, ...anyPort(join(folder, 'pets.json'))],
      { env: { ...ENV, PATH: `${folder}:${process.env['PATH'] ?? ''}`, OTHER: 'secret' } },
    );
    t.after(() => service.child.kill('SIGKILL'));
    await service.ready();
    assert.doesNotMatch(readFileSync(seen, 'utf8'), /configured-key|secret/);
    service.child.kill('SIGUSR2');
    await logged(service, 'Node.js report completed');
    assert.doesNotMatch(readFileSync(join(folder, 'report'), 'utf8'), /configured-key/);
  },
);

test('The greeting has the absolute path of the data and the process id', async (t) => {
  const folder = realpathSync(tempDir(t));
  const service = startProgram(process.execPath, [SERVER_JS, '--port', '0'], {
    cwd: folder,
    env: ENV,
  });
  t.after(() => service.child.kill('SIGKILL'));
  await service.ready();
  assert.ok(service.stdout().includes(`(process ${service.child.pid})`));
  assert.ok(service.stdout().includes(`in ${join(folder, 'data', 'pets.json')}, with a journal`));
});

test(
  'What the service makes is for its owner only; what was there keeps its mode',
  POSIX,
  async (t) => {
    const folder = join(tempDir(t), 'made');
    const modeOf = (name: string): string =>
      (statSync(join(folder, name)).mode & 0o777).toString(8);
    const first = start(t, anyPort(join(folder, 'pets.json')));
    await addPet(await first.ready());
    const names = ['.', 'pets.json', 'pets.json.journal', 'pets.json.lock'];
    assert.deepEqual(names.map(modeOf), ['700', '600', '600', '600']);
    first.child.kill('SIGKILL');
    await first.exit();
    chmodSync(join(folder, 'pets.json'), 0o640);
    chmodSync(join(folder, 'pets.json.lock'), 0o644);
    const second = start(t, anyPort(join(folder, 'pets.json')));
    await second.ready();
    second.child.kill('SIGTERM');
    await second.exit();
    assert.deepEqual(['pets.json', 'pets.json.lock'].map(modeOf), ['640', '600']);
  },
);

for (const [args, code, output] of [
  [['make-key', '--help'], 0, /^Usage: petstore make-key \[NAME\]\n/],
  [['make-key', 'x', 'y'], 2, /^Usage: petstore make-key \[NAME\]\n$/],
  [['make-key'], 0, /^# The key, for the client:\n\S+\n# [^\n]*\nsha256:[0-9a-f]{64}\n$/],
  [['check-data', '-h'], 0, /^Usage: petstore check-data \[file\]\n/],
  [['check-data', 'none.json'], 1, /^There is no data file .*none\.json\n$/],
] as const) {
  test(`petstore ${args.join(' ')} exits with ${code}`, async (t) => {
    const service = startProgram(process.execPath, [SERVER_JS, ...args], { cwd: tempDir(t) });
    assert.equal(await service.exit(), code);
    assert.match(code === 0 ? service.stdout() : service.stderr(), output);
  });
}

for (const [env, code, output] of [
  [{}, 1, /^There is no data file .*data\/pets\.json\n$/],
  [{ PETSTORE_DATA_FILE: '' }, 1, /^There is no data file .*data\/pets\.json\n$/],
  [{ PETSTORE_DATA_FILE: 'mine.json' }, 0, /^mine\.json: 0 pets, /],
  [{ PETSTORE_DATA_FILE: 'mine.json', PETSTORE_MEMORY: 'on' }, 0, /^mine\.json: 0 pets, /],
  [{ PETSTORE_MEMORY: 'on' }, 2, /^petstore: as configured, the service has no data file: /],
  [{ PETSTORE_ETCD: 'http://e:1' }, 2, /^petstore: as configured, the service has no data file: /],
] as const) {
  test(`petstore check-data with ${JSON.stringify(env)} exits with ${code}`, async (t) => {
    const cwd = tempDir(t);
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'mine.json'), '[]');
    const program = startProgram(process.execPath, [SERVER_JS, 'check-data'], { cwd, env });
    assert.equal(await program.exit(), code);
    assert.match(code === 0 ? program.stdout() : program.stderr(), output);
  });
}

test('PORT, HOST and the other variables count where no flag is given', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const env = { ...ENV, PORT: '0', HOST: '127.0.0.1', PETSTORE_DATA_FILE: dataFile };
  const service = start(t, [], { ...env, PETSTORE_BODY_LIMIT: String(PET.length - 1) });
  const url = await service.ready();
  // Without PORT it would be 8080.
  assert.match(url, /^http:\/\/127\.0\.0\.1:(?!8080$)[0-9]+$/);
  assert.equal((await addPet(url)).status, 413);
  assert.ok(existsSync(dataFile));
});

const isLinux = process.platform === 'linux';
const skip = isLinux ? false : 'Only Linux answers on all of 127.0.0.0/8';

test('The service is bound to its one address and to no other', { skip }, async (t) => {
  const cases = [
    [[], '127.0.0.1'],
    [['--host', '127.0.0.2'], '127.0.0.2'],
  ] as const;
  for (const [args, address] of cases) {
    const service = start(t, [...args, ...anyPort(join(tempDir(t), 'pets.json'))]);
    const { port, hostname } = new URL(await service.ready());
    assert.equal(hostname, address);
    assert.equal((await fetch(`http://${address}:${port}/livez`)).status, 200);
    await assert.rejects(fetch(`http://127.0.0.3:${port}/livez`));
  }
});

function anyPort(dataFile: string): readonly string[] {
  return ['--port', '0', '--data-file', dataFile];
}

/** Starts a process that ends with the test at the latest. */
function start(t: TestContext, args: readonly string[], env: Env = ENV): Process {
  const service = startProcess(args, env);
  t.after(async () => {
    service.child.kill('SIGKILL');
    await service.exit();
  });
  return service;
}

function listPets(url: string, key: string = KEY): Promise<Response> {
  return fetch(`${url}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } });
}

function addPet(url: string, key: string = KEY): Promise<Response> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return fetch(`${url}/v1/pets`, { method: 'POST', headers, body: PET });
}

function eventOf(line: string): unknown {
  return (JSON.parse(line) as { event?: unknown }).event;
}
