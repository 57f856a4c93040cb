/** The command line: help, version, and the commands next to serving. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { apiKeyProblems } from '../../src/app/api-keys.ts';
import { nodeVersionProblem, VERSION } from '../../src/base/version.ts';
import type { Command, Context } from '../../src/base/command-line.ts';
import { COMMANDS, HELP, runProgram } from '../../src/process/commands.ts';
import {
  assertRefused,
  runNode,
  runScript,
  SERVER_JS,
  startFor,
} from '../support/process/process.ts';
import { readText } from '../support/project.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const NO_FILE = /^petstore: There is no data file .*data\/pets\.json\n$/;
const NOT_CONFIGURED = /^petstore: As configured, the service has no data file: /;
const URLS = 'must be 1 to 100 URLs such as http://127.0.0.1:2379, without a path or a password';
const A_PATH = 'the path of a file, without a slash at its end, or its file: URL';
const ENDS = 'Expected --from and --to-etcd, or --from-etcd and --to: see --help';

type Env = Readonly<Record<string, string>>;

/** Arguments, environment, exit code, and all of the one stream that is not empty. */
const CALLS: readonly (readonly [string, Env, number, string | RegExp])[] = [
  // Help and version are shown whatever else is given, even mistakes.
  ['--help', { PORT: 'a mistake' }, 0, HELP],
  ['-h', {}, 0, HELP],
  ['--version --help', {}, 0, HELP],
  ['--port 1 --version --what', {}, 0, `${VERSION}\n`],
  ...Object.keys(COMMANDS).flatMap((name): readonly (typeof CALLS)[number][] => [
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
  ['check-data -h', {}, 0, /^Usage: petstore check-data \[FILE\]\n/],
  ['check-data none.json', {}, 1, /^petstore: There is no data file .*none\.json\n$/],
  ['check-data', {}, 1, NO_FILE],
  ['check-data', { PETSTORE_DATA_FILE: '' }, 1, NO_FILE],
  ['check-data', { PETSTORE_DATA_FILE: 'mine.json', PETSTORE_MEMORY: 'on' }, 0, /mine\.json: 0 /],
  ['check-data', { PETSTORE_MEMORY: 'on' }, 2, NOT_CONFIGURED],
  ['check-data', { PETSTORE_ETCD: 'http://e:1' }, 2, NOT_CONFIGURED],
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
  ['init-etcd', {}, 2, `petstore: PETSTORE_ETCD or --etcd ${URLS}\n`],
  ['init-etcd --etcd', {}, 2, 'petstore: --etcd needs a value\n'],
  ['init-etcd', { PETSTORE_ETCD: 'e:1' }, 2, /^petstore: PETSTORE_ETCD must be URLs/],
  ...['copy-pets', 'copy-pets --from a --to b'].map((args): (typeof CALLS)[number] => {
    return [args, { PETSTORE_ETCD: 'nope' }, 2, `petstore: ${ENDS}\n`];
  }),
  [
    'copy-pets --from= --to-etcd nope --etcd-prefix x',
    {},
    2,
    /^petstore: --from needs a value\npetstore: --to-etcd must .*\npetstore: --etcd-prefix must .*\n$/,
  ],
  [
    'copy-pets --from a/ --to-etcd',
    {},
    2,
    `petstore: --to-etcd needs a value\npetstore: --from must be ${A_PATH}, not "a/"\n`,
  ],
  // It does not check the settings of the service that are not for etcd.
  [
    'copy-pets --to a --from-etcd http://e:1 --etcd-prefix x',
    {
      ...{ PETSTORE_API_KEYS_FILE: '/nowhere', PORT: 'x', PETSTORE_ETC: 'x' },
      ...{ PETSTORE_ETCD: 'not this', PETSTORE_ETCD_USER: 'pets', PETSTORE_ETCD_TLS: 'x' },
    },
    2,
    /^petstore: Unknown variable PETSTORE_ETCD_TLS.*\npetstore: --etcd-prefix must.*\npetstore: PETSTORE_ETCD_USER requires PETSTORE_ETCD_PASSWORD_FILE\n$/,
  ],
];

/** Runs a command in this process, which takes a tenth of the time of another one. */
async function runHere(args: readonly string[], cwd: string, env: Env) {
  let [stdout, stderr] = ['', ''];
  const context: Context = {
    env,
    print: (text) => void (stdout += text.endsWith('\n') ? text : `${text}\n`),
    printError: (text) => void (stderr += `petstore: ${text}\n`),
    showProgress: () => undefined,
  };
  const before = process.cwd();
  process.chdir(cwd);
  const service: Command = { usage: HELP, read: () => assert.fail('It is a command') };
  const code = await runProgram(args, service, context).finally(() => process.chdir(before));
  return { code, stdout, stderr };
}

for (const [args, env, code, output] of CALLS) {
  test(`petstore ${args} with ${JSON.stringify(env)} exits with ${code}`, async (t) => {
    const cwd = tempDir(t);
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'mine.json'), '[]');
    writeFileSync(join(cwd, 'keys'), 'sha256:12\nok\n');
    const words = args.split(' ');
    const isCommand = words[0]! in COMMANDS;
    const run = isCommand
      ? await runHere(words, cwd, env)
      : await runNode([SERVER_JS, ...words], { cwd, env });
    assert.equal(run.code, code);
    const [text, empty] = code === 0 ? [run.stdout, run.stderr] : [run.stderr, run.stdout];
    if (typeof output === 'string') assert.equal(text, output);
    else assert.match(text, output);
    assert.equal(empty, '');
  });
}

test('make-key prints another API key each time, and its line, with a name if one is given', async () => {
  const keys: string[] = [];
  for (const args of [[], ['shop-2026']]) {
    const { stdout } = await runScript('start.mjs', ['make-key', ...args]);
    const [, key = '', name, digest] =
      /^# .*\n(\S{32,})\n# .*\n(.*)sha256:(.*)\n$/.exec(stdout) ?? [];
    assert.equal(name, args.map((arg) => `${arg}: `).join());
    assert.equal(digest, createHash('sha256').update(key).digest('hex'));
    assert.deepEqual(apiKeyProblems([key], 'keys'), []);
    keys.push(key);
  }
  assert.notEqual(keys[0], keys[1]);
});

test('A Node.js that is older than package.json demands is refused', async (t) => {
  const { engines } = JSON.parse(readText('package.json')) as { engines: { node: string } };
  assert.equal(engines.node, '^20.19.2 || >=22.15.1');
  const older = ['v18.20.8', 'v20.18.3', 'v20.19.1', 'v21.9.0', 'v22.9.0', 'v22.15.0'];
  const others = ['v20.19.2', 'v20.20.0', 'v22.15.1', 'v22.16.0', 'v23.0.0', 'v26.0.0-rc.1'];
  const refused = [...older, ...others].filter((version) => nodeVersionProblem(version));
  assert.deepEqual(refused, older);
  const hook = `Object.defineProperty(process, 'version', { value: 'v20.18.0' })`;
  const service = startFor(t, ['--memory', '--port', '0'], { hook });
  const needed = 'Node.js 20 from 20.19.2 on, or 22.15.1 or later, is needed, not v20.18.0';
  await assertRefused(service, new RegExp(`^petstore: ${needed}\n$`));
});
