/** The configuration: each setting, each way to give it, and every mistake at once. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { readApiKeys } from '../src/api-keys/read-api-keys.ts';
import { HELP } from '../src/commands/help.ts';
import { COMMANDS } from '../src/commands/commands.ts';
import { readConfig, type Config, type ConfigResult } from '../src/config.ts';

type Env = Readonly<Record<string, string>>;

const DEFAULTS: Config = {
  port: 8080,
  host: '127.0.0.1',
  dataFile: 'data/pets.json',
  memory: false,
  etcd: undefined,
  prefix: '',
  apiKeySource: { fixed: [], file: undefined },
  bodyLimitBytes: 65_536,
  accessLog: false,
  corsOrigins: [],
  page: true,
};

const SECRET = 'Secret-4711';
const DIGEST = `sha256:${createHash('sha256').update(SECRET).digest('hex')}`;

test('Without any variable or flag the defaults hold', async () => {
  assert.deepEqual(await read({}, []), { kind: 'run', config: DEFAULTS, apiKeys: [] });
});

const SETTINGS: readonly {
  readonly variable: string;
  readonly flag: string;
  readonly key:
    | 'port'
    | 'host'
    | 'prefix'
    | 'dataFile'
    | 'bodyLimitBytes'
    | 'accessLog'
    | 'corsOrigins'
    | 'page';
  readonly values: readonly (readonly [text: string, value: unknown])[];
}[] = [
  {
    variable: 'PORT',
    flag: '--port',
    key: 'port',
    values: [
      ['0', 0],
      ['1', 1],
      ['8081', 8081],
      ['65535', 65_535],
      ['0080', 80],
    ],
  },
  {
    variable: 'HOST',
    flag: '--host',
    key: 'host',
    values: [
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '::1'],
      ['pets.example', 'pets.example'],
    ],
  },
  {
    variable: 'PETSTORE_PREFIX',
    flag: '--prefix',
    key: 'prefix',
    values: [
      ['/shop', '/shop'],
      ['/a/b.c~d_e-f', '/a/b.c~d_e-f'],
    ],
  },
  {
    variable: 'PETSTORE_ACCESS_LOG',
    flag: '--access-log',
    key: 'accessLog',
    values: [
      ['on', true],
      ['off', false],
    ],
  },
  {
    variable: 'PETSTORE_PAGE',
    flag: '--page',
    key: 'page',
    values: [
      ['off', false],
      ['on', true],
    ],
  },
  {
    variable: 'PETSTORE_CORS_ORIGIN',
    flag: '--cors-origin',
    key: 'corsOrigins',
    values: [
      ['*', ['*']],
      ['https://shop.example', ['https://shop.example']],
      ['http://a.example:8000, https://b.example', ['http://a.example:8000', 'https://b.example']],
    ],
  },
  {
    variable: 'PETSTORE_DATA_FILE',
    flag: '--data-file',
    key: 'dataFile',
    values: [
      ['pets.json', 'pets.json'],
      ['/tmp/a b/ü.json', '/tmp/a b/ü.json'],
      ['-x', '-x'],
    ],
  },
  {
    variable: 'PETSTORE_BODY_LIMIT',
    flag: '--body-limit',
    key: 'bodyLimitBytes',
    values: [
      ['1', 1],
      ['65537', 65_537],
      ['5242880', 5_242_880],
    ],
  },
];

for (const { variable, flag, key, values } of SETTINGS) {
  test(`${variable} and ${flag} set ${key}, and the flag counts`, async () => {
    for (const [text, value] of values) {
      const expected = { kind: 'run', config: { ...DEFAULTS, [key]: value }, apiKeys: [] };
      assert.deepEqual(await read({ [variable]: text }, []), expected);
      assert.deepEqual(await read({}, [`${flag}=${text}`]), expected);
      assert.deepEqual(await read({}, [flag, text]), expected);
      assert.deepEqual(await read({ [variable]: 'not this' }, [flag, text]), expected);
    }
  });
}

test('A variable that is empty counts as not set', async () => {
  const names = SETTINGS.map(({ variable }) => variable);
  const empty = [...names, 'PETSTORE_API_KEYS', 'PETSTORE_API_KEYS_FILE'];
  const env = Object.fromEntries(empty.map((name) => [name, '']));
  assert.deepEqual(await read(env, []), { kind: 'run', config: DEFAULTS, apiKeys: [] });
});

test('The help names every variable and every flag', async () => {
  const flags = [...SETTINGS.map(({ flag }) => flag), '--api-keys-file', '--help', '--version'];
  const variables = SETTINGS.map(({ variable }) => variable);
  for (const name of [...flags, ...variables, 'PETSTORE_API_KEYS', 'PETSTORE_API_KEYS_FILE']) {
    assert.match(HELP, new RegExp(`(^|\\s)${name}\\s`, 'm'));
  }
});

test('Help and version are wanted whatever else is given, even mistakes', async () => {
  const env = { PORT: 'x' };
  assert.deepEqual(await read(env, ['--help']), { kind: 'help' });
  assert.deepEqual(await read(env, ['-h']), { kind: 'help' });
  assert.deepEqual(await read(env, ['--port', '1', '--version', '--what']), { kind: 'version' });
  assert.deepEqual(await read(env, ['--version', '--help']), { kind: 'help' });
});

const MISTAKES: readonly (readonly [env: Env, args: readonly string[], mistake: string])[] = [
  ...['x', '-1', '65536', '1.5', '1e3', '0x50', ' 80', '80 ', '+80', '99999999999999999999'].map(
    (text) =>
      [
        { PORT: text },
        [],
        `PORT must be an integer from 0 to 65535, not ${JSON.stringify(text)}`,
      ] as const,
  ),
  [{}, ['--port', 'x'], '--port must be an integer from 0 to 65535, not "x"'],
  [{}, ['--port=-1'], '--port must be an integer from 0 to 65535, not "-1"'],
  [
    { PETSTORE_BODY_LIMIT: '0' },
    [],
    'PETSTORE_BODY_LIMIT must be an integer from 1 to 5242880, not "0"',
  ],
  [
    {},
    ['--body-limit', '5242881'],
    '--body-limit must be an integer from 1 to 5242880, not "5242881"',
  ],
  [{}, ['--page', 'no'], '--page must be on or off, not "no"'],
  [{ PETSTORE_ACCESS_LOG: 'yes' }, [], 'PETSTORE_ACCESS_LOG must be on or off, not "yes"'],
  ...['shop.example', 'https://shop.example/', 'HTTPS://shop.example', ''].map(
    (origin) =>
      [
        {},
        ['--cors-origin', `*,${origin}`],
        `--cors-origin must be an origin such as https://shop.example, or *, not ${JSON.stringify(origin)}`,
      ] as const,
  ),
  ...['shop', '/', '/shop/', '/a b', '/..', '/shop?x'].map(
    (text) =>
      [
        { PETSTORE_PREFIX: text },
        [],
        `PETSTORE_PREFIX must be segments such as /shop, not ${JSON.stringify(text)}`,
      ] as const,
  ),
  [{ PETSTORE_MEMORY: 'yes' }, [], 'PETSTORE_MEMORY must be on or off, not "yes"'],
  [
    { PETSTORE_ETCD: 'http://e:1', PETSTORE_DATA_FILE: 'pets.json' },
    [],
    'PETSTORE_ETCD and PETSTORE_DATA_FILE exclude each other',
  ],
  [{}, ['--etcd', 'http://e:1', '--memory'], '--etcd and --memory exclude each other'],
  [
    { PETSTORE_ETCD_PREFIX: 'a/' },
    [],
    'PETSTORE_ETCD_PREFIX is for etcd (prefix), and PETSTORE_ETCD names no endpoints',
  ],
  ...['e:2379', 'http://e:1/path', 'ftp://e', 'http://', ''].map(
    (url) =>
      [
        {},
        ['--etcd', `http://e:1,${url}`],
        `--etcd must be URLs such as http://127.0.0.1:2379, without a path or a password, not ${JSON.stringify(url)}`,
      ] as const,
  ),
  [
    {},
    ['--etcd', 'http://user:secret@e:1'],
    '--etcd must be URLs such as http://127.0.0.1:2379, without a path or a password, not "http://…@e:1"',
  ],
  [{}, ['--etcd', 'http://e:1,http://E:1/'], '--etcd must differ, but http://e:1 is listed twice'],
  [
    { PETSTORE_ETCD: 'http://e:1', PETSTORE_ETCD_PREFIX: 'pets' },
    [],
    'PETSTORE_ETCD_PREFIX must be visible ASCII characters that end in a slash, not "pets"',
  ],
  [
    { PETSTORE_ETCD: 'https://e:1', PETSTORE_ETCD_CERT_FILE: 'cert.pem' },
    [],
    'PETSTORE_ETCD_CERT_FILE needs the key of the certificate too',
  ],
  [
    { PETSTORE_ETCD: 'http://e:1', PETSTORE_ETCD_CA_FILE: 'ca.pem' },
    [],
    'PETSTORE_ETCD_CA_FILE requires an https:// endpoint',
  ],
  [
    { PETSTORE_ETCD: 'http://e:1', PETSTORE_ETCD_USER: 'pets' },
    [],
    'PETSTORE_ETCD_USER needs a file with the password too',
  ],
  [
    { PETSTORE_ETCD: 'http://e:1', PETSTORE_BODY_LIMIT: '1048577' },
    [],
    'PETSTORE_BODY_LIMIT must be at most 1048576 on etcd',
  ],
  [{}, ['--port'], '--port needs a value'],
  [{}, ['--port='], '--port needs a value'],
  [{}, ['--host', ''], '--host needs a value'],
  [{}, ['--help=yes'], '--help takes no value'],
  [{}, ['--port', '1', '--port', '2'], '--port is given twice'],
  [{}, ['--what'], 'Unknown option --what: see --help'],
  [{}, ['--PORT=1'], 'Unknown option --PORT: did you mean --port?'],
  [{}, ['--no-port'], 'Unknown option --no-port: see --help'],
  [{}, ['-p'], 'Unknown option in argument 1: see --help'],
  [{}, ['-kSECRET'], 'Unknown option in argument 1: see --help'],
  [{}, ['--api-key=--SECRET'], 'Unknown option --api-key: see --help'],
  [{}, ['--prot', '8080'], 'Unknown option --prot: did you mean --port?'],
  [{}, ['--api-keys=k'], 'Unknown option --api-keys: see --help'],
  [{}, ['--bodylimit', '9'], 'Unknown option --bodylimit: did you mean --body-limit?'],
  [{}, ['--versoin'], 'Unknown option --versoin: did you mean --version?'],
  [{}, ['make-kee'], 'Argument 1 is no option and no command: did you mean make-key?'],
  [{}, ['checkdata'], 'Argument 1 is no option and no command: did you mean check-data?'],
  [{}, ['make-secrets'], 'Argument 1 is no option and no command: see --help'],
  [{}, ['--port', '1', 'make-key'], 'Argument 3 is no option, and no other is taken: see --help'],
  [{}, ['start'], 'Argument 1 is no option and no command: see --help'],
  [{}, ['--port', '1', 'x'], 'Argument 3 is no option, and no other is taken: see --help'],
  [{}, ['--', '--port'], 'Argument 2 is no option, and no other is taken: see --help'],
  [
    { PETSTORE_DATAFILE: 'x' },
    [],
    'Unknown variable PETSTORE_DATAFILE: did you mean PETSTORE_DATA_FILE?',
  ],
  [
    { PETSTORE_API_KEY: 'x' },
    [],
    'Unknown variable PETSTORE_API_KEY: did you mean PETSTORE_API_KEYS?',
  ],
  [{ PETSTORE_PORT: '9999' }, [], 'Unknown variable PETSTORE_PORT: did you mean PORT?'],
  [{ PETSTORE_PROT: '9999' }, [], 'Unknown variable PETSTORE_PROT: did you mean PORT?'],
  [{ PETSTORE_HOST: '0.0.0.0' }, [], 'Unknown variable PETSTORE_HOST: did you mean HOST?'],
  [{ PETSTORE_HOSTS: '' }, [], 'Unknown variable PETSTORE_HOSTS: did you mean HOST?'],
  [{ PETSTORE_PAEG: 'on' }, [], 'Unknown variable PETSTORE_PAEG: did you mean PETSTORE_PAGE?'],
  [
    { PETSTORE_API_KEYS: Array.from({ length: 1001 }, (_, index) => `key-${index}`).join() },
    [],
    'There are 1001 API keys, and at most 1000 are allowed',
  ],
  [{ PETSTORE_API_KEYS: 'a,,b' }, [], 'PETSTORE_API_KEYS, key 2: a key must not be empty'],
  [{ PETSTORE_API_KEYS: 'a,' }, [], 'PETSTORE_API_KEYS, key 2: a key must not be empty'],
  [
    {},
    ['--api-keys-file', 'missing'],
    'The API keys file cannot be read: ENOENT: no such file or directory',
  ],
];

for (const [env, args, mistake] of MISTAKES) {
  test(`${JSON.stringify(env)} with [${args.join(' ')}] is a mistake: ${mistake}`, async () => {
    assert.deepEqual(await read(env, args), { kind: 'mistakes', mistakes: [mistake] });
  });
}

test('A switch without a value is on', async () => {
  for (const args of [
    ['--memory'],
    ['--memory', 'on'],
    ['--memory=on'],
    ['--memory', '--port=1'],
  ]) {
    const result = await read({}, args);
    assert.equal(result.kind, 'run', args.join(' '));
    assert.equal(result.kind === 'run' && result.config.memory, true);
  }
  const off = await read({}, ['--memory', 'off', '--access-log']);
  assert.ok(off.kind === 'run' && !off.config.memory && off.config.accessLog);
});

test('In memory no data file is touched unless one is named, as starting data', async () => {
  const config = { ...DEFAULTS, memory: true };
  assert.deepEqual(await read({ PETSTORE_MEMORY: 'on' }, []), {
    ...{ kind: 'run', apiKeys: [] },
    config: { ...config, dataFile: undefined },
  });
  assert.deepEqual(await read({ PETSTORE_DATA_FILE: 'p.json' }, ['--memory']), {
    ...{ kind: 'run', apiKeys: [] },
    config: { ...config, dataFile: 'p.json' },
  });
});

test('On etcd the endpoints and all that is said of them are read together', async () => {
  const env = {
    PETSTORE_ETCD: 'https://a:2379, https://b:2379',
    PETSTORE_ETCD_PREFIX: 'shop/',
    PETSTORE_ETCD_CA_FILE: 'ca.pem',
    PETSTORE_ETCD_CERT_FILE: 'cert.pem',
    PETSTORE_ETCD_KEY_FILE: 'key.pem',
    PETSTORE_ETCD_USER: 'pets',
    PETSTORE_ETCD_PASSWORD_FILE: 'password',
  };
  const etcd = {
    endpoints: ['https://a:2379', 'https://b:2379'],
    ...{ prefix: 'shop/', caFile: 'ca.pem', certFile: 'cert.pem', keyFile: 'key.pem' },
    ...{ user: 'pets', passwordFile: 'password' },
  };
  const config = { ...DEFAULTS, dataFile: undefined, etcd };
  assert.deepEqual(await read(env, []), { kind: 'run', config, apiKeys: [] });
});

test('What follows an unknown option may be a key, and is not quoted', async () => {
  assert.deepEqual(await read({}, ['--api-key', `--${SECRET}`]), {
    kind: 'mistakes',
    mistakes: ['Unknown option --api-key: see --help', 'Unknown option in argument 2: see --help'],
  });
});

test('All mistakes of variables, flags and key files are told at once', async () => {
  const env = { PORT: 'x', PETSTORE_BODY_LIMIT: '0', PETSTORE_API_KEYS: 'a b,ok,' };
  const args = ['now', '--what', '--host', '', '--api-keys-file=keys'];
  assert.deepEqual(await read(env, args, { keys: 'a b\nok\nsha256:12\n' }), {
    kind: 'mistakes',
    mistakes: [
      'Argument 1 is no option and no command: see --help',
      'Unknown option --what: see --help',
      '--host needs a value',
      'PORT must be an integer from 0 to 65535, not "x"',
      `PETSTORE_API_KEYS, key 1: ${VISIBLE}`,
      'PETSTORE_API_KEYS, key 3: a key must not be empty',
      'PETSTORE_BODY_LIMIT must be an integer from 1 to 5242880, not "0"',
      `The API keys file, line 1: ${LINE}`,
      'The API keys file, line 3: sha256: must be followed by 64 hex digits',
      'The API keys file, line 2: the key is configured already (PETSTORE_API_KEYS, key 2)',
    ],
  });
});

const VISIBLE = 'a key must be of visible ASCII characters, without a space';
const LINE = 'expected [NAME: ]KEY[ read-metrics], with spaces only between the parts';

test('PETSTORE_API_KEYS holds keys and digests, separated by commas', async () => {
  const cases: readonly (readonly [text: string, keys: readonly string[]])[] = [
    ['a', ['a']],
    ['a,b', ['a', 'b']],
    [' a , b\n', ['a', 'b']],
    [`a,${DIGEST}`, ['a', DIGEST]],
    ['#a', ['#a']],
  ];
  for (const [text, fixed] of cases) {
    const config = { ...DEFAULTS, apiKeySource: { fixed, file: undefined } };
    const expected = { kind: 'run', config, apiKeys: fixed };
    assert.deepEqual(await read({ PETSTORE_API_KEYS: text }, []), expected);
  }
});

test('The file of keys is named by a variable or a flag, and its keys add to the others', async () => {
  const files = { one: 'file-key', two: 'other-key' };
  const env = { PETSTORE_API_KEYS: 'fixed-key', PETSTORE_API_KEYS_FILE: 'one' };
  const cases = [
    [[], 'one', 'file-key'],
    [['--api-keys-file', 'two'], 'two', 'other-key'],
  ] as const;
  for (const [args, file, key] of cases) {
    const apiKeySource = { fixed: ['fixed-key'], file };
    const config = { ...DEFAULTS, apiKeySource };
    const apiKeys = ['fixed-key', key];
    assert.deepEqual(await read(env, args, files), { kind: 'run', config, apiKeys });
    const mistakes: string[] = [];
    const keys = await readApiKeys(apiKeySource, async (path) => files[path as 'one'], mistakes);
    assert.deepEqual({ keys, mistakes }, { keys: apiKeys, mistakes: [] });
  }
});

test('The file of keys is read once, so that it may be a pipe', async () => {
  let times = 0;
  const result = await readConfig({}, ['--api-keys-file', '/dev/stdin'], async () => {
    times += 1;
    return times === 1 ? 'piped-key' : '';
  });
  assert.equal(times, 1);
  assert.deepEqual(result.kind === 'run' ? result.apiKeys : result, ['piped-key']);
});

test('A file of keys has one a line, comments, and blank lines', async () => {
  const cases: readonly (readonly [text: string, keys: readonly string[]])[] = [
    ['a', ['a']],
    ['a\nb\n', ['a', 'b']],
    ['a\r\nb\r\n', ['a', 'b']],
    ['\n\n# the first\n  a  \n\t\n#b\n  # c\nd', ['a', 'd']],
    ['a#b\n', ['a#b']],
    ['a,b\n', ['a,b']],
    [`${DIGEST}\n`, [DIGEST]],
    ['\ufeffa\n', ['a']],
  ];
  for (const [text, expected] of cases) {
    const mistakes: string[] = [];
    const keys = await readApiKeys({ fixed: [], file: 'keys' }, async () => text, mistakes);
    assert.deepEqual({ keys, mistakes }, { keys: expected, mistakes: [] }, JSON.stringify(text));
  }
});

test('A line of a keys file may name the key, and say that it is for metrics only', async () => {
  const cases: readonly (readonly [line: string, option: unknown])[] = [
    ['shop-2026: a', { key: 'a', name: 'shop-2026', only: undefined }],
    [`shop:\t \t${DIGEST}`, { key: DIGEST, name: 'shop', only: undefined }],
    ['p: a read-metrics', { key: 'a', name: 'p', only: 'metrics' }],
    ['a  read-metrics\r', { key: 'a', name: undefined, only: 'metrics' }],
    ['p: :', { key: ':', name: 'p', only: undefined }],
    // Lines without a blank are keys, as ever.
    ['shop:a', 'shop:a'],
    ['shop:', 'shop:'],
    ['read-metrics', 'read-metrics'],
  ];
  for (const [line, option] of cases) {
    const mistakes: string[] = [];
    const keys = await readApiKeys({ fixed: [], file: 'keys' }, async () => line, mistakes);
    assert.deepEqual({ keys, mistakes }, { keys: [option], mistakes: [] }, line);
  }
});

test('Any other line with a blank is a mistake, which shows no part of it', async () => {
  const characters = 'a name must be 1 to 64 letters, digits, dots, underscores and hyphens';
  const missing = 'the key after the name is missing';
  const hex = DIGEST.slice('sha256:'.length);
  const cases: readonly (readonly [line: string, problem: string])[] = [
    [`${SECRET} ${SECRET}`, LINE],
    [`shop: ${SECRET} read-metric`, LINE],
    [`shop: ${SECRET} read-metrics ${SECRET}`, LINE],
    [`shop: ${SECRET} # a note`, LINE],
    [`shop : ${SECRET}`, LINE],
    [`a: b: ${SECRET}`, LINE],
    [`: ${SECRET}`, characters],
    [`sh/op: ${SECRET}`, characters],
    [`${'n'.repeat(65)}: ${SECRET}`, characters],
    [`SHA256: ${hex}`, 'a name must not be sha256'],
    [`sha256: ${hex}`, 'a name must not be sha256'],
    [`shop: ${hex}`, LIKE_A_DIGEST],
    [`shop: sha256:${hex}0`, 'sha256: must be followed by 64 hex digits'],
    ['shop: read-metrics', missing],
    ['shop: #later', missing],
    [`shop: ${SECRET}\u00a0x`, VISIBLE],
  ];
  for (const [line, problem] of cases) {
    const result = await read({}, ['--api-keys-file=keys'], { keys: `good-key\n${line}\n` });
    const mistakes = [`The API keys file, line 2: ${problem}`];
    assert.deepEqual(result, { kind: 'mistakes', mistakes }, line);
  }
});

test('A key or a name that is given twice is a mistake, in the file or beside it', async () => {
  const again = (key: string, where: string): string =>
    `The API keys file, line ${key}: the key is configured already (${where})`;
  const keys = `a: ${SECRET}\nb: x\na: y\nc: ${DIGEST}\nfixed\n`;
  const env = { PETSTORE_API_KEYS: 'fixed' };
  assert.deepEqual(await read(env, ['--api-keys-file=keys'], { keys }), {
    kind: 'mistakes',
    mistakes: [
      'The API keys file, line 3: the name is configured already (The API keys file, line 1)',
      again('4', 'The API keys file, line 1'),
      again('5', 'PETSTORE_API_KEYS, key 1'),
    ],
  });
  const many = await read({}, ['--api-keys-file=keys'], { keys: 'a\n'.repeat(900) });
  assert.equal(many.kind === 'mistakes' && many.mistakes.length, 20);
});

test('A file without a key is a mistake, since it would let nobody in', async () => {
  for (const text of ['', '\n', '# none\n']) {
    const mistakes = ['The API keys file holds no valid key'];
    const args = ['--api-keys-file', 'keys'];
    assert.deepEqual(await read({}, args, { keys: text }), { kind: 'mistakes', mistakes });
  }
});

test('Variables that Kubernetes sets for a Service of this name are passed over', async () => {
  const env = {
    PETSTORE_SERVICE_HOST: '10.0.0.1',
    PETSTORE_SERVICE_PORT: '80',
    PETSTORE_SERVICE_PORT_HTTP: '80',
    PETSTORE_PORT_80_TCP_ADDR: '10.0.0.1',
    PETSTORE_PORT_80_TCP_PORT: '80',
  };
  for (const PETSTORE_PORT of ['tcp://10.0.0.1:80', 'udp://[fd00::1]:80', '']) {
    const result = await read({ ...env, PETSTORE_PORT }, []);
    assert.deepEqual(result, { kind: 'run', config: DEFAULTS, apiKeys: [] });
  }
});

test('What looks like a digest in a file of keys is taken for no key', async () => {
  const hex = DIGEST.slice('sha256:'.length);
  const lines = [hex, hex.toUpperCase(), `SHA256:${hex}`, `Sha256:${hex}`, 'good-key'];
  assert.deepEqual(await read({}, ['--api-keys-file=keys'], { keys: lines.join('\n') }), {
    kind: 'mistakes',
    mistakes: [
      ...[1, 2].map((line) => `The API keys file, line ${line}: ${LIKE_A_DIGEST}`),
      ...[3, 4].map(
        (line) => `The API keys file, line ${line}: sha256: is written in small letters`,
      ),
    ],
  });
});

const LIKE_A_DIGEST =
  '64 hex digits look like a digest: write sha256: before them, or give the digest of this key';

test('Of the faults of a keys file the first twenty are told, and how many more', async () => {
  const result = await read({}, ['--api-keys-file=keys'], { keys: 'a b\n'.repeat(100_000) });
  assert.ok(result.kind === 'mistakes');
  assert.equal(result.mistakes.length, 22);
  assert.equal(result.mistakes[19], `The API keys file, line 20: ${LINE}`);
  assert.equal(result.mistakes[20], 'The API keys file: 99980 more lines are not valid keys');
});

test('A mistake never quotes a key', async () => {
  const spaced = [`${SECRET} x`, `x ${SECRET}`, `${SECRET}\u00e9`, `${SECRET}\0`];
  const broken = [...spaced, `sha256:${SECRET}`];
  const everyPlace = await Promise.all([
    ...broken.map((text) => read({ PETSTORE_API_KEYS: text }, [])),
    ...broken.map((text) => read({ PETSTORE_API_KEYS: `${SECRET},${text},,${SECRET}` }, [])),
    ...broken.map((text) => read({}, ['--api-keys-file=keys'], { keys: `${SECRET}\n${text}` })),
    read({ PETSTORE_API_KEYS: SECRET, PORT: 'x' }, ['--what', '--api-keys-file=missing']),
    read({}, [`--api-keys=${SECRET}`]),
    read({}, [`-k${SECRET}`]),
    read({}, ['--api-key', SECRET]),
  ]);
  for (const result of everyPlace) {
    assert.equal(result.kind, 'mistakes');
    assert.doesNotMatch(JSON.stringify(result), new RegExp(SECRET));
  }
});

/** Reads a configuration where only the given files exist. */
function read(env: Env, args: readonly string[], files: Env = {}): Promise<ConfigResult> {
  const readTextFile = async (path: string): Promise<string> => {
    const text = files[path];
    if (text !== undefined) return text;
    throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  };
  return readConfig(env, args, readTextFile, Object.keys(COMMANDS));
}
