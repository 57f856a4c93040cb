/**
 * The settings of the process: each is read alike from its variable and from its flag, and each
 * mistake is reported once, under the name that was typed, without a password.
 */

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { HELP } from '../../src/process/commands.ts';
import { PROCESS_SETTINGS } from '../../src/process/config.ts';
import { mistakesIn, read, type Env } from './read-config.ts';

const SHOP = 'https://shop.example';
const BOTH = ['http://a.example:8000', 'https://b.example'];
const HUGE = '99999999999999999999';

/** What texts of a setting mean, what else it must be, and texts that it cannot be. */
const ROWS: readonly (readonly [
  option: string,
  valid: Readonly<Record<string, unknown>>,
  expected?: string,
  invalid?: readonly string[],
])[] = [
  [
    'port',
    { 0: 0, 8081: 8081, 65535: 65_535, '0080': 80 },
    'an integer from 0 to 65535',
    ['x', '-1', '65536', '1.5', '1e3', '0x50', ' 80', '80 ', '+80', HUGE],
  ],
  ['host', { '0.0.0.0': '0.0.0.0', '::1': '::1' }],
  ['prefix', { '/a/b.c~d_e-f': '/a/b.c~d_e-f' }, 'segments such as /shop', ['shop', '/shop/']],
  [
    'dataFile',
    { 'a b/ü.json': resolve('a b/ü.json'), '-x': resolve('-x'), 'file:///p.json': '/p.json' },
    'the path of a file, without a slash at its end, or its file: URL',
    ['pets/', 'file://host/x'],
  ],
  ['bodyLimitBytes', { 1: 1, 5242880: 5_242_880 }, 'an integer from 1 to 5242880', ['0', '1.5']],
  ['accessLog', { on: true, off: false }, 'on or off', ['yes', 'true']],
  ['page', { on: true, off: false }, 'on or off', ['no']],
  [
    'corsOrigins',
    { '*': ['*'], [SHOP]: [SHOP], [BOTH.join(', ')]: BOTH },
    'an origin such as https://shop.example, or *',
    ['*,shop.example', '*,data:x', '*,'],
  ],
];

for (const [option, valid, expected, invalid = []] of ROWS) {
  const setting = PROCESS_SETTINGS.find((one) => one.option === option)!;
  const [variable, flag] = [setting.variable, `--${setting.flag}`];
  test(`${variable} and ${flag} are read alike`, async () => {
    const valueIn = async (...given: Parameters<typeof read>): Promise<unknown> => {
      const { config, mistakes } = await read(...given);
      assert.deepEqual(mistakes, []);
      return { ...config, ...config.options }[option as 'port'];
    };
    for (const [text, value] of Object.entries(valid)) {
      assert.deepEqual(await valueIn({ [variable]: text }, []), value);
      // The flag overrides the variable.
      assert.deepEqual(await valueIn({ [variable]: 'not this' }, [flag, text]), value);
      assert.deepEqual(await valueIn({}, [`${flag}=${text}`]), value);
    }
    for (const text of invalid) {
      const part = text.split(',').at(-1)!;
      // A number is shown as such.
      const mistake = `must be ${expected}, not ${/^[0-9]{1,15}$/.test(part) ? part : `"${part}"`}`;
      assert.deepEqual(await mistakesIn({ [variable]: text }, []), [`${variable} ${mistake}`]);
      assert.deepEqual(await mistakesIn({}, [`${flag}=${text}`]), [`${flag} ${mistake}`]);
    }
  });
}

const DEFAULTS = { page: true, dataFile: resolve('data/pets.json') };
const ON_ETCD = {
  PETSTORE_ETCD_CA_FILE: 'ca.pem',
  PETSTORE_ETCD_CERT_FILE: 'cert.pem',
  PETSTORE_ETCD_KEY_FILE: 'key.pem',
  PETSTORE_ETCD_USER: 'pets',
  PETSTORE_ETCD_PASSWORD_FILE: 'password',
  PETSTORE_MEMORY: 'off',
  // The greatest limit on etcd.
  PETSTORE_BODY_LIMIT: '1048576',
};

/** Arguments and variables, and the options that they are. */
const OPTIONS: readonly (readonly [args: string, env: Env, options: object])[] = [
  ['', {}, DEFAULTS],
  ['', Object.fromEntries(PROCESS_SETTINGS.map(({ variable }) => [variable, ''])), DEFAULTS],
  ['--memory --port=8080', {}, { page: true, memory: true }],
  ['--memory off --access-log', {}, { ...DEFAULTS, accessLog: true }],
  // In memory, a data file is used only if it is named.
  [
    '--memory',
    { PETSTORE_DATA_FILE: 'p.json' },
    { page: true, memory: { dataFile: resolve('p.json') } },
  ],
  [
    '--etcd-prefix shop/ --etcd=https://a:2379,https://b:2379',
    ON_ETCD,
    {
      page: true,
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
    const { config, options, mistakes } = await read(env, args === '' ? [] : args.split(' '));
    assert.deepEqual([options, mistakes], [expected, []]);
    assert.deepEqual([config.host, config.port], ['127.0.0.1', 8080]);
    assert.match(config.generatedKey ?? '', /^[\w-]{32}$/);
    assert.deepEqual(config.options.apiKeys, [config.generatedKey]);
  });
}

const ETCD = 'PETSTORE_ETCD=http://e:1';
const URLS = '--etcd must be URLs such as http://127.0.0.1:2379, without a path or a password, not';
const IN_ORIGIN = '--cors-origin must be https://shop.example, not';
const NO_ETCD = 'PETSTORE_ETCD_PREFIX requires PETSTORE_ETCD or --etcd';

/** Variables and arguments, separated by blanks, and the one mistake in them. */
const MISTAKES: readonly (readonly [given: string, mistake: string])[] = [
  [`${ETCD} PETSTORE_DATA_FILE=p.json`, 'PETSTORE_ETCD cannot be combined with PETSTORE_DATA_FILE'],
  ['--etcd http://e:1 --memory', '--etcd cannot be combined with --memory'],
  ['--memory --data-file x/', `--data-file must be ${ROWS[3]![2]}, not "x/"`],
  ['--cors-origin *,https://shop.example/', `${IN_ORIGIN} "https://shop.example/"`],
  ['--cors-origin HTTPS://me:secret@shop.example', `${IN_ORIGIN} "HTTPS://…@shop.example"`],
  ['PETSTORE_ETCD_PREFIX=a/', NO_ETCD],
  ['PETSTORE_ETCD_PREFIX=a/ PETSTORE_DATA_FILE=p.json', NO_ETCD],
  ...['e:2379', 'http://e:1/path', 'ftp://e', 'http://', 'http://e?x', ''].map(
    (url) => [`--etcd http://e:1,${url}`, `${URLS} "${url}"`] as const,
  ),
  ['--etcd http://user:secret@e:1', `${URLS} "http://…@e:1"`],
  ['--etcd user:sec//ret@e:1', `${URLS} "…@e:1"`],
  ['--etcd http://e:1,http://E:1/', '--etcd has http://e:1 twice'],
  [
    `${ETCD} --etcd-prefix pets`,
    '--etcd-prefix must be visible ASCII characters that end in a slash, not "pets"',
  ],
  ...[
    ['CERT_FILE', 'KEY_FILE'],
    ['KEY_FILE', 'CERT_FILE'],
    ['USER', 'PASSWORD_FILE'],
    ['PASSWORD_FILE', 'USER'],
  ].map(([one, other]) => {
    const given = `PETSTORE_ETCD=https://e:1 PETSTORE_ETCD_${one}=x`;
    return [given, `PETSTORE_ETCD_${one} requires PETSTORE_ETCD_${other}`] as const;
  }),
  [`${ETCD} PETSTORE_ETCD_CA_FILE=ca.pem`, 'PETSTORE_ETCD_CA_FILE requires an https:// endpoint'],
  ...['1048577', '5242881'].map((limit) => {
    const mistake = `must be an integer from 1 to 1048576 on etcd, not ${limit}`;
    return [`${ETCD} --body-limit ${limit}`, `--body-limit ${mistake}`] as const;
  }),
  ...[
    ['PETSTORE_DATAFILE=x', 'PETSTORE_DATA_FILE'],
    ['PETSTORE_PORT=9999', 'PORT'],
    ['PETSTORE_HTTP_PORT=9999', 'PORT'],
    ['PETSTORE_SERVICE_X=', 'PETSTORE_PREFIX'],
  ].map(([given = '', meant]) => {
    return [given, `Unknown variable ${given.split('=')[0]}: did you mean ${meant}?`] as const;
  }),
];

test('What is wrong with options of etcd is found without its endpoints, too', async () => {
  const env = { PETSTORE_ETCD_PREFIX: 'a', PETSTORE_ETCD_CERT_FILE: 'x' };
  assert.deepEqual(await mistakesIn(env, []), [
    'PETSTORE_ETCD_PREFIX must be visible ASCII characters that end in a slash, not "a"',
    NO_ETCD,
    'PETSTORE_ETCD_CERT_FILE requires PETSTORE_ETCD or --etcd',
    'PETSTORE_ETCD_CERT_FILE requires PETSTORE_ETCD_KEY_FILE',
  ]);
});

for (const [given, mistake] of MISTAKES) {
  test(`${given} is a mistake: ${mistake}`, async () => {
    const words = given.split(' ');
    const variables = words.filter((word) => /^[A-Z_]+=/.test(word));
    const env = Object.fromEntries(variables.map((word) => word.split(/=(.*)/, 2))) as Env;
    const args = words.filter((word) => !variables.includes(word));
    assert.deepEqual(await mistakesIn(env, args), [mistake]);
  });
}

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
