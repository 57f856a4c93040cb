/** Mistakes in the configuration: all are found together, each with its name and without a key. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULTS, read, type Env } from './read-config.ts';

const ETCD = 'PETSTORE_ETCD=http://e:1';
const URLS = '--etcd must be URLs such as http://127.0.0.1:2379, without a path or a password, not';
const NO_COMMAND = 'Argument 1 is neither an option nor a command';

/** Variables and arguments, separated by blanks, and the one mistake in them. */
const MISTAKES: readonly (readonly [given: string, mistake: string])[] = [
  ['PETSTORE_MEMORY=yes', 'PETSTORE_MEMORY must be on or off, not "yes"'],
  [`${ETCD} PETSTORE_DATA_FILE=p.json`, 'PETSTORE_ETCD and PETSTORE_DATA_FILE exclude each other'],
  ['PETSTORE_DATA_FILE=file:///p.json', 'PETSTORE_DATA_FILE must be a path, not a URL'],
  ['--etcd http://e:1 --memory', '--etcd and --memory exclude each other'],
  [
    'PETSTORE_ETCD_PREFIX=a/',
    'PETSTORE_ETCD_PREFIX is for etcd (prefix), and PETSTORE_ETCD names no endpoints',
  ],
  ...['e:2379', 'http://e:1/path', 'ftp://e', 'http://', ''].map(
    (url) => [`--etcd http://e:1,${url}`, `${URLS} ${JSON.stringify(url)}`] as const,
  ),
  ['--etcd http://user:secret@e:1', `${URLS} "http://…@e:1"`],
  ['--etcd http://e:1,http://E:1/', '--etcd must differ, but http://e:1 is listed twice'],
  [
    `${ETCD} PETSTORE_ETCD_PREFIX=pets`,
    'PETSTORE_ETCD_PREFIX must be visible ASCII characters that end in a slash, not "pets"',
  ],
  [
    'PETSTORE_ETCD=https://e:1 PETSTORE_ETCD_CERT_FILE=cert.pem',
    'PETSTORE_ETCD_CERT_FILE needs the key of the certificate too',
  ],
  [`${ETCD} PETSTORE_ETCD_CA_FILE=ca.pem`, 'PETSTORE_ETCD_CA_FILE requires an https:// endpoint'],
  [`${ETCD} PETSTORE_ETCD_USER=pets`, 'PETSTORE_ETCD_USER needs a file with the password too'],
  [
    `${ETCD} PETSTORE_ETCD_PASSWORD_FILE=p`,
    'PETSTORE_ETCD_PASSWORD_FILE needs the name of the user too',
  ],
  [`${ETCD} PETSTORE_BODY_LIMIT=1048577`, 'PETSTORE_BODY_LIMIT must be at most 1048576 on etcd'],
  ['--port', '--port needs a value'],
  ['--host ', '--host needs a value'],
  ['--help=yes', '--help takes no value'],
  ['--port 1 --port 2', '--port is given twice'],
  ['--what', 'Unknown option --what: see --help'],
  ['--no-port', 'Unknown option --no-port: see --help'],
  ['-p', 'Unknown option in argument 1: see --help'],
  ['-kSECRET', 'Unknown option in argument 1: see --help'],
  ['--api-key=--SECRET', 'Unknown option --api-key: see --help'],
  ['--prot 8080', 'Unknown option --prot: did you mean --port?'],
  ['--bodylimit 9', 'Unknown option --bodylimit: did you mean --body-limit?'],
  ['make-kee', `${NO_COMMAND}: did you mean make-key?`],
  ['make-secrets', `${NO_COMMAND}: see --help`],
  ['--port 1 make-key', 'Unexpected argument 3: see --help'],
  ['-- --port', 'Unexpected argument 2: see --help'],
  ['PETSTORE_DATAFILE=x', 'Unknown variable PETSTORE_DATAFILE: did you mean PETSTORE_DATA_FILE?'],
  ['PETSTORE_PORT=9999', 'Unknown variable PETSTORE_PORT: did you mean PORT?'],
  ['PETSTORE_HTTP_PORT=9999', 'Unknown variable PETSTORE_HTTP_PORT: did you mean PORT?'],
  ['PETSTORE_SERVICE_X=', 'Unknown variable PETSTORE_SERVICE_X: did you mean PETSTORE_PREFIX?'],
];

for (const [given, mistake] of MISTAKES) {
  test(`${given} is a mistake: ${mistake}`, async () => {
    const words = given.split(' ');
    const variables = words.filter((word) => /^[A-Z_]+=/.test(word));
    const env = Object.fromEntries(variables.map((word) => word.split(/=(.*)/, 2))) as Env;
    const args = words.filter((word) => !variables.includes(word));
    assert.deepEqual(await read(env, args), { kind: 'mistakes', mistakes: [mistake] });
  });
}

test('Help and version are shown whatever else is given, even mistakes', async () => {
  const env = { PORT: 'x' };
  assert.deepEqual(await read(env, ['--help']), { kind: 'help' });
  assert.deepEqual(await read(env, ['-h']), { kind: 'help' });
  assert.deepEqual(await read(env, ['--port', '1', '--version', '--what']), { kind: 'version' });
  assert.deepEqual(await read(env, ['--version', '--help']), { kind: 'help' });
});

test('The argument after an unknown option may be an API key, and is not quoted', async () => {
  assert.deepEqual(await read({}, ['--api-key', '--Secret-4711']), {
    kind: 'mistakes',
    mistakes: ['Unknown option --api-key: see --help', 'Unknown option in argument 2: see --help'],
  });
});

test('All mistakes in variables, flags and the API keys file are reported together', async () => {
  const env = { PORT: 'x', PETSTORE_BODY_LIMIT: '0', PETSTORE_API_KEYS: 'ok,' };
  const args = ['now', '--what', '--host', '', '--api-keys-file=keys'];
  assert.deepEqual(await read(env, args, { keys: 'sha256:12\nok\n' }), {
    kind: 'mistakes',
    mistakes: [
      `${NO_COMMAND}: see --help`,
      'Unknown option --what: see --help',
      '--host needs a value',
      'PORT must be an integer from 0 to 65535, not "x"',
      'PETSTORE_BODY_LIMIT must be an integer from 1 to 5242880, not "0"',
      'PETSTORE_API_KEYS, key 2: a key must not be empty',
      'The API keys file, line 1: sha256: must be followed by 64 hex digits',
      'The API keys file, line 2: the key is configured already (PETSTORE_API_KEYS, key 1)',
    ],
  });
});

test('Variables that Kubernetes sets for Services named petstore or petstore-… are ignored', async () => {
  for (const service of ['PETSTORE', 'PETSTORE_ETCD', 'PETSTORE_V2_API']) {
    const env = {
      [`${service}_SERVICE_HOST`]: '10.0.0.1',
      [`${service}_SERVICE_PORT`]: '80',
      [`${service}_SERVICE_PORT_HTTP`]: '80',
      [`${service}_PORT_80_TCP_ADDR`]: '10.0.0.1',
      [`${service}_PORT_80_TCP_PORT`]: '80',
    };
    for (const url of ['tcp://10.0.0.1:80', 'udp://[fd00::1]:80', '']) {
      const result = await read({ ...env, [`${service}_PORT`]: url }, []);
      assert.deepEqual(result, { kind: 'run', config: DEFAULTS, apiKeys: [] });
    }
  }
});
