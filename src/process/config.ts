/**
 * The configuration: the settings of the core, those of the extras, and the options that they mean.
 * What is wrong with an option is reported under the name that the user typed, and all mistakes
 * together, not one per start.
 */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { BACKENDS, optionErrors, pathOf, type AppOptions } from '../app.ts';
import { createApiKey } from '../core/app/api-keys.ts';
import { integer } from '../core/app/service-options.ts';
import { silentLogger } from '../core/base/logger.ts';
import { aText, errorTexts } from '../core/base/option-error.ts';
import { LIMITS } from '../core/http/limits.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../core/http/request-body.ts';
import {
  readDataFilePath,
  type CommandLine,
  type Environment,
  type FlagKind,
} from './command-line.ts';
import { ETCD_SETTINGS, readEtcdOptions } from './etcd.ts';
import { ACCESS_LOG, CORS_ORIGINS, readOpsOptions } from './ops.ts';
import { readApiKeys, type ApiKeySource } from './read-api-keys.ts';
import { GivenSettings, onOrOff, text, wholeNumber, type Setting } from './setting.ts';
import { PAGE, readWebOptions } from './web.ts';

const aHost = aText(
  'an address or a name of this machine, such as 127.0.0.1',
  (value) => isIP(String(value)) > 0 || /^[A-Za-z0-9._-]+$/.test(String(value)),
);

const PORT: Setting<number> = {
  option: 'port',
  variable: 'PORT',
  flag: 'port',
  parser: wholeNumber(integer(0, 65_535)),
  default: 8080,
  help: 'port to listen on, 0 for any',
};

const HOST: Setting<string> = {
  option: 'host',
  variable: 'HOST',
  flag: 'host',
  parser: text('<address>', aHost),
  default: '127.0.0.1',
  help: 'address to bind to',
};

const PREFIX: Setting<string> = {
  option: 'prefix',
  variable: 'PETSTORE_PREFIX',
  flag: 'prefix',
  parser: text('<path>'),
  default: '',
  help: 'what every path begins with, such as /shop',
};

/** The default is under the working directory. */
const DATA_FILE: Setting<string> = {
  option: 'dataFile',
  variable: 'PETSTORE_DATA_FILE',
  flag: 'data-file',
  parser: text('<path>'),
  default: 'data/pets.json',
  help: 'the data file',
};

const MEMORY: Setting<boolean> = {
  option: 'memory',
  variable: 'PETSTORE_MEMORY',
  flag: 'memory',
  parser: onOrOff,
  default: false,
  help: 'keep pets in memory; a data file is only read',
};

const API_KEYS_FILE: Setting<string | undefined> = {
  option: 'apiKeysFile',
  variable: 'PETSTORE_API_KEYS_FILE',
  flag: 'api-keys-file',
  parser: text('<path>'),
  default: undefined,
  help: 'API keys by line: [NAME: ]KEY[ read-metrics]',
};

const API_KEYS: Setting<string | undefined> = {
  option: 'apiKeys',
  variable: 'PETSTORE_API_KEYS',
  flag: '',
  parser: text(''),
  default: undefined,
  help: 'API keys, separated by commas',
};

const BODY_LIMIT: Setting<number> = {
  option: 'bodyLimitBytes',
  variable: 'PETSTORE_BODY_LIMIT',
  flag: 'body-limit',
  parser: wholeNumber(),
  default: DEFAULT_BODY_LIMIT_BYTES,
  help: 'bytes of a body',
};

/** In seconds. The longest time of a balancer that is known is an hour. */
const IDLE_TIMEOUT: Setting<number> = {
  option: 'idleTimeout',
  variable: 'PETSTORE_IDLE_TIMEOUT',
  flag: 'idle-timeout',
  parser: wholeNumber(integer(1, 86_400)),
  default: LIMITS.keepAliveTimeout / 1000,
  help: 'seconds that an idle connection is kept',
};

/** All settings, in the order of the help. An extra has a line here, and one in `readExtras`. */
export const PROCESS_SETTINGS: readonly Setting<unknown>[] = [
  ...[PORT, HOST, PREFIX, DATA_FILE, MEMORY],
  ...ETCD_SETTINGS,
  ...[API_KEYS_FILE, API_KEYS, BODY_LIMIT, IDLE_TIMEOUT],
  ACCESS_LOG,
  PAGE,
  CORS_ORIGINS,
];

/** Returns the options of the extras. */
function readExtras(settings: GivenSettings) {
  return {
    ...readEtcdOptions(settings),
    ...readOpsOptions(settings),
    ...readWebOptions(settings),
  };
}

/** The flags of the service. */
export const SERVICE_FLAGS: Readonly<Record<string, FlagKind>> = Object.fromEntries(
  PROCESS_SETTINGS.filter(({ flag }) => flag !== '').map(({ flag, parser }) => [
    flag,
    parser.flagKind,
  ]),
);

export interface Config {
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** The flag or the variable that the host came from, or both if it is the default. */
  readonly hostName: string;
  /** In seconds. */
  readonly idleTimeout: number;
  readonly options: AppOptions;
  /** The only API key, if none is configured. */
  readonly generatedKey: string | undefined;
  /** Where the API keys can be read again. */
  readonly apiKeySource: ApiKeySource;
}

/** Reads the configuration, and adds what is wrong with it to the mistakes of the line. */
export async function readConfig(
  { flags, mistakes }: CommandLine,
  env: Environment,
  readTextFile: (path: string) => Promise<string>,
): Promise<Config> {
  const settings = new GivenSettings(PROCESS_SETTINGS, env, flags);
  const apiKeySource = { list: settings.textOf(API_KEYS), file: settings.textOf(API_KEYS_FILE) };
  const hasKeys = apiKeySource.list !== undefined || apiKeySource.file !== undefined;
  const generatedKey = hasKeys ? undefined : createApiKey();
  // Once, since a pipe such as /dev/stdin can be read only once.
  const keys = await readApiKeys(apiKeySource, readTextFile);
  const config = {
    options: {
      ...readOptions(settings),
      apiKeys: generatedKey === undefined ? keys.apiKeys : [generatedKey],
    },
    port: settings.read(PORT),
    host: settings.read(HOST),
    hostName: settings.nameOf('host'),
    idleTimeout: settings.read(IDLE_TIMEOUT),
    generatedKey,
    apiKeySource,
  };
  // What is wrong with the keys has been found, and where they are.
  // The process has a log.
  const given = { log: silentLogger, ...config.options, ...settings.unfit };
  const errors = optionErrors(given).filter(({ option }) => !option.startsWith('apiKeys'));
  mistakes.push(...takenByNpm(env, mistakes.length > 0));
  mistakes.push(...settings.unknownVariables('PETSTORE_'));
  mistakes.push(...errorTexts([...settings.errors, ...errors], settings.nameOf));
  mistakes.push(...keys.mistakes);
  return config;
}

/** Returns the options of the app, except for the API keys. */
function readOptions(settings: GivenSettings): Omit<AppOptions, 'apiKeys'> {
  const isInMemory = settings.read(MEMORY);
  const extras = readExtras(settings);
  const given = settings.given(DATA_FILE);
  const path = pathOf(given);
  // A path that means nothing stays, for its check.
  const file = path === undefined ? given : resolve(path);
  const options = {
    ...extras,
    prefix: settings.read(PREFIX),
    bodyLimitBytes: settings.read(BODY_LIMIT),
  };
  if (keepsPets({ ...extras, ...settings.unfit })) {
    return { ...options, dataFile: file, memory: isInMemory || undefined };
  }
  if (isInMemory) return { ...options, memory: file === undefined || { dataFile: file } };
  return { ...options, dataFile: file ?? resolve(DATA_FILE.default) };
}

/** True if one of these options says where the pets are. */
function keepsPets(options: object): boolean {
  return BACKENDS.some((name) => name in options);
}

/** Returns the path of the service's data file, for a command that names none. */
export function dataFileOf(line: CommandLine, env: Environment): string {
  const settings = new GivenSettings(PROCESS_SETTINGS, env, new Map());
  const { dataFile, memory, ...others } = { ...readOptions(settings), ...settings.unfit };
  line.mistakes.push(...settings.unknownVariables('PETSTORE_'));
  line.mistakes.push(...errorTexts(settings.errors, settings.nameOf));
  const file = dataFile ?? (typeof memory === 'object' ? memory.dataFile : undefined);
  if (file !== undefined && !keepsPets(others)) {
    return readDataFilePath(line, file, settings.nameOf('dataFile'));
  }
  line.mistakes.push('As configured, the service has no data file: name one');
  return '';
}

/** `npm start --memory` would silently start without it: npm takes what stands before `--`. */
function takenByNpm(env: Environment, hasMistakes: boolean): readonly string[] {
  const call = npmCall(env);
  if (call === undefined) return [];
  // npm has an option `prefix` of its own, and passes on each as a variable.
  const flags = Object.keys(SERVICE_FLAGS).filter((flag) => flag !== 'prefix');
  const taken = flags.filter((flag) => env[`npm_config_${flag.replaceAll('-', '_')}`]);
  if (taken.length === 0 && hasMistakes) {
    return [`npm passes on only what stands after --, as in ${call} --port 8080`];
  }
  return taken.map((flag) => `npm took --${flag} for itself: write ${call} --${flag}`);
}

/** Returns how npm was called to start the service, if it was, so that all options get here. */
function npmCall(env: Environment): string | undefined {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = env;
  if (event === 'start' && env['npm_package_name'] === 'petstore') return 'npm start --';
  return event === 'npx' && /^['"]?petstore\b/.test(script) ? 'npx --no -- petstore' : undefined;
}
