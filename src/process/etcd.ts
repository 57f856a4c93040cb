/**
 * The settings for `extras/etcd`, and its commands: `init-etcd` makes a new log in a cluster, which
 * a service needs before its first start. `copy-pets` copies all pets from a data file into a
 * cluster, or back; the same command resumes an import that was interrupted.
 *
 * The modules that do the work of a command are loaded when it is named.
 */

import { errorTexts } from '../core/base/option-error.ts';
import { counted } from '../core/base/quote.ts';
import { makeDataFile, withUnusedFile } from '../core/store/copies.ts';
import type { Tables } from '../core/store/tables.ts';
import { DEFAULT_PREFIX, etcdErrors, type EtcdOptions } from '../extras/etcd/etcd-options.ts';
import {
  readDataFilePath,
  type Command,
  type CommandLine,
  type Environment,
} from './command-line.ts';
import type { Backend } from './greeting.ts';
import { diskWithProgress } from './progress.ts';
import { GivenSettings, text, urls, type Setting } from './setting.ts';

const ENDPOINTS: Setting<readonly string[] | undefined> = {
  option: 'etcd.endpoints',
  variable: 'PETSTORE_ETCD',
  flag: 'etcd',
  parser: urls,
  default: undefined,
  help: 'keep pets in etcd: endpoints of one cluster',
};

const PREFIX: Setting<string> = {
  option: 'etcd.prefix',
  variable: 'PETSTORE_ETCD_PREFIX',
  flag: 'etcd-prefix',
  parser: text('<prefix>'),
  default: DEFAULT_PREFIX,
  help: 'of all keys in etcd',
};

const WITHOUT_FLAG: readonly Setting<string | undefined>[] = [
  withoutFlag('caFile', 'CA_FILE', 'the authority of https:// endpoints (PEM)'),
  withoutFlag('certFile', 'CERT_FILE', "the service's certificate for them (PEM)"),
  withoutFlag('keyFile', 'KEY_FILE', 'the private key of that certificate (PEM)'),
  withoutFlag('user', 'USER', "the user's name, if authentication is on in etcd"),
  withoutFlag('passwordFile', 'PASSWORD_FILE', "a file with the user's password"),
];

function withoutFlag(option: string, word: string, help: string): Setting<string | undefined> {
  const variable = `PETSTORE_ETCD_${word}`;
  return {
    option: `etcd.${option}`,
    variable,
    flag: '',
    parser: text(''),
    default: undefined,
    help,
  };
}

export const ETCD_SETTINGS: readonly Setting<unknown>[] = [ENDPOINTS, PREFIX, ...WITHOUT_FLAG];

/** Returns the options for etcd, if endpoints are given. */
export function readEtcdOptions(settings: GivenSettings): { readonly etcd?: EtcdOptions } {
  const others = Object.fromEntries(
    [PREFIX, ...WITHOUT_FLAG].map((setting) => {
      return [setting.option.slice('etcd.'.length), settings.given(setting)];
    }),
  );
  const endpoints = settings.given(ENDPOINTS);
  if (endpoints !== undefined) return { etcd: { endpoints, ...others } };
  const isAnyGiven = Object.values(others).some((value) => value !== undefined);
  if (isAnyGiven) settings.unfit['etcd'] = others;
  return {};
}

/**
 * Reads the options of etcd for a command, and adds what is wrong with them to the mistakes of the
 * line. The flag that names the endpoints may be another one than that of the service.
 */
function readForCommand(
  { flags, mistakes }: CommandLine,
  env: Environment,
  flag = 'etcd',
): EtcdOptions {
  // Without --etcd its variable counts. That another flag, or a value, is missing is reported by
  // then: any endpoint stands for it.
  const given = flags.get(flag) || (flag === 'etcd' && !flags.has(flag) ? '' : 'https://missing');
  const settings = new GivenSettings(ETCD_SETTINGS, env, new Map([...flags, ['etcd', given]]));
  const { etcd } = readEtcdOptions(settings);
  const errors = etcdErrors(etcd ?? settings.unfit['etcd'] ?? {}, 'etcd.');
  const ownName = (option: string): string =>
    settings.nameOf(option).replace(/--etcd$/, `--${flag}`);
  mistakes.push(...settings.unknownVariables('PETSTORE_ETCD'));
  mistakes.push(...errorTexts(errors, ownName));
  return etcd ?? { endpoints: [] };
}

/** Returns where the pets are, for the greeting and the log. */
export function describeEtcd({ endpoints, prefix = DEFAULT_PREFIX }: EtcdOptions): Backend {
  const sentence = `keeps its pets in etcd at ${endpoints.join(', ')}, under ${prefix}`;
  return { sentence, details: { etcd: endpoints.join(), prefix } };
}

export const initEtcd: Command = {
  usage: `Usage: petstore init-etcd [--etcd URLS] [--etcd-prefix PREFIX]

Makes a new log without pets in an etcd cluster, unless a ready log exists. PETSTORE_ETCD,
PETSTORE_ETCD_PREFIX and the other variables for etcd are as for the service. All endpoints must
respond, and the user needs the right to write the prefix.
`,
  flags: { etcd: 'text', 'etcd-prefix': 'text' },
  read(line, { env, print }) {
    const etcd = readForCommand(line, env);
    const { prefix = DEFAULT_PREFIX } = etcd;
    return async () => {
      const { initEtcd: initLog } = await import('../extras/etcd/open-log.ts');
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
    // That the flag, or its value, is missing is among the mistakes.
    const named = flags.get(end);
    const file = named ? readDataFilePath(line, named, `--${end}`) : '';
    const etcd = readForCommand(line, env, etcdEnd);
    return async () => {
      const { importPets, exportPets } = await import('../extras/etcd/import-pets.ts');
      const { joinCluster } = await import('../extras/etcd/join-cluster.ts');
      const { prefix = DEFAULT_PREFIX } = etcd;
      const disk = diskWithProgress(showProgress);
      const copy = async (data?: Tables): Promise<void> => {
        // An import makes a log, so every endpoint must respond, and belong to the same cluster.
        const deps = await joinCluster(etcd, isImport ? 'all' : 'half');
        try {
          if (data !== undefined) {
            await importPets(deps, prefix, data, (done, total) =>
              showProgress(`${Math.floor((100 * done) / total)} % `),
            );
            print(`${counted(data.pets.length, 'pet')} of ${file} copied to etcd, under ${prefix}`);
            return;
          }
          const { pets, keys } = await exportPets(deps, prefix);
          await makeDataFile(disk, file, { pets, keys });
          print(`${counted(pets.length, 'pet')} from etcd, under ${prefix}, copied to ${file}`);
        } finally {
          deps.calls.close();
        }
      };
      await (isImport ? withUnusedFile(disk, file, copy) : copy());
    };
  },
};
