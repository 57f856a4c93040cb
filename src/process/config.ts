/**
 * The configuration: environment variables, and flags, which override them. It converts their texts
 * to the options of an app, and remembers where each came from, so that what is wrong with an
 * option is reported under the name that the user typed.
 *
 * All mistakes are reported together, not one per start. An empty variable counts as not set, since
 * compose files and shells leave out a value in this way.
 */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { createApiKey } from '../core/app/api-keys.ts';
import { readApiKeys, type ApiKeySource, type GivenText } from './read-api-keys.ts';
import { integer } from '../core/app/service-options.ts';
import { aFile, optionProblems, pathOf, type AppOptions } from '../app.ts';
import type { CommandLine, Environment, FlagKind } from './command-line.ts';
import { nearest } from './nearest.ts';
import { aText, mustBe, problemTexts, type Problem } from '../core/base/problem.ts';
import { LIMITS } from '../core/http/limits.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../core/http/request-body.ts';
import { DEFAULT_PREFIX, etcdProblems, type EtcdOptions } from '../extras/etcd/etcd-options.ts';

const DEFAULT_PORT = 8080;
const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_IDLE_S = LIMITS.keepAliveTimeout / 1000;
/** The longest time of a balancer that is known is an hour. */
const MAX_IDLE_S = 86_400;
/** Under the working directory. */
const DEFAULT_DATA_FILE = 'data/pets.json';

/** A setting of the process. Its flag has the name of its variable without PETSTORE_, or none. */
type Setting = Readonly<Record<'option' | 'variable' | 'placeholder' | 'help' | 'flag', string>>;

/**
 * The settings under the names of their options, in the order of the help: the variable, what
 * follows the flag, and the help. What follows the flag says what a text means: a number, on or
 * off, a list, or the text itself. If it is empty, there is no flag.
 */
const SETTINGS: Readonly<Record<string, readonly [string, string, string]>> = {
  port: ['PORT', '<number>', `port to listen on, 0 for any (${DEFAULT_PORT})`],
  host: ['HOST', '<address>', `address to bind to (${DEFAULT_HOST})`],
  prefix: ['PETSTORE_PREFIX', '<path>', 'what every path begins with, such as /shop (none)'],
  dataFile: ['PETSTORE_DATA_FILE', '<path>', `the data file (${DEFAULT_DATA_FILE})`],
  memory: ['PETSTORE_MEMORY', '[on|off]', 'keep pets in memory; a data file is only read (off)'],
  'etcd.endpoints': ['PETSTORE_ETCD', '<url,url>', 'keep pets in etcd: endpoints of one cluster'],
  'etcd.prefix': ['PETSTORE_ETCD_PREFIX', '<prefix>', `of all keys in etcd (${DEFAULT_PREFIX})`],
  'etcd.caFile': ['PETSTORE_ETCD_CA_FILE', '', 'the authority of https:// endpoints (PEM)'],
  'etcd.certFile': ['PETSTORE_ETCD_CERT_FILE', '', "the service's certificate for them (PEM)"],
  'etcd.keyFile': ['PETSTORE_ETCD_KEY_FILE', '', 'the private key of that certificate (PEM)'],
  'etcd.user': ['PETSTORE_ETCD_USER', '', "the user's name, if authentication is on in etcd"],
  'etcd.passwordFile': ['PETSTORE_ETCD_PASSWORD_FILE', '', "a file with the user's password"],
  apiKeysFile: ['PETSTORE_API_KEYS_FILE', '<path>', 'API keys by line: [NAME: ]KEY[ read-metrics]'],
  apiKeys: ['PETSTORE_API_KEYS', '', 'API keys, separated by commas'],
  bodyLimitBytes: [
    'PETSTORE_BODY_LIMIT',
    '<number>',
    `bytes of a body (${DEFAULT_BODY_LIMIT_BYTES})`,
  ],
  idleTimeout: [
    'PETSTORE_IDLE_TIMEOUT',
    '<number>',
    `seconds that an idle connection is kept (${DEFAULT_IDLE_S})`,
  ],
  accessLog: ['PETSTORE_ACCESS_LOG', '[on|off]', 'log each response (off)'],
  page: ['PETSTORE_PAGE', '[on|off]', 'a page at / and a reference at /docs (on)'],
  corsOrigins: ['PETSTORE_CORS_ORIGIN', '<url,url>', 'origins of web pages to admit, or * (none)'],
};

/** The settings that a user can give. */
export const PROCESS_SETTINGS: readonly Setting[] = Object.entries(SETTINGS).map(
  ([option, [variable, placeholder, help]]) => {
    const flag = variable.replace('PETSTORE_', '').toLowerCase().replaceAll('_', '-');
    return { option, variable, placeholder, help, flag: placeholder && flag };
  },
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

/** The flags of the service. */
export const SERVICE_FLAGS: Readonly<Record<string, FlagKind>> = Object.fromEntries(
  PROCESS_SETTINGS.filter(({ flag }) => flag !== '').map(({ flag, placeholder }) => {
    return [flag, placeholder === '[on|off]' ? 'switch' : 'text'];
  }),
);

/** Reads the configuration, and adds what is wrong with it to the mistakes of the line. */
export async function readConfig(
  { flags, mistakes }: CommandLine,
  env: Environment,
  readTextFile: (path: string) => Promise<string>,
): Promise<Config> {
  const { values, given, nameOf, problems } = readSettings(env, flags);
  const { port = DEFAULT_PORT, host = DEFAULT_HOST, idleTimeout = DEFAULT_IDLE_S } = values;
  const { port: _port, host: _host, idleTimeout: _idle, apiKeysFile: _, ...others } = values;
  const apiKeySource = { list: given.get('apiKeys'), file: given.get('apiKeysFile') };
  const hasKeys = apiKeySource.list !== undefined || apiKeySource.file !== undefined;
  const generatedKey = hasKeys ? undefined : createApiKey();
  // Once, since a pipe such as /dev/stdin can be read only once.
  const keys = await readApiKeys(apiKeySource, readTextFile);
  const apiKeys = generatedKey === undefined ? keys.apiKeys : [generatedKey];
  const options = { page: true, ...others, ...backendOf(values), apiKeys };
  problems.push(...integer(0, 65_535)(port, 'port'), ...aHost(host, 'host'));
  problems.push(...integer(1, MAX_IDLE_S)(idleTimeout, 'idleTimeout'));
  // What is wrong with the keys has been found, and where they are.
  problems.push(...optionProblems(options).filter(({ option }) => !option.startsWith('apiKeys')));
  mistakes.push(...takenByNpm(env, mistakes.length > 0));
  mistakes.push(...unknownVariables(env), ...problemTexts(problems, nameOf), ...keys.mistakes);
  // All values are checked.
  const hostName = nameOf('host');
  const process = { port, host, hostName, idleTimeout };
  return { ...process, options, generatedKey, apiKeySource } as unknown as Config;
}

const aHost = aText(
  'an address or a name of this machine, such as 127.0.0.1',
  (value) => isIP(String(value)) > 0 || /^[A-Za-z0-9._-]+$/.test(String(value)),
);

/**
 * Reads the options of etcd for a command, and adds what is wrong with them to the mistakes of the
 * line. The flag that names the endpoints may be another one than that of the service.
 */
export function readEtcdOptions(
  { flags, mistakes }: CommandLine,
  env: Environment,
  endpointsFlag = '--etcd',
): EtcdOptions {
  const given = flags.get(endpointsFlag.slice(2)) ?? (endpointsFlag === '--etcd' ? undefined : '');
  // That the flag or its value is missing ('') is reported by then. Any endpoint stands for it.
  const endpoints = given === '' ? 'https://missing' : (given ?? '');
  const { values, nameOf } = readSettings(env, new Map([...flags, ['etcd', endpoints]]));
  const ownName = (option: string): string => nameOf(option).replace(/--etcd$/, endpointsFlag);
  const { etcd = {} } = values;
  mistakes.push(...unknownVariables(env, 'PETSTORE_ETCD'));
  mistakes.push(...problemTexts(etcdProblems(etcd, 'etcd.'), ownName));
  return etcd as EtcdOptions;
}

/** Returns the path of a data file for a command. Adds what is wrong with it, unless it is ''. */
export function readDataFilePath({ mistakes }: CommandLine, text: unknown, name: string): string {
  if (text !== '') mistakes.push(...problemTexts(aFile(text, name)));
  return pathOf(text) ?? '';
}

/** The same for the data file of the service, if a command names none. */
export function dataFileOf(line: CommandLine, env: Environment): string {
  const { values, nameOf, problems } = readSettings(env, new Map());
  const { etcd, dataFile, memory } = backendOf(values);
  line.mistakes.push(...unknownVariables(env), ...problemTexts(problems, nameOf));
  const file = etcd === undefined ? (dataFile ?? (memory as Values)['dataFile']) : undefined;
  if (file !== undefined) return readDataFilePath(line, file, nameOf('dataFile'));
  line.mistakes.push('As configured, the service has no data file: name one');
  return '';
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Reads texts from the flags, and then from the variables. A text that is no value of its setting
 * stays a text. The options of etcd are members of `etcd`.
 */
function readSettings(env: Environment, flags: ReadonlyMap<string, string>) {
  const values: Record<string, unknown> = {};
  const given = new Map<string, GivenText>();
  const problems: Problem[] = [];
  for (const { option: name, variable, placeholder, flag } of PROCESS_SETTINGS) {
    const flagText = flags.get(flag) || undefined;
    const text = flagText ?? env[variable] ?? '';
    if (text === '') continue;
    given.set(name, { name: flagText === undefined ? variable : `--${flag}`, text });
    let value: unknown = text;
    if (placeholder === '<number>' && /^[0-9]{1,15}$/.test(text)) value = Number(text);
    if (placeholder === '<url,url>') value = text.split(',').map((part) => part.trim());
    if (placeholder === '[on|off]') {
      if (text !== 'on' && text !== 'off') problems.push(mustBe(name, 'on or off', text));
      value = text === 'on';
    }
    if (!name.startsWith('etcd.')) values[name] = value;
    else values['etcd'] = { ...(values['etcd'] as object), [name.slice('etcd.'.length)]: value };
  }
  /** Returns the flag or variable that an option came from, or both if it is not given. */
  const nameOf = (option: string): string => {
    const plain = option.replace(/^memory\.|\[[0-9]+\]$/g, '').replace(/^etcd$/, 'etcd.endpoints');
    const { variable, flag } = PROCESS_SETTINGS.find((setting) => setting.option === plain)!;
    return given.get(plain)?.name ?? (flag === '' ? variable : `${variable} or --${flag}`);
  };
  return { values, given, nameOf, problems };
}

/** Returns the options for the backend that is configured: a data file, memory or etcd. */
function backendOf({ dataFile: named, memory, etcd }: Values): Values {
  const path = pathOf(named);
  const file = path === undefined ? named : resolve(path);
  if (etcd !== undefined) return { dataFile: file, memory: memory || undefined, etcd };
  if (memory === true) {
    return { dataFile: undefined, memory: file === undefined || { dataFile: file } };
  }
  return { dataFile: file ?? resolve(DEFAULT_DATA_FILE), memory: undefined };
}

/** `npm start --memory` would silently start without it: npm takes what stands before `--`. */
function takenByNpm(env: Environment, hasMistakes: boolean): readonly string[] {
  const { npm_package_name: project, npm_lifecycle_event: script } = env;
  if (project !== 'petstore' || script !== 'start') return [];
  // npm has an option `prefix` of its own, and passes on each as a variable.
  const flags = Object.keys(SERVICE_FLAGS).filter((flag) => flag !== 'prefix');
  const taken = flags.filter((flag) => env[`npm_config_${flag.replaceAll('-', '_')}`]);
  if (taken.length === 0 && hasMistakes) {
    return ['npm passes on only what stands after --, as in npm start -- --port 8080'];
  }
  return taken.map((flag) => `npm took --${flag} for itself: write npm start -- --${flag}`);
}

/** Without this check, a misspelt variable would silently mean the default. */
function unknownVariables(env: Environment, start = 'PETSTORE_'): readonly string[] {
  const variables = PROCESS_SETTINGS.map(({ variable }) => variable);
  const withPrefix = variables.map((name) => name.replace(/^(?!PETSTORE_)/, 'PETSTORE_'));
  return Object.keys(env)
    .sort()
    .filter((name) => name.startsWith(start) && !variables.includes(name))
    .filter((name) => !isOfKubernetes(name, env))
    .map((name) => {
      const meant = variables[withPrefix.indexOf(nearest(name, withPrefix))];
      return `Unknown variable ${name}: did you mean ${meant}?`;
    });
}

/**
 * True for the variables that Kubernetes sets for a Service named `petstore`, `petstore-etcd` or
 * alike. It sets PETSTORE_PORT to a URL (tcp://…): a number comes from a user, who means PORT.
 */
function isOfKubernetes(name: string, env: Environment): boolean {
  if (/^PETSTORE_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)(?:_|$)|PORT_)/.test(name)) return true;
  return /^PETSTORE_(?:\w+_)?PORT$/.test(name) && !/^[0-9]+$/.test(env[name] ?? '');
}
