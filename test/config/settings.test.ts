/** The settings of the process: each is read alike from its variable and from its flag. */

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { HELP } from '../../src/commands/help.ts';
import type { Config } from '../../src/config.ts';
import { flagOf, OPTION_NAMES, SETTINGS } from '../../src/settings.ts';
import { DEFAULTS, read, WITHOUT_BACKEND } from './read-config.ts';

interface Row {
  readonly flag: string;
  readonly variable: string;
  /** What each text means. */
  readonly valid: Readonly<Record<string, unknown>>;
  readonly expected?: string;
  readonly invalid?: readonly string[];
}

type RowName = Exclude<keyof Config, 'apiKeySource' | 'etcd' | 'memory'>;

const SHOP = 'https://shop.example';
const BOTH = ['http://a.example:8000', 'https://b.example'];
const HUGE = '99999999999999999999';

const ROWS: Readonly<Record<RowName, Row>> = {
  port: {
    flag: '--port',
    variable: 'PORT',
    valid: { 0: 0, 1: 1, 8081: 8081, 65535: 65_535, '0080': 80 },
    expected: 'an integer from 0 to 65535',
    invalid: ['x', '-1', '65536', '1.5', '1e3', '0x50', ' 80', '80 ', '+80', HUGE],
  },
  host: {
    flag: '--host',
    variable: 'HOST',
    valid: { '0.0.0.0': '0.0.0.0', '::1': '::1', 'pets.example': 'pets.example' },
  },
  prefix: {
    flag: '--prefix',
    variable: 'PETSTORE_PREFIX',
    valid: { '/shop': '/shop', '/a/b.c~d_e-f': '/a/b.c~d_e-f' },
    expected: 'segments such as /shop',
    invalid: ['shop', '/', '/shop/', '//shop', '/a b', '/..', '/a/.', '/{id}', '/%41', '/shop?x'],
  },
  dataFile: {
    flag: '--data-file',
    variable: 'PETSTORE_DATA_FILE',
    valid: {
      'pets.json': resolve('pets.json'),
      '/tmp/a b/ü.json': '/tmp/a b/ü.json',
      '-x': resolve('-x'),
    },
  },
  bodyLimitBytes: {
    flag: '--body-limit',
    variable: 'PETSTORE_BODY_LIMIT',
    valid: { 1: 1, 65537: 65_537, 5242880: 5_242_880 },
    expected: 'an integer from 1 to 5242880',
    invalid: ['0', '5242881', '1.5'],
  },
  accessLog: {
    flag: '--access-log',
    variable: 'PETSTORE_ACCESS_LOG',
    valid: { on: true, off: false },
    expected: 'on or off',
    invalid: ['yes'],
  },
  page: {
    flag: '--page',
    variable: 'PETSTORE_PAGE',
    valid: { off: false, on: true },
    expected: 'on or off',
    invalid: ['no'],
  },
  corsOrigins: {
    flag: '--cors-origin',
    variable: 'PETSTORE_CORS_ORIGIN',
    valid: { '*': ['*'], [SHOP]: [SHOP], [BOTH.join(', ')]: BOTH },
    expected: 'an origin such as https://shop.example, or *',
    invalid: ['shop.example', `${SHOP}/`, 'HTTPS://shop.example', 'https://*.example', ''].map(
      (text) => `*,${text}`,
    ),
  },
};

for (const [name, { flag, variable, valid, expected, invalid = [] }] of Object.entries(ROWS)) {
  test(`${variable} and ${flag} are read alike`, async () => {
    for (const [text, value] of Object.entries(valid)) {
      const result = { kind: 'run', config: { ...DEFAULTS, [name]: value }, apiKeys: [] };
      assert.deepEqual(await read({ [variable]: text }, []), result);
      assert.deepEqual(await read({}, [`${flag}=${text}`]), result);
      // The flag overrides the variable.
      assert.deepEqual(await read({ [variable]: 'not this' }, [flag, text]), result);
    }
    for (const text of invalid) {
      const sentence = `must be ${expected}, not ${JSON.stringify(text.split(',').at(-1))}`;
      const [ofVariable, ofFlag] = [variable, flag].map((given) => [`${given} ${sentence}`]);
      const kind = 'mistakes';
      assert.deepEqual(await read({ [variable]: text }, []), { kind, mistakes: ofVariable });
      assert.deepEqual(await read({}, [`${flag}=${text}`]), { kind, mistakes: ofFlag });
    }
  });
}

test('Without variables and flags, or with empty variables, the defaults are in force', async () => {
  const empty = Object.values(SETTINGS).map(({ variable }) => [variable ?? 'X', '']);
  for (const env of [{}, Object.fromEntries(empty) as Record<string, string>]) {
    assert.deepEqual(await read(env, []), { kind: 'run', config: DEFAULTS, apiKeys: [] });
  }
});

test('A switch without a value is on', async () => {
  for (const args of ['--memory', '--memory on', '--memory=on', '--memory --port=8080']) {
    const config = { ...WITHOUT_BACKEND, memory: true };
    assert.deepEqual(await read({}, args.split(' ')), { kind: 'run', config, apiKeys: [] }, args);
  }
  const config = { ...DEFAULTS, accessLog: true };
  const off = await read({}, ['--memory', 'off', '--access-log']);
  assert.deepEqual(off, { kind: 'run', config, apiKeys: [] });
});

test('In memory, a data file is used only if it is named', async () => {
  for (const dataFile of [undefined, 'p.json']) {
    const env = { PETSTORE_MEMORY: 'on', ...(dataFile && { PETSTORE_DATA_FILE: dataFile }) };
    const memory = dataFile === undefined ? true : { dataFile: resolve(dataFile) };
    const config = { ...WITHOUT_BACKEND, memory };
    assert.deepEqual(await read(env, []), { kind: 'run', config, apiKeys: [] });
  }
});

test('On etcd, the endpoints and all settings of the cluster are read together', async () => {
  const env = {
    PETSTORE_ETCD: 'https://a:2379, https://b:2379',
    PETSTORE_ETCD_PREFIX: 'shop/',
    PETSTORE_ETCD_CA_FILE: 'ca.pem',
    PETSTORE_ETCD_CERT_FILE: 'cert.pem',
    PETSTORE_ETCD_KEY_FILE: 'key.pem',
    PETSTORE_ETCD_USER: 'pets',
    PETSTORE_ETCD_PASSWORD_FILE: 'password',
    // The greatest limit on etcd.
    PETSTORE_BODY_LIMIT: '1048576',
  };
  const etcd = {
    endpoints: ['https://a:2379', 'https://b:2379'],
    ...{ prefix: 'shop/', caFile: 'ca.pem', certFile: 'cert.pem', keyFile: 'key.pem' },
    ...{ user: 'pets', passwordFile: 'password' },
  };
  const config = { ...WITHOUT_BACKEND, etcd, bodyLimitBytes: 1_048_576 };
  assert.deepEqual(await read(env, []), { kind: 'run', config, apiKeys: [] });
});

test('Each row has a variable, which the help explains, or is an option of an app', () => {
  const shown = ['--help', '--version'];
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const { variable, help } = setting;
    const flag = flagOf(setting);
    assert.ok(variable !== undefined || OPTION_NAMES.includes(name), name);
    assert.equal(variable === undefined, help === undefined, name);
    shown.push(...(variable === undefined ? [] : [variable]));
    shown.push(...(flag === undefined ? [] : [`--${flag}`]));
  }
  assert.equal(new Set(shown).size, shown.length);
  for (const name of shown) assert.match(HELP, new RegExp(`(^|\\s)${name}\\s`, 'm'));
});
