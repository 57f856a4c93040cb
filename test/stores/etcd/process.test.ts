/** The process on etcd: its commands, and a start that waits for the cluster. */

import { once } from 'node:events';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { withFile } from '../../../src/core/store/disk.ts';
import { nodeDisk } from '../../../src/core/store/node-disk.ts';
import { A_PATH, runHere, testCalls, type Call } from '../../process/calls.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { listen } from '../../support/http/service.ts';
import { end, logged } from '../../support/process/process.ts';
import { openSupervisor } from '../../support/process/supervisor.ts';

const URLS = 'must be 1 to 100 URLs such as http://127.0.0.1:2379, without a path or a password';
const ENDS = 'Expected --from and --to-etcd, or --from-etcd and --to: see --help';

testCalls([
  ['init-etcd', {}, 2, `petstore: PETSTORE_ETCD or --etcd ${URLS}\n`],
  ...['copy-pets', 'copy-pets --from a --to b'].map((args): Call => {
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
]);

test('While a data file is copied into etcd, no service can start on it', async (t) => {
  const folder = tempDir(t);
  const from = join(folder, 'pets.json');
  writeFileSync(from, '[]');
  const locked: boolean[] = [];
  const member = http.createServer(async (_request, response) => {
    locked.push(await withFile(nodeDisk, from, (file) => file.lock('exclusive')));
    response.end('{"code":7,"message":"permission denied"}');
  });
  const etcd = `http://127.0.0.1:${await listen(member)}`;
  t.after(() => member.close());
  const { stderr } = await runHere(['copy-pets', '--from', from, '--to-etcd', etcd], folder);
  assert.match(stderr, /permission denied/);
  assert.deepEqual(locked, [false]);
});

test('While a service waits for its cluster, it heeds SIGHUP and SIGTERM', async (t) => {
  const silent = createServer();
  const port = await listen(silent);
  t.after(() => silent.close());
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'a-key\n');
  const etcd = ['--etcd', `http://127.0.0.1:${port}`];
  // With an inherited socket, the service opens its store before it listens.
  const service = openSupervisor(t).start([...etcd, '--api-keys-file', keysFile], {});
  await once(silent, 'connection');
  service.child.kill('SIGHUP');
  await logged(service, '"Read the API keys again"');
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.match(service.stderr(), /"Read the API keys again"[^]*"Stopping"[^]*"Stopped"/);
});
