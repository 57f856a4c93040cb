/** Makes a new log in an etcd cluster. A service needs one before its first start. */

import { readEtcdOptions } from '../config.ts';
import { DEFAULT_PREFIX } from '../../stores/etcd/etcd-options.ts';
import { initEtcd } from '../../stores/etcd/open-log.ts';
import type { Command } from './command.ts';

export const initEtcdCommand: Command = {
  usage: `Usage: petstore init-etcd [--etcd URLS] [--etcd-prefix PREFIX]

Makes a new log without pets in an etcd cluster, unless a ready log exists. PETSTORE_ETCD,
PETSTORE_ETCD_PREFIX and the other variables for etcd are as for the service. All endpoints must
respond, and the user needs the right to write the prefix.
`,
  flags: { etcd: 'text', 'etcd-prefix': 'text', prefix: '--etcd-prefix' },
  read(line, { env, print }) {
    const etcd = readEtcdOptions(line, env);
    const { prefix = DEFAULT_PREFIX } = etcd;
    return async () => {
      const isMade = (await initEtcd(etcd)) === 'made';
      if (isMade) print(`A new log was made in etcd, under ${prefix}`);
      else print(`A ready log was found in etcd, under ${prefix}, and left as it is`);
    };
  },
};
