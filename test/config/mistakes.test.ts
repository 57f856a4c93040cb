/** Mistakes in the configuration: each is reported with its name and without a key. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mistakesIn, type Env } from './read-config.ts';

const ETCD = 'PETSTORE_ETCD=http://e:1';
const URLS = '--etcd must be URLs such as http://127.0.0.1:2379, without a path or a password, not';

/** Variables and arguments, separated by blanks, and the one mistake in them. */
const MISTAKES: readonly (readonly [given: string, mistake: string])[] = [
  ['PETSTORE_MEMORY=yes', 'PETSTORE_MEMORY must be on or off, not "yes"'],
  ['--access-log true', '--access-log must be on or off, not "true"'],
  [`${ETCD} PETSTORE_DATA_FILE=p.json`, 'PETSTORE_ETCD cannot be combined with PETSTORE_DATA_FILE'],
  ['--etcd http://e:1 --memory', '--etcd cannot be combined with --memory'],
  [
    '--cors-origin *,https://shop.example/',
    '--cors-origin must be https://shop.example, not "https://shop.example/"',
  ],
  [
    '--cors-origin HTTPS://me:secret@shop.example',
    '--cors-origin must be https://shop.example, not "HTTPS://…@shop.example"',
  ],
  ['PETSTORE_ETCD_PREFIX=a/', 'PETSTORE_ETCD_PREFIX requires PETSTORE_ETCD or --etcd'],
  [
    'PETSTORE_ETCD_PREFIX=a/ PETSTORE_DATA_FILE=p.json',
    'PETSTORE_ETCD_PREFIX requires PETSTORE_ETCD or --etcd',
  ],
  ...['e:2379', 'http://e:1/path', 'ftp://e', 'http://', 'http://e?x', ''].map(
    (url) => [`--etcd http://e:1,${url}`, `${URLS} ${JSON.stringify(url)}`] as const,
  ),
  ['--etcd http://user:secret@e:1', `${URLS} "http://…@e:1"`],
  ['--etcd user:sec//ret@e:1', `${URLS} "…@e:1"`],
  ['--etcd http://e:1,http://E:1/', '--etcd has http://e:1 twice'],
  [
    `${ETCD} --etcd-prefix pets`,
    '--etcd-prefix must be visible ASCII characters that end in a slash, not "pets"',
  ],
  [
    'PETSTORE_ETCD=https://e:1 PETSTORE_ETCD_CERT_FILE=cert.pem',
    'PETSTORE_ETCD_CERT_FILE requires PETSTORE_ETCD_KEY_FILE',
  ],
  [
    `${ETCD} PETSTORE_ETCD_KEY_FILE=key.pem`,
    'PETSTORE_ETCD_KEY_FILE requires PETSTORE_ETCD_CERT_FILE',
  ],
  [`${ETCD} PETSTORE_ETCD_CA_FILE=ca.pem`, 'PETSTORE_ETCD_CA_FILE requires an https:// endpoint'],
  [`${ETCD} PETSTORE_ETCD_USER=pets`, 'PETSTORE_ETCD_USER requires PETSTORE_ETCD_PASSWORD_FILE'],
  [
    `${ETCD} PETSTORE_ETCD_PASSWORD_FILE=p`,
    'PETSTORE_ETCD_PASSWORD_FILE requires PETSTORE_ETCD_USER',
  ],
  [
    `${ETCD} PETSTORE_BODY_LIMIT=1048577`,
    'PETSTORE_BODY_LIMIT must be at most 1048576 on etcd, not 1048577',
  ],
  [
    `${ETCD} --body-limit 5242881`,
    '--body-limit must be an integer from 1 to 5242880, not 5242881',
  ],
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
    assert.deepEqual(await mistakesIn(env, args), [mistake]);
  });
}

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
      assert.deepEqual(await mistakesIn({ ...env, [`${service}_PORT`]: url }, []), []);
    }
  }
});
