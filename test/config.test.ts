/** The configuration: each setting, each way to give it, and every mistake at once. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { HELP, readApiKeys, readConfig, type Config, type ConfigResult } from '../src/config.ts';

type Env = Readonly<Record<string, string>>;

const DEFAULTS: Config = {
  port: 8080,
  host: '127.0.0.1',
  dataFile: 'data/pets.json',
  apiKeySource: { fixed: [], file: undefined },
  bodyLimitBytes: 65_536,
  accessLog: false,
  corsOrigins: [],
};

const SECRET = 'Secret-4711';
const DIGEST = `sha256:${createHash('sha256').update(SECRET).digest('hex')}`;

test('Without any variable or flag the defaults hold', () => {
  assert.deepEqual(read({}, []), { kind: 'run', config: DEFAULTS, apiKeys: [] });
});

const SETTINGS: readonly {
  readonly variable: string;
  readonly flag: string;
  readonly key: 'port' | 'host' | 'dataFile' | 'bodyLimitBytes' | 'accessLog' | 'corsOrigins';
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
    variable: 'PETSTORE_ACCESS_LOG',
    flag: '--access-log',
    key: 'accessLog',
    values: [
      ['on', true],
      ['off', false],
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
  test(`${variable} and ${flag} set ${key}, and the flag counts`, () => {
    for (const [text, value] of values) {
      const expected = { kind: 'run', config: { ...DEFAULTS, [key]: value }, apiKeys: [] };
      assert.deepEqual(read({ [variable]: text }, []), expected);
      assert.deepEqual(read({}, [`${flag}=${text}`]), expected);
      assert.deepEqual(read({}, [flag, text]), expected);
      assert.deepEqual(read({ [variable]: 'not this' }, [flag, text]), expected);
    }
  });
}

test('A variable that is empty counts as not set', () => {
  const names = SETTINGS.map(({ variable }) => variable);
  const empty = [...names, 'PETSTORE_API_KEYS', 'PETSTORE_API_KEYS_FILE'];
  const env = Object.fromEntries(empty.map((name) => [name, '']));
  assert.deepEqual(read(env, []), { kind: 'run', config: DEFAULTS, apiKeys: [] });
});

test('The help names every variable and every flag', () => {
  const flags = [...SETTINGS.map(({ flag }) => flag), '--api-keys-file', '--help', '--version'];
  const variables = SETTINGS.map(({ variable }) => variable);
  for (const name of [...flags, ...variables, 'PETSTORE_API_KEYS', 'PETSTORE_API_KEYS_FILE']) {
    assert.match(HELP, new RegExp(`(^|\\s)${name}\\s`, 'm'));
  }
});

test('Help and version are wanted whatever else is given, even mistakes', () => {
  const env = { PORT: 'x' };
  assert.deepEqual(read(env, ['--help']), { kind: 'help' });
  assert.deepEqual(read(env, ['--port', '1', '--version', '--what']), { kind: 'version' });
  assert.deepEqual(read(env, ['--version', '--help']), { kind: 'help' });
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
  [{ PETSTORE_ACCESS_LOG: 'yes' }, [], 'PETSTORE_ACCESS_LOG must be on or off, not "yes"'],
  ...['shop.example', 'https://shop.example/', 'HTTPS://shop.example', ''].map(
    (origin) =>
      [
        {},
        ['--cors-origin', `*,${origin}`],
        `--cors-origin: expected an origin such as https://shop.example, or *, not ${JSON.stringify(origin)}`,
      ] as const,
  ),
  [{}, ['--port'], '--port needs a value'],
  [{}, ['--port='], '--port needs a value'],
  [{}, ['--host', ''], '--host needs a value'],
  [{}, ['--help=yes'], '--help takes no value'],
  [{}, ['--port', '1', '--port', '2'], '--port is given twice'],
  [{}, ['--what'], 'Unknown option --what'],
  [{}, ['--PORT=1'], 'Unknown option --PORT'],
  [{}, ['--no-port'], 'Unknown option --no-port'],
  [{}, ['-p'], 'Unknown option -p'],
  [{}, ['--api-keys=k'], 'Unknown option --api-keys'],
  [{}, ['start'], 'Argument 1 is no option, and nothing else is taken'],
  [{}, ['--', '--port'], 'Argument 2 is no option, and nothing else is taken'],
  [{ PETSTORE_API_KEYS: 'a,,b' }, [], 'PETSTORE_API_KEYS, key 2: a key must not be empty'],
  [{ PETSTORE_API_KEYS: 'a,' }, [], 'PETSTORE_API_KEYS, key 2: a key must not be empty'],
  [
    {},
    ['--api-keys-file', 'missing'],
    "The API keys file missing cannot be read: ENOENT: no such file or directory, open 'missing'",
  ],
];

for (const [env, args, mistake] of MISTAKES) {
  test(`${JSON.stringify(env)} with [${args.join(' ')}] is a mistake: ${mistake}`, () => {
    assert.deepEqual(read(env, args), { kind: 'mistakes', mistakes: [mistake] });
  });
}

test('All mistakes of variables, flags and key files are told at once', () => {
  const env = { PORT: 'x', PETSTORE_BODY_LIMIT: '0', PETSTORE_API_KEYS: 'a b,ok,' };
  const args = ['now', '--what', '--host', '', '--api-keys-file=keys'];
  assert.deepEqual(read(env, args, { keys: 'a b\nok\nsha256:12\n' }), {
    kind: 'mistakes',
    mistakes: [
      'Argument 1 is no option, and nothing else is taken',
      'Unknown option --what',
      '--host needs a value',
      'PORT must be an integer from 0 to 65535, not "x"',
      `PETSTORE_API_KEYS, key 1: ${VISIBLE}`,
      'PETSTORE_API_KEYS, key 3: a key must not be empty',
      'PETSTORE_BODY_LIMIT must be an integer from 1 to 5242880, not "0"',
      `The API keys file keys, line 1: ${VISIBLE}`,
      'The API keys file keys, line 3: sha256: must be followed by 64 hex digits',
    ],
  });
});

const VISIBLE = 'a key must be of visible ASCII characters, without a space';

test('PETSTORE_API_KEYS holds keys and digests, separated by commas', () => {
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
    assert.deepEqual(read({ PETSTORE_API_KEYS: text }, []), expected);
  }
});

test('The file of keys is named by a variable or a flag, and its keys add to the others', () => {
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
    assert.deepEqual(read(env, args, files), { kind: 'run', config, apiKeys });
    const mistakes: string[] = [];
    const keys = readApiKeys(apiKeySource, (path) => files[path as 'one'], mistakes);
    assert.deepEqual({ keys, mistakes }, { keys: apiKeys, mistakes: [] });
  }
});

test('The file of keys is read once, so that it may be a pipe', () => {
  let times = 0;
  const result = readConfig({}, ['--api-keys-file', '/dev/stdin'], () => {
    times += 1;
    return times === 1 ? 'piped-key' : '';
  });
  assert.equal(times, 1);
  assert.deepEqual(result.kind === 'run' ? result.apiKeys : result, ['piped-key']);
});

test('A file of keys has one a line, comments, and blank lines', () => {
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
    const keys = readApiKeys({ fixed: [], file: 'keys' }, () => text, mistakes);
    assert.deepEqual({ keys, mistakes }, { keys: expected, mistakes: [] }, JSON.stringify(text));
  }
});

test('A file without a key is a mistake, since it would let nobody in', () => {
  for (const text of ['', '\n', '# none\n']) {
    const mistakes = ['The API keys file keys holds no valid key'];
    const args = ['--api-keys-file', 'keys'];
    assert.deepEqual(read({}, args, { keys: text }), { kind: 'mistakes', mistakes });
  }
});

test('A mistake never quotes a key', () => {
  const spaced = [`${SECRET} x`, `x ${SECRET}`, `${SECRET}\u00e9`, `${SECRET}\0`];
  const broken = [...spaced, `sha256:${SECRET}`];
  const everyPlace = [
    ...broken.map((text) => read({ PETSTORE_API_KEYS: text }, [])),
    ...broken.map((text) => read({ PETSTORE_API_KEYS: `${SECRET},${text},,${SECRET}` }, [])),
    ...broken.map((text) => read({}, ['--api-keys-file=keys'], { keys: `${SECRET}\n${text}` })),
    read({ PETSTORE_API_KEYS: SECRET, PORT: 'x' }, ['--what', '--api-keys-file=missing']),
    read({}, [`--api-keys=${SECRET}`]),
  ];
  for (const result of everyPlace) {
    assert.equal(result.kind, 'mistakes');
    assert.doesNotMatch(JSON.stringify(result), new RegExp(SECRET));
  }
});

/** Reads a configuration where only the given files exist. */
function read(env: Env, args: readonly string[], files: Env = {}): ConfigResult {
  return readConfig(env, args, (path) => {
    const text = files[path];
    if (text !== undefined) return text;
    throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  });
}
