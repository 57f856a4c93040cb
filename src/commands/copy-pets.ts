/**
 * Copies all pets from a data file into an etcd cluster, or back.
 *
 *     petstore copy-pets --from data/pets.json --to-etcd http://127.0.0.1:2379 [--prefix petstore/]
 *     petstore copy-pets --from-etcd http://127.0.0.1:2379 [--prefix petstore/] --to pets.json
 *
 * The target of an import must have no log, and that of an export must not exist. The same command
 * resumes an import that was interrupted. Certificates, user and password come from the
 * environment, as for the service. Exit code 0: everything was copied. 1: it was not. 2: the
 * arguments are invalid.
 */

import { parseArgs } from 'node:util';
import { messageOf } from '../base/log.ts';
import { SETTINGS } from '../settings.ts';
import {
  DEFAULT_PREFIX,
  ETCD_OPTION_NAMES,
  etcdProblems,
  type EtcdOptionName,
  type EtcdOptions,
} from '../stores/etcd/etcd-options.ts';
import { exportPets, importPets } from '../stores/etcd/import-pets.ts';
import { joinCluster } from '../stores/etcd/join-cluster.ts';
import { nodeDisk } from '../stores/file/node-disk.ts';
import { loadDataFile, createDataFile } from '../stores/file/data-file.ts';

const USAGE = `Usage: petstore copy-pets --from FILE --to-etcd URLS [--prefix PREFIX]
       petstore copy-pets --from-etcd URLS [--prefix PREFIX] --to FILE

Copies all pets and idempotency keys from a data file into an etcd cluster, or back into a new file.
The prefix (${DEFAULT_PREFIX}) must have no log before. Stop the service of the data file first. If a
journal remains, as in a backup, start the service on the data file once, and stop it.
PETSTORE_ETCD_CA_FILE, _CERT_FILE, _KEY_FILE, _USER and _PASSWORD_FILE are as for the service.
`;

interface Copy {
  readonly file: string;
  readonly isImport: boolean;
  readonly etcd: EtcdOptions;
}

const copy = readCopy(process.argv.slice(2));
if (typeof copy === 'string') {
  const isHelp = copy === USAGE;
  process[isHelp ? 'stdout' : 'stderr'].write(isHelp ? USAGE : `petstore: ${copy}\n`);
  process.exit(isHelp ? 0 : 2);
}
await run(copy).catch((error: unknown) => {
  clearProgress();
  process.stderr.write(`petstore: ${messageOf(error)}\n`);
  process.exit(1);
});

/** Returns what to copy, or the text to print instead. */
function readCopy(args: readonly string[]): Copy | string {
  const text = { type: 'string' } as const;
  const options = { from: text, to: text, 'from-etcd': text, 'to-etcd': text, prefix: text };
  const help = { help: { type: 'boolean', short: 'h' } } as const;
  try {
    const { values } = parseArgs({ args: [...args], options: { ...options, ...help } });
    if (values.help === true) return USAGE;
    const ends = Object.keys(values)
      .filter((name) => name !== 'prefix')
      .sort();
    const isImport = ends.join() === 'from,to-etcd';
    if (!isImport && ends.join() !== 'from-etcd,to') {
      return 'Expected --from and --to-etcd, or --from-etcd and --to: see --help';
    }
    const urls = values['to-etcd'] ?? values['from-etcd'] ?? '';
    const endpoints = urls.split(',').map((url) => url.trim());
    const environment = fromEnvironment();
    const etcd = { ...environment, endpoints, prefix: values.prefix ?? environment.prefix };
    const problems = etcdProblems(etcd);
    if (problems.length > 0) {
      return problems.map(({ name, sentence }) => `${name} ${sentence}`).join('; ');
    }
    return { file: values.from ?? values.to ?? '', isImport, etcd };
  } catch (error) {
    return messageOf(error);
  }
}

function fromEnvironment(): Partial<EtcdOptions> {
  // An empty variable counts as not set.
  const textOf = (option: EtcdOptionName): string | undefined =>
    process.env[SETTINGS[`etcd.${option}`].variable ?? ''] || undefined;
  return Object.fromEntries(ETCD_OPTION_NAMES.map((option) => [option, textOf(option)]));
}

async function run({ file, isImport, etcd }: Copy): Promise<void> {
  const { prefix = DEFAULT_PREFIX } = etcd;
  const data = isImport ? await loadDataFile(nodeDisk, file) : undefined;
  // An import makes a log, so every endpoint must respond, and belong to the same cluster.
  const deps = await joinCluster(etcd, isImport ? 'all' : 'half');
  try {
    if (data !== undefined) {
      await importPets(deps, prefix, data, showProgress);
      clearProgress();
      console.log(`${data.pets.length} pets of ${file} are in etcd, under ${prefix}`);
      return;
    }
    const { pets, keys } = await exportPets(deps, prefix);
    await createDataFile(nodeDisk, file, { pets, keys });
    console.log(`${pets.length} pets from etcd, under ${prefix}, are in ${file}`);
  } finally {
    deps.calls.close();
  }
}

function showProgress(done: number, total: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${Math.floor((100 * done) / total)} % `);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}
