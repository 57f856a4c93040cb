/**
 * The settings for etcd. Each may need others, and what is wrong is found in all of them. And the
 * option of an app, with all that is wrong in one TypeError.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { testWrongOptions, withoutStore } from '../embedding/wrong-options.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { CERTIFICATE_PEM, KEY_PEM } from '../support/process/certificate.ts';
import { assertDisguisesRefused, mistakesIn, testMistakes, testOptions } from './read.ts';

/** A file that has a certificate and its private key. */
const FILE = join(tempDir({ after }), 'both.pem');
writeFileSync(FILE, CERTIFICATE_PEM + KEY_PEM);
const NO_PEM = fileURLToPath(import.meta.url);

const ON_ETCD = {
  PETSTORE_ETCD_CA_FILE: FILE,
  PETSTORE_ETCD_CERT_FILE: FILE,
  PETSTORE_ETCD_KEY_FILE: FILE,
  PETSTORE_ETCD_USER: 'pets',
  PETSTORE_ETCD_PASSWORD_FILE: FILE,
  PETSTORE_MEMORY: 'off',
  // The greatest limit on etcd.
  PETSTORE_BODY_LIMIT: '1048576',
};

testOptions([
  [
    '--etcd-prefix shop/ --etcd=https://a:2379,https://b:2379',
    ON_ETCD,
    {
      etcd: {
        endpoints: ['https://a:2379', 'https://b:2379'],
        ...{ prefix: 'shop/', caFile: FILE, certFile: FILE, keyFile: FILE },
        ...{ user: 'pets', passwordFile: FILE },
      },
      bodyLimitBytes: 1_048_576,
    },
  ],
]);

test('A text for etcd that only looks like a path or a name is refused, and quoted', async () => {
  const others = { PETSTORE_ETCD: 'https://e:1', ...ON_ETCD };
  assert.equal(await assertDisguisesRefused(/^etcd/, others), 6);
});

const ETCD = 'PETSTORE_ETCD=http://e:1';
const URLS = '--etcd must be URLs such as http://127.0.0.1:2379, without a path or a password, not';
const NO_ETCD = 'PETSTORE_ETCD_PREFIX requires PETSTORE_ETCD or --etcd';

testMistakes([
  [`${ETCD} PETSTORE_DATA_FILE=p.json`, 'PETSTORE_ETCD cannot be combined with PETSTORE_DATA_FILE'],
  ['--etcd http://e:1 --memory', '--etcd cannot be combined with --memory'],
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
    const given = `PETSTORE_ETCD=https://e:1 PETSTORE_ETCD_${one}=${FILE}`;
    return [given, `PETSTORE_ETCD_${one} requires PETSTORE_ETCD_${other}`] as const;
  }),
  [`${ETCD} PETSTORE_ETCD_CA_FILE=${FILE}`, 'PETSTORE_ETCD_CA_FILE requires an https:// endpoint'],
  [
    'PETSTORE_ETCD=https://e:1 PETSTORE_ETCD_CA_FILE=none.pem',
    "PETSTORE_ETCD_CA_FILE cannot be read: ENOENT: no such file or directory, open 'none.pem'",
  ],
  ...(
    [
      ['CA_FILE', 'a certificate (PEM)', ''],
      ['CERT_FILE', 'a certificate (PEM)', ` PETSTORE_ETCD_KEY_FILE=${FILE}`],
      ['KEY_FILE', 'a private key (PEM) without a passphrase', ` PETSTORE_ETCD_CERT_FILE=${FILE}`],
    ] as const
  ).map(([one, expected, others]) => {
    const given = `PETSTORE_ETCD=https://e:1 PETSTORE_ETCD_${one}=${NO_PEM}${others}`;
    const mistake = `must be a file with ${expected}, not "${NO_PEM}"`;
    return [given, `PETSTORE_ETCD_${one} ${mistake}`] as const;
  }),
  ...['x', '1048577', '5242881'].map((limit) => {
    const shown = limit === 'x' ? '"x"' : limit;
    const mistake = `must be an integer from 1 to 1048576 on etcd, not ${shown}`;
    return [`${ETCD} --body-limit ${limit}`, `--body-limit ${mistake}`] as const;
  }),
]);

test('What is wrong with options of etcd is found without its endpoints, too', async () => {
  const env = { PETSTORE_ETCD_PREFIX: 'a', PETSTORE_ETCD_CERT_FILE: FILE };
  assert.deepEqual(await mistakesIn(env, []), [
    'PETSTORE_ETCD_PREFIX must be visible ASCII characters that end in a slash, not "a"',
    NO_ETCD,
    'PETSTORE_ETCD_CERT_FILE requires PETSTORE_ETCD or --etcd',
    'PETSTORE_ETCD_CERT_FILE requires PETSTORE_ETCD_KEY_FILE',
  ]);
});

testWrongOptions([
  [
    withoutStore({ etcd: { endpoint: 'http://e:1' } }),
    'etcd.endpoint is not an option; the options are endpoints, …; etcd.endpoints must be 1 to 100 URLs …',
  ],
  [
    withoutStore({ etcd: 'http://u:pw@e' }),
    'etcd must be an object with endpoints, not "http://…@e"',
  ],
  [
    withoutStore({ etcd: { endpoints: [new URL('http://e:1')] } }),
    'etcd.endpoints must be URLs such as http://127.0.0.1:2379, without a path or a password, not an object',
  ],
]);
