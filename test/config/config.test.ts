/**
 * The configuration of the process. Its settings: each is read alike from its variable and from its
 * flag, and each mistake is reported once, under the name that was typed, without a password. Its
 * API keys: the variable, the file, its lines, and what can be a key. The settings of an extra are
 * in a file of its name.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs';
import { platform, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { apiKeyErrors, type ApiKeyOption } from '../../src/core/app/api-keys.ts';
import { readApiKeys, readApiKeysFile } from '../../src/process/read-api-keys.ts';
import { HELP } from '../../src/process/commands.ts';
import { PROCESS_SETTINGS } from '../../src/process/config.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { until } from '../support/until.ts';
import {
  assertDisguisesRefused,
  mistakesIn,
  read,
  testMistakes,
  testOptions,
  testSetting,
} from './read.ts';

const HUGE = '99999999999999999999';
const A_PATH = 'the path of a file, without a slash at its end, or its file: URL';

for (const row of [
  [
    'port',
    { 0: 0, 8081: 8081, 65535: 65_535, '0080': 80 },
    'an integer from 0 to 65535',
    ['x', '-1', '65536', '1.5', '1e3', '0x50', ' 80', '80 ', '+80', HUGE],
  ],
  [
    'host',
    { '0.0.0.0': '0.0.0.0', '::1': '::1', 'my-host.example': 'my-host.example' },
    'an address or a name of this machine, such as 127.0.0.1',
    ['http://127.0.0.1', '127.0.0.1:80', '[::1]'],
  ],
  ['prefix', { '/a/b.c~d_e-f': '/a/b.c~d_e-f' }, 'segments such as /shop', ['shop', '/shop/']],
  [
    'dataFile',
    { 'a b/ü.json': resolve('a b/ü.json'), '-x': resolve('-x'), 'file:///p.json': '/p.json' },
    A_PATH,
    ['pets/', 'file://host/x'],
  ],
  ['bodyLimitBytes', { 1: 1, 5242880: 5_242_880 }, 'an integer from 1 to 5242880', ['0', '1.5']],
  ['idleTimeout', { 1: 1, 86400: 86_400 }, 'an integer from 1 to 86400', ['0', '86401', '65s']],
] as const) {
  testSetting(row);
}

const DEFAULTS = { dataFile: resolve('data/pets.json') };

testOptions([
  ['', {}, DEFAULTS],
  ['', Object.fromEntries(PROCESS_SETTINGS.map(({ variable }) => [variable, ''])), DEFAULTS],
  ['--memory --port=8080', {}, { memory: true }],
  ['--memory off', {}, DEFAULTS],
  // In memory, a data file is used only if it is named.
  ['--memory', { PETSTORE_DATA_FILE: 'p.json' }, { memory: { dataFile: resolve('p.json') } }],
]);

test('A text that only looks like a path or an address is refused, and quoted', async () => {
  assert.equal(await assertDisguisesRefused(/^(?!etcd)/), 4);
  const { options, mistakes } = await read({ PETSTORE_DATA_FILE: './~/$x "y"' }, []);
  assert.deepEqual([options['dataFile'], mistakes], [resolve('~/$x "y"'), []]);
});

const NPM = {
  npm_package_name: 'petstore',
  npm_lifecycle_event: 'start',
  npm_config_prefix: '/usr',
};

test('A flag that npm took for itself is a mistake, with the way to pass it on', async () => {
  const took = (flag: string): string =>
    `npm took --${flag} for itself: write npm start -- --${flag}`;
  for (const [args, env, expected] of [
    [[], {}, []],
    [[], { npm_config_memory: 'true' }, [took('memory')]],
    [[], { npm_config_port: '1', npm_config_data_file: 'x' }, [took('port'), took('data-file')]],
    [['8091'], { npm_config_port: 'true' }, ['Unexpected argument 1: see --help', took('port')]],
    [
      ['8091'],
      { npm_config_parseable: 'true' },
      [
        'Unexpected argument 1: see --help',
        'npm passes on only what stands after --, as in npm start -- --port 8080',
      ],
    ],
  ] as const) {
    assert.deepEqual(await mistakesIn({ ...NPM, ...env }, args), expected);
    const elsewhere = { ...NPM, ...env, npm_package_name: 'shop' };
    assert.deepEqual(await mistakesIn(elsewhere, args), expected.slice(0, args.length));
    // `npx --no petstore --memory`, in a project that has installed the package.
    const npx = { npm_lifecycle_event: 'npx', npm_lifecycle_script: "'petstore'", ...env };
    assert.deepEqual(
      await mistakesIn(npx, args),
      expected.map((mistake) => mistake.replace('npm start --', 'npx --no -- petstore')),
    );
    const another = { ...npx, npm_lifecycle_script: 'vitest' };
    assert.deepEqual(await mistakesIn(another, args), expected.slice(0, args.length));
  }
});

testMistakes([
  ['--memory --data-file x/', `--data-file must be ${A_PATH}, not "x/"`],
  ...[
    ['PETSTORE_DATAFILE=x', 'PETSTORE_DATA_FILE'],
    ['PETSTORE_PORT=9999', 'PORT'],
    ['PETSTORE_HTTP_PORT=9999', 'PORT'],
    ['PETSTORE_SERVICE_X=', 'PETSTORE_PREFIX'],
    ['PETSTORE_KEY=x', 'PETSTORE_API_KEYS'],
    ['PETSTORE_KEYS_FILE=x', 'PETSTORE_API_KEYS_FILE'],
    ['PETSTORE_USER=x', 'PETSTORE_ETCD_USER'],
  ].map(([given = '', meant]) => {
    return [given, `Unknown variable ${given.split('=')[0]}: did you mean ${meant}?`] as const;
  }),
]);

test('Variables that Kubernetes sets for Services named petstore or petstore-… are ignored', async () => {
  for (const service of ['PETSTORE', 'PETSTORE_ETCD', 'PETSTORE_V2_API']) {
    const ends = ['SERVICE_HOST', 'SERVICE_PORT', 'SERVICE_PORT_HTTP', 'PORT_80_TCP_ADDR'];
    const env = Object.fromEntries(ends.map((end) => [`${service}_${end}`, '80']));
    for (const url of ['tcp://10.0.0.1:80', 'udp://[fd00::1]:80', '']) {
      assert.deepEqual(await mistakesIn({ ...env, [`${service}_PORT`]: url }, []), []);
    }
  }
});

test('The help has each variable and each flag, once', () => {
  const names = PROCESS_SETTINGS.flatMap(({ variable, flag }) => [variable, `--${flag || 'help'}`]);
  for (const name of new Set([...names, '--help', '--version'])) {
    assert.equal(HELP.match(new RegExp(`\\s${name}\\s`, 'g'))?.length, 1, name);
  }
});

const SECRET = 'Secret-4711';
const HEX = createHash('sha256').update(SECRET).digest('hex');
const DIGEST = `sha256:${HEX}`;

const VISIBLE = 'must be of visible ASCII characters, without a space';
const LINE = 'must be [NAME: ]KEY[ read-metrics], with spaces only between the parts';
const CHARACTERS = 'must be 1 to 64 letters, digits, dots, underscores and hyphens';
const NOT_HEX = 'must have 64 hex digits after sha256:';
const LIKE_A_DIGEST =
  'looks like a digest: write sha256: before its 64 hex digits, or give the digest of this key';

const OTHER_DIGEST =
  'looks like a digest: write it as sha256: and 64 hex digits, after a space if it has a name';

/** Reads a configuration with this API keys file. */
const readFile = (keys: string): ReturnType<typeof read> =>
  read({}, ['--api-keys-file=keys'], { keys });

test('PETSTORE_API_KEYS has at most 1,000 keys and digests, separated by commas', async () => {
  const many = Array.from({ length: 1000 }, (_, index) => `key-${index}`);
  for (const [text, expected] of [
    [' a , b\n', ['a', 'b']],
    [`#a,${DIGEST}`, ['#a', DIGEST]],
    [many.join(), many],
  ] as const) {
    const { config, apiKeys, mistakes } = await read({ PETSTORE_API_KEYS: text }, []);
    assert.deepEqual([apiKeys, mistakes, config.generatedKey], [expected, [], undefined]);
  }
  for (const [PETSTORE_API_KEYS, mistake] of [
    ['a,', 'key 2 of PETSTORE_API_KEYS must not be empty'],
    [HEX, `key 1 of PETSTORE_API_KEYS ${LIKE_A_DIGEST}`],
    ['"a"', 'PETSTORE_API_KEYS must be without quotes around it'],
    [" 'a,b'\n", 'PETSTORE_API_KEYS must be without quotes around it'],
    ['a,"b"', 'key 2 of PETSTORE_API_KEYS must be without quotes around it'],
    [`a,${many.join()}`, 'PETSTORE_API_KEYS must be at most 1000 API keys, not 1001'],
  ] as const) {
    assert.deepEqual(await mistakesIn({ PETSTORE_API_KEYS }, []), [mistake]);
  }
});

test('A line of the API keys file is a key, perhaps with a name and read-metrics', async () => {
  const named = (key: string, name?: string, only?: 'metrics'): unknown => ({ key, name, only });
  const plain = (...keys: readonly string[]): readonly unknown[] => keys.map((key) => named(key));
  for (const [text, expected] of [
    ['a\r\nb\r\n', plain('a', 'b')],
    ['\n\n# the first\n  a#b  \n\t\n#b\n  # c\nd,e', plain('a#b', 'd,e')],
    [`\ufeffa\n${DIGEST}\n`, plain('a', DIGEST)],
    [`shop:\t \t${DIGEST}`, [named(DIGEST, 'shop')]],
    ['p: : read-metrics', [named(':', 'p', 'metrics')]],
    ['a  read-metrics\r', [named('a', undefined, 'metrics')]],
    // Lines without a blank are keys.
    ['shop:a\nshop:\nread-metrics', plain('shop:a', 'shop:', 'read-metrics')],
  ] as const) {
    const { apiKeys, mistakes } = await readFile(text);
    assert.deepEqual([apiKeys, mistakes], [expected, []], JSON.stringify(text));
  }
});

/** Wrong lines by the mistake that each of them has. Those of a key are in KEYS. */
const WRONG_LINES: readonly (readonly [mistake: string, lines: readonly string[]])[] = [
  [LINE, [`${SECRET} ${SECRET}`, `shop: ${SECRET} read-metric`, `shop: ${SECRET} # a note`]],
  [LINE, [`shop: ${SECRET} read-metrics ${SECRET}`, `shop : ${SECRET}`, `a: b: ${SECRET}`]],
  [`has a name, which ${CHARACTERS}`, [`: ${SECRET}`, `sh/op: ${SECRET}`]],
  ['has a name, which must not be sha256', [`sha256: ${HEX}`]],
  [LIKE_A_DIGEST, [`shop: ${HEX}`]],
  [LINE, ['shop: read-metrics', 'shop: #later', 'shop: ', ' shop:\t\r', ' read-metrics']],
  [VISIBLE, [`shop: ${SECRET}\u00a0x`]],
];

test('Any other line of the API keys file is a mistake, which quotes no part of it', async () => {
  for (const [mistake, lines] of WRONG_LINES) {
    const expected = [`line 2 of --api-keys-file ${mistake}`];
    for (const line of lines) {
      assert.deepEqual((await readFile(`good-key\n${line}\n`)).mistakes, expected, line);
    }
  }
});

test('An API keys file that is missing, or without a key, is a mistake', async () => {
  for (const keys of ['', '# none\n']) {
    const { mistakes } = await readFile(keys);
    assert.deepEqual(mistakes, ['--api-keys-file must have at least one API key']);
  }
  const shown = ['/etc/petstore/keys', './keys', '../a-b/keys.txt'];
  // They may be API keys that were meant for the other variable.
  const hidden = [SECRET, 'keys', DIGEST, 'a/b+c=', '/aB3/x+y', '/kEyThatIsLongerThanAFolder24'];
  for (const path of [...shown, ...hidden]) {
    const quoted = shown.includes(path) ? ` (${path})` : '';
    const mistake = `PETSTORE_API_KEYS_FILE${quoted} cannot be read: ENOENT: no such file or directory`;
    assert.deepEqual(await mistakesIn({ PETSTORE_API_KEYS_FILE: path }, []), [mistake]);
  }
  // A user who may not read the file is named.
  const file = { name: 'FILE', text: '/etc/keys' };
  const { mistakes } = await readApiKeys({ file }, async (path) => {
    throw new Error(`EACCES: permission denied, open '${path}'`);
  });
  const cause = `by the user ${userInfo().username}: EACCES: permission denied`;
  assert.deepEqual(mistakes, [`FILE (/etc/keys) cannot be read ${cause}`]);
});

test('The first twenty mistakes of an API keys file are reported, and how many more', async () => {
  const { mistakes } = await readFile('a b\n'.repeat(10_000));
  assert.equal(mistakes.length, 21);
  assert.equal(mistakes[19], `line 20 of --api-keys-file ${LINE}`);
  assert.equal(mistakes[20], '9980 more are wrong');
  assert.equal((await readFile('a\n'.repeat(900))).mistakes.length, 21);
  // To read more would occupy the process for seconds.
  const tooLong = await readFile('a b\n'.repeat(10_001));
  assert.deepEqual(tooLong.mistakes, [
    '--api-keys-file cannot be read: it has more than 10000 lines',
  ]);
});

/** Texts by the mistake that each of them has as a key; none quotes its key. */
const KEYS: readonly (readonly [mistake: string | undefined, keys: readonly string[]])[] = [
  [undefined, ['a', 'k'.repeat(4096), '!~', '~a', '$a-b', '"a', "a'", 'a,b', '#k', 'a:b']],
  [undefined, ['sha256', 'xSHA256:', DIGEST, `shop-${HEX}`, `x${DIGEST}x`]],
  ['must not be empty', ['']],
  ['must not be longer than 4096 bytes', ['k'.repeat(4097)]],
  ['must be without quotes around it', ['"a"', "'$a'"]],
  [
    'is the name of a variable, which only a shell replaces',
    ['$KEY', '${KEY}', '${KEY:-x}', '$(cat/key)'],
  ],
  [LIKE_A_DIGEST, [HEX, HEX.toUpperCase()]],
  [OTHER_DIGEST, [`shop:${DIGEST}`, `shop:SHA-256:${HEX}`, `sha256=${HEX}`, `sha256${HEX}`]],
  [VISIBLE, [' ', 'a b', 'a\n', 'a\0', 'schlüssel', 'a\u2028']],
  [NOT_HEX, ['sha256:', DIGEST.slice(0, -1), `${DIGEST}0`, `${DIGEST.slice(0, -1)}g`]],
  ['must have sha256: in small letters', ['SHA256:abc', DIGEST.replace('sha', 'Sha')]],
];

const NAMES: typeof KEYS = [
  [undefined, ['a', 'shop-2026', 'A.b_c-9', 'n'.repeat(64), 'sha256x']],
  [CHARACTERS, ['', 'n'.repeat(65), 'a b', 'a:b', 'ä', 'a"', 'a\n', 'a/b']],
  ['must not be sha256', ['sha256', 'SHA256', 'Sha256']],
];

test('A text is a key or a name, except for a reason that does not quote it', () => {
  const mistakeOf = (option: ApiKeyOption): string | undefined =>
    apiKeyErrors([option], 'keys')[0]?.sentence;
  for (const [mistake, keys] of KEYS) {
    for (const key of keys) assert.equal(mistakeOf(key), mistake, key);
  }
  for (const [mistake, names] of NAMES) {
    const expected = mistake && `has a name, which ${mistake}`;
    for (const name of names) assert.equal(mistakeOf({ key: 'k', name }), expected, name);
  }
});

test('A duplicate name or key is refused, and so is a key with its digest', () => {
  const [upper, sentence] = [`sha256:${HEX.toUpperCase()}`, 'repeats the key of'];
  const again = [{ option: 'keys[1]', sentence, other: 'keys[0]' }];
  for (const keys of [
    ['a', 'a'],
    [SECRET, DIGEST],
    [{ key: DIGEST, name: 'x' }, SECRET],
    [DIGEST, upper],
  ]) {
    assert.deepEqual(apiKeyErrors(keys, 'keys'), again);
  }
  const names = ['x', 'X'].map((name) => ({ key: `key-${name}`, name }));
  assert.deepEqual(apiKeyErrors(names, 'keys'), []);
});

const POSIX = { skip: platform() === 'win32' && 'Windows has no such files' };

test(
  'An API keys file, a pipe or a device is read to its end, up to 1 MiB and for five seconds',
  POSIX,
  async (t) => {
    const file = join(tempDir(t), 'file');
    for (const text of ['', 'é'.repeat(1 << 19)]) {
      writeFileSync(file, text);
      assert.equal(await readApiKeysFile(file), text);
    }
    writeFileSync(file, 'x'.repeat((1 << 20) + 1));
    for (const path of [file, '/dev/zero']) {
      await assert.rejects(readApiKeysFile(path), /^Error: it is longer than 1048576 bytes$/);
    }
    const path = join(tempDir(t), 'keys');
    execFileSync('mkfifo', [path]);
    // The clock is looked at after each read that brings nothing; then it moves.
    let [now, step] = [0, 1];
    t.mock.method(performance, 'now', () => (now += step));
    const text = readApiKeysFile(path).finally(() => (now = Infinity));
    const hasWaited = (enough = now + 3): Promise<void> => until(() => now >= enough);
    // For a writer, and for what it writes.
    await hasWaited();
    const pipe = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    await hasWaited();
    writeSync(pipe, 'a\n');
    closeSync(pipe);
    assert.equal(await text, 'a\n');
    [now, step] = [0, 1000];
    await assert.rejects(readApiKeysFile(path), /^Error: it did not end within 5000 ms$/);
    assert.ok(now > 5000);
  },
);
