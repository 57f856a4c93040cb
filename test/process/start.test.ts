/** A start of the process: its greeting, addresses and files, and the reasons why it is refused. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  addPet,
  assertRefused,
  end,
  KEY,
  listPets,
  logged,
  PET,
  SERVER_JS,
  startFor,
  startOn,
  startProgram,
} from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const POSIX = { skip: process.platform === 'win32' && 'Windows has no such files' };
const LINUX = { skip: process.platform !== 'linux' && 'Only Linux answers on all of 127.0.0.0/8' };

test('The process reads its variables and prints the absolute path of the data', async (t) => {
  const cwd = realpathSync(tempDir(t));
  const env = {
    ...{ PORT: '0', HOST: '127.0.0.1', PETSTORE_DATA_FILE: 'sub/pets.json' },
    ...{ PETSTORE_API_KEYS: KEY, PETSTORE_BODY_LIMIT: String(PET.length - 1) },
  };
  const service = startFor(t, [], { cwd, env });
  const url = await service.ready();
  // Without PORT it would be 8080.
  assert.match(url, /^http:\/\/127\.0\.0\.1:(?!8080$)[0-9]+$/);
  assert.equal((await addPet(url)).status, 413);
  const dataFile = join(cwd, 'sub', 'pets.json');
  assert.ok(existsSync(dataFile));
  assert.ok(service.stdout().includes(`(process ${service.child.pid})`));
  assert.ok(service.stdout().includes(`in ${dataFile}, with a journal`));
});

test('The service listens on its one address and on no other', LINUX, async (t) => {
  for (const [args, address] of [
    [[], '127.0.0.1'],
    [['--host', '127.0.0.2'], '127.0.0.2'],
  ] as const) {
    const service = startFor(t, [...args, '--port', '0', '--memory']);
    const { port, hostname } = new URL(await service.ready());
    assert.equal(hostname, address);
    assert.equal((await fetch(`http://${address}:${port}/livez`)).status, 200);
    await assert.rejects(fetch(`http://127.0.0.3:${port}/livez`));
  }
});

test('With PETSTORE_PREFIX, every path of the process begins with it', async (t) => {
  const env = { PETSTORE_PREFIX: '/shop/pets', PETSTORE_API_KEYS: KEY };
  const service = startFor(t, ['--port', '0', '--memory'], { env });
  const url = await service.ready();
  assert.match(url, /^http:\/\/127\.0\.0\.1:[0-9]+\/shop\/pets$/);
  assert.match(service.stdout(), new RegExp(`Open ${url}/ in a browser`));
  const headers = { Authorization: `Bearer ${KEY}` };
  for (const path of ['/', '/livez', '/readyz', '/metrics', '/openapi.json', '/v1/pets']) {
    assert.equal((await fetch(`${url}${path}`, { headers })).status, 200, path);
    const outside = await fetch(`${new URL(url).origin}${path}`, { headers });
    assert.equal(outside.status, 404);
    assert.match(await outside.text(), /every path begins with \/shop\/pets\//);
  }
  assert.equal((await fetch(`${url}/v1/none`)).status, 401);
});

test(
  'The files of the store are for their owner only, and keep their modes and pets over a kill -9',
  POSIX,
  async (t) => {
    const folder = join(tempDir(t), 'made', 'on', 'start');
    const modesOf = (...names: readonly string[]): readonly string[] =>
      names.map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8));
    const first = startOn(t, join(folder, 'pets.json'));
    await addPet(await first.ready());
    const modes = modesOf('.', 'pets.json', 'pets.json.journal', 'pets.json.lock');
    assert.deepEqual(modes, ['700', '600', '600', '600']);
    assert.equal(await end(first, 'SIGKILL'), 'SIGKILL');
    chmodSync(join(folder, 'pets.json'), 0o640);
    chmodSync(join(folder, 'pets.json.lock'), 0o644);
    const second = startOn(t, join(folder, 'pets.json'));
    const pets = await listPets(await second.ready());
    assert.equal(await pets.text(), '[{"id":1,"name":"Rex","categoryId":7}]');
    assert.match(second.stderr(), /"event":"Started".*"pets":1\b/);
    assert.equal(await end(second, 'SIGTERM'), 0);
    assert.deepEqual(modesOf('pets.json', 'pets.json.lock'), ['640', '600']);
  },
);

test('A generated API key is shown, works, and is not logged', async (t) => {
  const keys = new Set<string>();
  for (let start = 0; start < 2; start += 1) {
    const service = startFor(t, ['--port', '0', '--memory'], { env: {} });
    const url = await service.ready();
    const key = /^No API key is configured, .*: (\S+)$/m.exec(service.stdout())?.[1];
    assert.ok(key !== undefined && key.length >= 32, service.stdout());
    assert.equal((await addPet(url, key)).status, 201);
    assert.equal((await listPets(url, `${key}x`)).status, 401);
    assert.equal(service.stderr().includes(key), false);
    keys.add(key);
  }
  assert.equal(keys.size, 2);
});

test(
  'No API key is left in the environment, nor passed to the command that locks',
  POSIX,
  async (t) => {
    const folder = tempDir(t);
    const seen = join(folder, 'seen');
    const flock = execFileSync('sh', ['-c', 'command -v flock'], { encoding: 'utf8' }).trim();
    const script = `#!/bin/sh\nenv > ${seen}\nexec ${flock} "$@"\n`;
    writeFileSync(join(folder, 'flock'), script, { mode: 0o755 });
    const report = [
      '--report-on-signal',
      `--report-directory=${folder}`,
      '--report-filename=report',
    ];
    const args = [SERVER_JS, '--port', '0', '--data-file', join(folder, 'pets.json')];
    const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
    const env = { PETSTORE_API_KEYS: KEY, PATH, OTHER: 'secret' };
    const service = startProgram(process.execPath, [...report, ...args], { env });
    t.after(() => end(service, 'SIGKILL'));
    await service.ready();
    assert.doesNotMatch(readFileSync(seen, 'utf8'), new RegExp(`${KEY}|secret`));
    service.child.kill('SIGUSR2');
    await logged(service, 'Node.js report completed');
    assert.doesNotMatch(readFileSync(join(folder, 'report'), 'utf8'), new RegExp(KEY));
  },
);

test('Configuration errors are printed one per line, with exit code 2', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'sub', 'pets.json');
  const args = ['make-kee', '--what', '--data-file', dataFile, '--body-limit=0'];
  const service = startFor(t, args, { env: { PORT: 'x', PETSTORE_API_KEYS: 'a,' } });
  assert.equal(await service.exit(), 2);
  assert.deepEqual(service.stderr().split('\n'), [
    'petstore: Argument 1 is neither an option nor a command: did you mean make-key?',
    'petstore: Unknown option --what: see --help',
    'petstore: PORT must be an integer from 0 to 65535, not "x"',
    'petstore: PETSTORE_API_KEYS, key 2: a key must not be empty',
    'petstore: --body-limit must be an integer from 1 to 5242880, not "0"',
    '',
  ]);
  assert.equal(service.stdout(), '');
  assert.deepEqual(readdirSync(folder), []);
});

test('If the port is in use, the start is refused in one line, and no file is made', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const dataFile = join(tempDir(t), 'pets.json');
  const service = startFor(t, ['--port', String(port), '--data-file', dataFile]);
  const line = `Cannot listen on 127.0.0.1, port ${port}: the port is in use`;
  await assertRefused(service, new RegExp(`^petstore: ${line}\n$`));
  assert.equal(existsSync(dataFile), false);
});

test('If another process has the data file, the start is refused in one line', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const first = startOn(t, dataFile);
  const url = await first.ready();
  await assertRefused(startOn(t, dataFile), /^petstore: .*pets\.json is in use already.*\n$/);
  assert.equal((await addPet(url)).status, 201);
});

/** Data files that cannot be: the path in a folder, what makes it unusable, and the one line. */
const UNUSABLE: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ['pets.json', (path) => mkdirSync(path), /^petstore: .*pets\.json is not a file\n$/],
  // Below a file there is no folder, not for root either.
  [
    'a-file/sub/pets.json',
    (path) => writeFileSync(join(path, '../..'), ''),
    /^petstore: .*a-file.*\n$/,
  ],
  [
    'pets.json',
    (path) => writeFileSync(path, '[{"id":1,"name":"a","categoryId":x}]'),
    /^petstore: .*pets\.json is damaged at byte 33, line 1: .*\n$/,
  ],
  [
    'pets.json',
    (path) => writeFileSync(path, ''),
    /^petstore: .*is damaged at byte 0, line 1: .*\n$/,
  ],
];

for (const [name, make, line] of UNUSABLE) {
  test(`If the data file cannot be used, the start is refused with ${line}`, async (t) => {
    const folder = tempDir(t);
    const path = join(folder, name);
    make(path);
    const textOf = (): string | undefined =>
      existsSync(path) && statSync(path).isFile() ? readFileSync(path, 'utf8') : undefined;
    const before = textOf();
    await assertRefused(startOn(t, path), line);
    assert.equal(textOf(), before);
  });
}

const PROC = { skip: !existsSync('/proc/self') && 'needs /proc' };

test(
  'If no folder can be made for the data file, the start is refused in one line',
  PROC,
  async (t) => {
    // mkdir with `recursive` of node:fs never ends here.
    const service = startOn(t, '/proc/nope/sub/pets.json');
    await assertRefused(service, /^petstore: .*\/proc\/nope.*\n$/);
  },
);
