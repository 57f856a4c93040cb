/**
 * The commands for etcd: `init-etcd` makes a new log in a cluster, which a service needs before its
 * first start. `copy-pets` copies all pets from a data file into a cluster, or back; the same
 * command resumes an import that was interrupted.
 */

import { readDataFilePath, readEtcdOptions } from './config.ts';
import type { Command } from './command-line.ts';
import { DEFAULT_PREFIX } from '../extras/etcd/etcd-options.ts';
import { exportPets, importPets } from '../extras/etcd/import-pets.ts';
import { joinCluster } from '../extras/etcd/join-cluster.ts';
import { initEtcd as initLog } from '../extras/etcd/open-log.ts';
import { loadDataFile, makeDataFile } from '../core/store/copies.ts';
import { diskWithProgress } from './progress.ts';

export const initEtcd: Command = {
  usage: `Usage: petstore init-etcd [--etcd URLS] [--etcd-prefix PREFIX]

Makes a new log without pets in an etcd cluster, unless a ready log exists. PETSTORE_ETCD,
PETSTORE_ETCD_PREFIX and the other variables for etcd are as for the service. All endpoints must
respond, and the user needs the right to write the prefix.
`,
  flags: { etcd: 'text', 'etcd-prefix': 'text' },
  read(line, { env, print }) {
    const etcd = readEtcdOptions(line, env);
    const { prefix = DEFAULT_PREFIX } = etcd;
    return async () => {
      const isMade = (await initLog(etcd)) === 'made';
      if (isMade) print(`A new log was made in etcd, under ${prefix}`);
      else print(`A ready log was found in etcd, under ${prefix}, and left as it is`);
    };
  },
};

export const copyPets: Command = {
  usage: `Usage: petstore copy-pets --from FILE --to-etcd URLS [--etcd-prefix PREFIX]
       petstore copy-pets --from-etcd URLS [--etcd-prefix PREFIX] --to FILE

Copies all pets and idempotency keys from a data file into an etcd cluster, or back into a new file.
The prefix (${DEFAULT_PREFIX}) must have no log before. Stop the service of the data file first.
PETSTORE_ETCD_CA_FILE, _CERT_FILE, _KEY_FILE, _USER and _PASSWORD_FILE are as for the service.
`,
  flags: {
    from: 'text',
    to: 'text',
    'from-etcd': 'text',
    'to-etcd': 'text',
    'etcd-prefix': 'text',
  },
  read(line, { env, print, showProgress }) {
    const { flags, mistakes } = line;
    const ends = ['from', 'to', 'from-etcd', 'to-etcd'].filter((name) => flags.has(name)).join();
    const isImport = flags.has('to-etcd');
    if (ends !== 'from,to-etcd' && ends !== 'to,from-etcd') {
      mistakes.push('Expected --from and --to-etcd, or --from-etcd and --to: see --help');
    }
    const [end, etcdEnd] = isImport ? ['from', 'to-etcd'] : ['to', 'from-etcd'];
    const file = readDataFilePath(line, flags.get(end) ?? '', `--${end}`);
    const etcd = readEtcdOptions(line, env, `--${etcdEnd}`);
    return async () => {
      const { prefix = DEFAULT_PREFIX } = etcd;
      const disk = diskWithProgress(showProgress);
      const data = isImport ? await loadDataFile(disk, file) : undefined;
      // An import makes a log, so every endpoint must respond, and belong to the same cluster.
      const deps = await joinCluster(etcd, isImport ? 'all' : 'half');
      try {
        if (data !== undefined) {
          await importPets(deps, prefix, data, (done, total) =>
            showProgress(`${Math.floor((100 * done) / total)} % `),
          );
          print(`${data.pets.length} pets of ${file} are in etcd, under ${prefix}`);
          return;
        }
        const { pets, keys } = await exportPets(deps, prefix);
        await makeDataFile(disk, file, { pets, keys });
        print(`${pets.length} pets from etcd, under ${prefix}, are in ${file}`);
      } finally {
        deps.calls.close();
      }
    };
  },
};
