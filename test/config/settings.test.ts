/** The settings of the process: each is read alike from its variable and from its flag. */

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { HELP } from '../../src/process/commands.ts';
import { flagOf, PROCESS_SETTINGS } from '../../src/process/config.ts';
import { DEFAULTS, mistakesIn, read, WITHOUT_BACKEND, type Env } from './read-config.ts';

interface Row {
  readonly variable: string;
  /** What each text means. */
  readonly valid: Readonly<Record<string, unknown>>;
  readonly expected?: string;
  readonly invalid?: readonly string[];
}

const SHOP = 'https://shop.example';
const BOTH = ['http://a.example:8000', 'https://b.example'];
const HUGE = '99999999999999999999';

const ROWS: Readonly<Record<string, Row>> = {
  port: {
    variable: 'PORT',
    valid: { 0: 0, 1: 1, 8081: 8081, 65535: 65_535, '0080': 80 },
    expected: 'an integer from 0 to 65535',
    invalid: ['x', '-1', '65536', '1.5', '1e3', '0x50', ' 80', '80 ', '+80', HUGE],
  },
  host: {
    variable: 'HOST',
    valid: { '0.0.0.0': '0.0.0.0', '::1': '::1', 'pets.example': 'pets.example' },
  },
  prefix: {
    variable: 'PETSTORE_PREFIX',
    valid: { '/shop': '/shop', '/a/b.c~d_e-f': '/a/b.c~d_e-f' },
    expected: 'segments such as /shop',
    invalid: ['shop', '/', '/shop/', '//shop', '/a b', '/..', '/a/.', '/{id}', '/%41', '/shop?x'],
  },
  dataFile: {
    variable: 'PETSTORE_DATA_FILE',
    valid: {
      'pets.json': resolve('pets.json'),
      '/tmp/a b/ü.json': '/tmp/a b/ü.json',
      '-x': resolve('-x'),
      'file:///p.json': '/p.json',
    },
    expected: 'the path of a file, without a slash at its end, or its file: URL',
    invalid: ['pets/', '/', 'file://host/x'],
  },
  bodyLimitBytes: {
    variable: 'PETSTORE_BODY_LIMIT',
    valid: { 1: 1, 65537: 65_537, 5242880: 5_242_880 },
    expected: 'an integer from 1 to 5242880',
    invalid: ['0', '5242881', '1.5'],
  },
  accessLog: {
    variable: 'PETSTORE_ACCESS_LOG',
    valid: { on: true, off: false },
    expected: 'on or off',
    invalid: ['yes'],
  },
  page: {
    variable: 'PETSTORE_PAGE',
    valid: { off: false, on: true },
    expected: 'on or off',
    invalid: ['no'],
  },
  corsOrigins: {
    variable: 'PETSTORE_CORS_ORIGIN',
    valid: { '*': ['*'], [SHOP]: [SHOP], [BOTH.join(', ')]: BOTH },
    expected: 'an origin such as https://shop.example, or *',
    invalid: ['shop.example', 'data:x', 'https://*.example', ''].map((text) => `*,${text}`),
  },
};

for (const [name, { variable, valid, expected, invalid = [] }] of Object.entries(ROWS)) {
  const flag = `--${flagOf(PROCESS_SETTINGS.find(([known]) => known === variable)!)}`;
  test(`${variable} and ${flag} are read alike`, async () => {
    const valueIn = async (...given: Parameters<typeof read>): Promise<unknown> => {
      const { config, options, mistakes } = await read(...given);
      assert.deepEqual(mistakes, []);
      return { ...config, ...options }[name];
    };
    for (const [text, value] of Object.entries(valid)) {
      assert.deepEqual(await valueIn({ [variable]: text }, []), value);
      assert.deepEqual(await valueIn({}, [`${flag}=${text}`]), value);
      // The flag overrides the variable.
      assert.deepEqual(await valueIn({ [variable]: 'not this' }, [flag, text]), value);
    }
    for (const text of invalid) {
      // A number is shown as such.
      const [shown] = [text.split(',').at(-1)!].map((part) =>
        /^[0-9]{1,15}$/.test(part) ? part : JSON.stringify(part),
      );
      const [ofVariable, ofFlag] = [variable, flag].map((given) => {
        return [`${given} must be ${expected}, not ${shown}`];
      });
      assert.deepEqual(await mistakesIn({ [variable]: text }, []), ofVariable);
      assert.deepEqual(await mistakesIn({}, [`${flag}=${text}`]), ofFlag);
    }
  });
}

test('Without variables and flags, or with empty variables, the defaults are in force', async () => {
  const empty = PROCESS_SETTINGS.map(([variable]) => [variable, '']);
  for (const env of [{}, Object.fromEntries(empty) as Record<string, string>]) {
    const { config, options, apiKeys, mistakes } = await read(env, []);
    assert.deepEqual([options, mistakes], [DEFAULTS, []]);
    assert.deepEqual([config.host, config.port], ['127.0.0.1', 8080]);
    assert.match(config.generatedKey ?? '', /^[\w-]{32}$/);
    assert.deepEqual(apiKeys, [config.generatedKey]);
  }
});

/** Arguments and variables, and the options that they are. */
const OPTIONS: readonly (readonly [args: string, env: Env, options: object])[] = [
  ['--memory --port=8080', {}, { ...WITHOUT_BACKEND, memory: true }],
  ['--memory off --access-log', {}, { ...DEFAULTS, accessLog: true }],
  // In memory, a data file is used only if it is named.
  [
    '--memory',
    { PETSTORE_DATA_FILE: 'p.json' },
    { ...WITHOUT_BACKEND, memory: { dataFile: resolve('p.json') } },
  ],
  [
    '--etcd-prefix shop/ --etcd=https://a:2379,https://b:2379',
    {
      PETSTORE_ETCD_CA_FILE: 'ca.pem',
      PETSTORE_ETCD_CERT_FILE: 'cert.pem',
      PETSTORE_ETCD_KEY_FILE: 'key.pem',
      PETSTORE_ETCD_USER: 'pets',
      PETSTORE_ETCD_PASSWORD_FILE: 'password',
      // The greatest limit on etcd.
      PETSTORE_BODY_LIMIT: '1048576',
    },
    {
      ...WITHOUT_BACKEND,
      etcd: {
        endpoints: ['https://a:2379', 'https://b:2379'],
        ...{ prefix: 'shop/', caFile: 'ca.pem', certFile: 'cert.pem', keyFile: 'key.pem' },
        ...{ user: 'pets', passwordFile: 'password' },
      },
      bodyLimitBytes: 1_048_576,
    },
  ],
];

for (const [args, env, expected] of OPTIONS) {
  test(`${args} with ${Object.keys(env).join()} is read as ${JSON.stringify(expected)}`, async () => {
    const { options, mistakes } = await read(env, args.split(' '));
    assert.deepEqual([options, mistakes], [expected, []]);
  });
}

test('The help has each variable and each flag, once', () => {
  const names = PROCESS_SETTINGS.flatMap((setting) => [setting[0], `--${flagOf(setting)}`]);
  for (const name of ['--help', '--version', ...names.filter((name) => name !== '--undefined')]) {
    assert.equal(HELP.match(new RegExp(`\\s${name}\\s`, 'g'))?.length, 1, name);
  }
});
