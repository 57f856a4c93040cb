/** The command line: help, version, and the commands next to serving. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openApp, type App } from '../../src/app.ts';
import { apiKeyErrors } from '../../src/core/app/api-keys.ts';
import type { Logger } from '../../src/core/base/logger.ts';
import { whyUnsupported, VERSION } from '../../src/core/base/version.ts';
import { COMMANDS, HELP } from '../../src/process/commands.ts';
import { diskWithProgress } from '../../src/process/progress.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { listAllPets, startLoad } from '../support/pets/pet-load.ts';
import { requestKey } from '../support/pets/request-keys.ts';
import { petText, REX } from '../support/pets/rex.ts';
import {
  assertRefused,
  end,
  portOf,
  runScript,
  SERVER_JS,
  startFor,
  startOn,
} from '../support/process/process.ts';
import { needs, run } from '../support/process/program.ts';
import { readText } from '../support/project.ts';
import { createRandom } from '../support/random.ts';
import { testScript } from '../support/script.ts';
import { A_PATH, NOT_CONFIGURED, runHere, testCalls, type Call } from './calls.ts';

/** A folder with one data file of each kind. */
const folder = tempDir({
  after: (remove) => after(() => used.close().then(remove)),
});
const at = (name: string): string => join(folder, name);

/** A file with three commits of one pet each, of which the second one has an idempotency key. */
async function makeFile(name: string): Promise<void> {
  const store = await openFileStore({ path: at(name) });
  await store.create(REX);
  await store.createOnce(REX, requestKey(1));
  await store.create(REX);
  await store.close();
}

await makeFile('data/pets.json');
await (await openFileStore({ path: at('without-pets.json') })).close();
const WHOLE = fs.readFileSync(at('data/pets.json'));
const used = await openFileStore({ path: at('used.json') });
for (let pets = 0; pets < 2; pets += 1) await used.create(REX);
const IN_USE = fs.readFileSync(at('used.json'));
const CHANGED = Buffer.from(WHOLE);
CHANGED[WHOLE.indexOf(',{"id":2') + 12]! ^= 1;
const ALL_CHANGED = Buffer.from(WHOLE);
for (const id of [1, 2, 3]) ALL_CHANGED[WHOLE.indexOf(`{"id":${id},`) + 12]! ^= 1;
const array = (...pets: readonly string[]): string => `[${pets.join()}]`;
const WITHOUT_ID = '{"name":"Rex","categoryId":7}';
const OLD_HEADER = '00000000 00000000 {"journal":1,"data":0}\n';

const FILES: Readonly<Record<string, string | Buffer>> = {
  'cut.json': WHOLE.subarray(0, -40),
  'torn.json': IN_USE.subarray(0, -40),
  'short.json': IN_USE.subarray(0, -2),
  'changed.json': CHANGED,
  'all-changed.json': ALL_CHANGED,
  'empty.json': '',
  'text.json': 'pets',
  'array.json': array(petText(3), petText(7)),
  'without-ids.json': array(WITHOUT_ID, WITHOUT_ID),
  'mixed.json': array(petText(1), WITHOUT_ID),
  'descending.json': array(petText(2), petText(1)),
  'strange.json': array('{"id":1,"name":"Rex","categoryId":7,"age":3}'),
  'upgraded.json': array(petText(1)),
  'upgraded.json.journal': OLD_HEADER,
  'crashed.json': array(petText(1)),
  'crashed.json.journal': `${OLD_HEADER}a commit\n`,
  'two.json': array(petText(1)),
  'two.json.saved-20260101T000000000Z': array(petText(1), petText(2)),
  'saved-only.json.saved-20260101T000000000Z': array(petText(1), petText(2)),
  'journal-only.json.journal': OLD_HEADER,
};
for (const [name, content] of Object.entries(FILES)) fs.writeFileSync(at(name), content);
fs.mkdirSync(at('folder'));
fs.linkSync(at('data/pets.json'), at('hard.json'));
fs.symlinkSync('data/pets.json', at('link.json'));
fs.symlinkSync('nowhere.json', at('dangling.json'));
execFileSync('mkfifo', [at('pipe')]);
// As mktemp makes it.
fs.writeFileSync(at('made.json'), '');

const CALLS: readonly Call[] = [
  // Help and version are shown whatever else is given, even mistakes.
  ['--version --help', { PORT: 'a mistake' }, 0, HELP],
  ['--port 1 --version --what', {}, 0, `${VERSION}\n`],
  ...Object.keys(COMMANDS).flatMap((name): readonly Call[] => [
    [`help ${name}`, {}, 0, new RegExp(`^Usage: petstore (${name}\\b|\\[opt)`, 'm')],
    [`${name} --xxxxxxx`, {}, 2, /^petstore: Unknown option --xxxxxxx: see --help\n/],
  ]),
  // All mistakes in variables, flags and the API keys file are reported together.
  [
    'make-kee --what --host= --api-keys-file=keys',
    { PORT: 'x', PETSTORE_BODY_LIMIT: '0', PETSTORE_API_KEYS: 'ok,', PETSTORE_X: '' },
    2,
    `petstore: Argument 1 is neither an option nor a command: did you mean make-key?
petstore: Unknown option --what: see --help
petstore: --host needs a value
petstore: Unknown variable PETSTORE_X: did you mean PORT?
petstore: PORT must be an integer from 0 to 65535, not "x"
petstore: PETSTORE_BODY_LIMIT must be an integer from 1 to 5242880, not 0
petstore: key 2 of PETSTORE_API_KEYS must not be empty
petstore: line 1 of --api-keys-file must have 64 hex digits after sha256:
petstore: line 2 of --api-keys-file repeats the key of key 1 of PETSTORE_API_KEYS
`,
  ],
  ['help no-such-command', {}, 2, 'petstore: Argument 1 is not a command: see --help\n'],
  ['make-key sha256', {}, 2, 'petstore: NAME must not be sha256\n'],
  ['make-key a b', {}, 2, 'petstore: What follows NAME must be read-metrics\n'],
  ['check-data -h', {}, 0, /^Usage: petstore check-data \[FILE\]\n/],
  [
    'check-data',
    { PETSTORE_DATA_FILE: '' },
    1,
    /^petstore: There is no data file .*data\/pets\.json\n$/,
  ],
  ['check-data', { PETSTORE_DATA_FILE: 'mine.json', PETSTORE_MEMORY: 'on' }, 0, /mine\.json: 0 /],
  ['check-data', { PETSTORE_MEMORY: 'on' }, 2, NOT_CONFIGURED],
  // A script whose variable for the file is empty.
  ['check-data ', {}, 2, `petstore: FILE must be ${A_PATH}, not ""\n`],
  ['backup ', {}, 2, `petstore: FILE must be ${A_PATH}, not ""\n`],
  ['import ', {}, 2, `petstore: FROM must be ${A_PATH}, not ""\n`],
  ['check-data x/', {}, 2, `petstore: FILE must be ${A_PATH}, not "x/"\n`],
  [
    'check-data',
    { PETSTORE_DATAFILE: 'mine.json', PETSTORE_DATA_FILE: 'x/', PETSTORE_MEMORY: 'x' },
    2,
    `petstore: Unknown variable PETSTORE_DATAFILE: did you mean PETSTORE_DATA_FILE?
petstore: PETSTORE_MEMORY must be on or off, not "x"
petstore: PETSTORE_DATA_FILE must be ${A_PATH}, not "x/"
`,
  ],
];

testCalls(CALLS);

/** What no command changes. */
const KEPT = Object.entries({ ...FILES, 'data/pets.json': WHOLE, 'used.json': IN_USE });

/** Runs a command in the folder. Resolves with its exit code, and all that it wrote. */
async function petstore(args: string): Promise<string> {
  const { code, stdout, stderr } = await runHere(args.split(' '), folder);
  return `${code} ${stdout}${stderr}`.replaceAll(`${folder}/`, '');
}

testScript('process/commands.script', async () => {
  const printed: string[] = [];
  return {
    printed,
    run: async (command) => void printed.push(...(await petstore(command)).trimEnd().split('\n')),
    async end() {
      for (const [name, content] of KEPT) {
        assert.equal(fs.readFileSync(at(name), 'utf8'), String(content));
      }
      assert.doesNotMatch(fs.readdirSync(folder).join(), /unfinished/);
    },
  };
});

/** Files with which a service in memory begins, its pets, and what it logs. */
const IN_MEMORY: readonly (readonly [name: string, ids: readonly bigint[], ...logged: string[]])[] =
  [
    ['data/pets.json', [1n, 2n, 3n]],
    ['used.json', [1n, 2n]],
    ['array.json', [3n, 7n]],
    ['without-ids.json', [1n, 2n]],
    ['upgraded.json', [1n]],
    ['torn.json', [1n], 'warn: The data file ends with a commit that is not complete'],
  ];

test('A service in memory begins with the pets of a data file of any kind, and changes nothing', async () => {
  const logged: string[] = [];
  const log: Logger = (level, event) => void logged.push(`${level}: ${event}`);
  const open = (name: string): Promise<App> =>
    openApp({ memory: { dataFile: at(name) }, apiKeys: ['a-key'], log });
  for (const [name, ids, ...events] of IN_MEMORY) {
    const before = fs.readFileSync(at(name));
    const app = await open(name);
    const found = (await app.pets.list()).pets.map(({ id }) => id);
    await app.close();
    const kept = fs.readFileSync(at(name));
    assert.deepEqual([found, logged.splice(0), kept], [ids, events, before]);
  }
  for (const name of ['changed.json', 'cut.json', 'empty.json', 'crashed.json', 'none.json']) {
    await assert.rejects(open(name), /(damaged|release 2 has pets|no data file)/);
  }
  await assert.rejects(open('pipe'), /pipe is a pipe: write its pets to a file/);
});

test('Backups and checks beside a service under load have each pet that was acknowledged before', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const copy = join(tempDir(t), 'copy.json');
  const service = startOn(t, dataFile);
  const port = await portOf(service);
  const ledger = new PetLedger();
  const load = startLoad(port, ledger, createRandom(1), 6, true);
  for (let round = 0; round < rounds(2, 20); round += 1) {
    await load.answered(10);
    const { answered } = ledger;
    const checked = await petstore(`check-data ${dataFile}`);
    assert.match(checked, /^0 .*\n(.*keys?\n)?A service uses the file, /);
    const shown = await petstore(`backup ${copy} --data-file ${dataFile} --replace`);
    const pets = Number(/^0 \S+: ([0-9]+) pets?, /.exec(shown)?.[1]);
    // Each client may have stored one that was not answered, and sent some since.
    assert.ok(pets >= answered, shown);
    assert.match(await petstore(`check-data ${copy}`), new RegExp(`^0 .*: ${pets} pets?, `));
  }
  load.stop();
  await load.ended;
  ledger.check(await listAllPets(port));
  assert.match(await petstore(`backup ${copy} --data-file ${dataFile} --replace`), /^0 /);
  assert.equal(await end(service, 'SIGTERM'), 0);
  const restored = startOn(t, copy);
  ledger.check(await listAllPets(await portOf(restored)));
});

test(
  'A large file shows on a terminal how far a command is, and nothing elsewhere',
  needs('python3'),
  (t) => {
    const from = join(tempDir(t), 'large.json');
    const pet = (id: number): string =>
      JSON.stringify({ id, name: 'x'.repeat(60_000), categoryId: 1 });
    fs.writeFileSync(
      from,
      `[\n${Array.from({ length: 500 }, (_, id) => pet(id + 1)).join(',\n')}\n]\n`,
    );
    const command = [SERVER_JS, 'import', from, '--data-file', `${from}.new`];
    const script = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))';
    const { text } = run('python3', ['-c', script, process.execPath, ...command]);
    assert.match(text, /Reading \S+large\.json: 6\d % \r/);
    assert.match(text, /Writing \S+: 2\d MiB \r\x1b\[K\r\S+: 500 pets, .*\r\n$/);
    const elsewhere = run(process.execPath, [SERVER_JS, 'check-data', from]);
    assert.match(elsewhere.text, /^\S+: 500 pets, the greatest id is 500\nIt has no marks.*\n$/);
  },
);

test('A command beyond 2 GiB shows how far it is, too', async (t) => {
  const path = join(tempDir(t), 'large.json');
  const shown: string[] = [];
  const file = await diskWithProgress((text) => shown.push(text)).open(path, 'create');
  await file.write(Buffer.from('x'), 3 * 2 ** 30);
  await file.close();
  assert.deepEqual(shown, [`Writing ${path}: 3072 MiB `]);
});

test('make-key prints another API key each time, and its line, with the name and the right that are given', async () => {
  const lines: readonly (readonly [args: readonly string[], name: string, right: string])[] = [
    [[], '', ''],
    [['shop-2026'], 'shop-2026: ', ''],
    [['read-metrics'], '', ' read-metrics'],
    [['prometheus', 'read-metrics'], 'prometheus: ', ' read-metrics'],
  ];
  const keys = new Set<string>();
  for (const [args, name, right] of lines) {
    const words = ['make-key', ...args];
    // One of them through npm's start script.
    const { stdout } = await (args.length === 2
      ? runScript('start.mjs', words)
      : runHere(words, folder));
    const [, key = '', line] = /^# .*\n(\S{32,})\n# .*\n(.*)\n$/.exec(stdout) ?? [];
    const digest = createHash('sha256').update(key).digest('hex');
    assert.equal(line, `${name}sha256:${digest}${right}`);
    assert.deepEqual(apiKeyErrors([key], 'keys'), []);
    keys.add(key);
  }
  assert.equal(keys.size, lines.length);
});

test(
  'A command whose output cannot be written says so, and exits with 1',
  { skip: !fs.existsSync('/dev/full') },
  () => {
    const script = '"$0" "$1" make-key shop > /dev/full';
    const { status, text } = run('sh', ['-c', script, process.execPath, SERVER_JS]);
    assert.equal(text, 'petstore: Standard output: ENOSPC: no space left on device, write\n');
    assert.equal(status, 1);
  },
);

test('The way back to release 2 that the changelog shows makes a file that this release reads, too', async () => {
  const [recipe = ''] =
    /sed -E '.*' pets\.json > other\.json/.exec(readText('src/CHANGELOG.md')) ?? [];
  await makeFile('back/pets.json');
  const { status, text } = run('sh', ['-c', `cd '${at('back')}' && ${recipe}`]);
  assert.equal(status, 0, text);
  assert.doesNotMatch(fs.readFileSync(at('back/other.json'), 'utf8'), /idempotencyKey/);
  const { stdout } = await runHere(['check-data', 'back/other.json'], folder);
  assert.match(stdout, /: 3 pets, the greatest id is 3\nIt has no marks/);
});

test('A Node.js that is older than package.json demands is refused', async (t) => {
  const { engines } = JSON.parse(readText('package.json')) as { engines: { node: string } };
  assert.equal(engines.node, '^20.19.2 || >=22.15.1');
  const older = ['v18.20.8', 'v20.18.3', 'v20.19.1', 'v21.9.0', 'v22.9.0', 'v22.15.0'];
  const others = ['v20.19.2', 'v20.20.0', 'v22.15.1', 'v22.16.0', 'v23.0.0', 'v26.0.0-rc.1'];
  const refused = [...older, ...others].filter((version) => whyUnsupported(version));
  assert.deepEqual(refused, older);
  const hook = `Object.defineProperty(process, 'version', { value: 'v20.18.0' })`;
  const service = startFor(t, ['--memory', '--port', '0'], { hook });
  const needed = 'Node.js 20 from 20.19.2 on, or 22.15.1 or later, is needed, not v20.18.0';
  await assertRefused(service, new RegExp(`^petstore: ${needed}\n$`));
});
