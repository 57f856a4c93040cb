/**
 * Makes a new log in an etcd cluster. A service needs one before its first start.
 *
 *     petstore init-etcd [--etcd URLS], or node dist/server.js init-etcd
 *
 * The settings are those of the service: PETSTORE_ETCD and the variables that begin with it. Exit
 * code 0: the log was made, or a ready one was found. 1: neither. 2: a setting is invalid.
 */

import { messageOf } from '../base/log.ts';
import { readConfig } from '../config.ts';
import { DEFAULT_PREFIX } from '../stores/etcd/etcd-options.ts';
import { initEtcd } from '../stores/etcd/open-log.ts';

const USAGE = `Usage: petstore init-etcd [--etcd URLS]

Makes a new log without pets in an etcd cluster, unless a ready log exists. PETSTORE_ETCD,
PETSTORE_ETCD_PREFIX and the other variables for etcd are as for the service. All endpoints must
respond, and the user needs the right to write the prefix.
`;

await run(process.argv.slice(2));

async function run(args: readonly string[]): Promise<void> {
  // The other settings do not matter here, and the API keys file may be unreadable.
  const etcdOnly = Object.entries(process.env).filter(([name]) => name.startsWith('PETSTORE_ETCD'));
  const noFile = (): Promise<string> => Promise.reject(new Error('No file is read here'));
  const result = await readConfig(Object.fromEntries(etcdOnly), args, noFile);
  if (result.kind === 'mistakes') return fail(result.mistakes, 2);
  if (result.kind !== 'run') {
    process.stdout.write(USAGE);
    return;
  }
  const { etcd } = result.config;
  if (etcd === undefined) return fail(['PETSTORE_ETCD or --etcd must name the endpoints'], 2);
  const { prefix = DEFAULT_PREFIX } = etcd;
  try {
    const isMade = (await initEtcd(etcd)) === 'made';
    console.log(
      isMade
        ? `A new log was made in etcd, under ${prefix}`
        : `A ready log was found in etcd, under ${prefix}, and left as it is`,
    );
  } catch (error) {
    fail([messageOf(error)], 1);
  }
}

function fail(messages: readonly string[], exitCode: number): void {
  for (const message of messages) process.stderr.write(`petstore: ${message}\n`);
  process.exitCode = exitCode;
}
