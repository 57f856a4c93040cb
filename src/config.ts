/**
 * The configuration: environment variables, and flags of the same names over them.
 *
 * All mistakes are found and told at once, not one for each start. A variable that is set but empty
 * counts as not set, since that is how compose files and shells leave out a value.
 */

import { parseArgs } from 'node:util';
import type { ApiKeyOption } from './api-keys/api-key.ts';
import {
  parseKeyList,
  readApiKeys,
  type ApiKeySource,
  type ReadTextFile,
} from './api-keys/read-api-keys.ts';
import { isPrefix } from './api/paths.ts';
import { nearest } from './base/nearest.ts';
import { quote } from './base/quote.ts';
import { COMMANDS } from './commands.ts';
import { DEFAULT_BODY_LIMIT_BYTES, MAX_BODY_LIMIT_BYTES } from './http/request-body.ts';
import { originProblem } from './ops/cors.ts';
import {
  DEFAULT_PREFIX,
  etcdProblems,
  MAX_ETCD_BODY_BYTES,
  type EtcdOptionName,
  type EtcdOptions,
} from './stores/etcd/etcd-options.ts';

export interface Config {
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** Undefined on etcd, and in memory without starting data. */
  readonly dataFile: string | undefined;
  /** True where pets live in memory only; a data file is their starting data then. */
  readonly memory: boolean;
  readonly etcd: EtcdOptions | undefined;
  /** What every path of the service begins with: '' or '/shop'. */
  readonly prefix: string;
  readonly apiKeySource: ApiKeySource;
  readonly bodyLimitBytes: number;
  readonly accessLog: boolean;
  /** Origins, or `*`. */
  readonly corsOrigins: readonly string[];
  /** The page for people, at `/`. */
  readonly page: boolean;
}

export type ConfigResult =
  | { readonly kind: 'run'; readonly config: Config; readonly apiKeys: readonly ApiKeyOption[] }
  | { readonly kind: 'help' | 'version' }
  | { readonly kind: 'mistakes'; readonly mistakes: readonly string[] };

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the configuration. `args` are those after the script's name. */
export async function readConfig(
  env: Environment,
  args: readonly string[],
  readTextFile: ReadTextFile,
): Promise<ConfigResult> {
  const mistakes: string[] = [];
  const flags = readFlags(args, mistakes);
  if (flags.has('help')) return { kind: 'help' };
  if (flags.has('version')) return { kind: 'version' };
  checkVariables(env, mistakes);
  const setting = (name: SettingName): Setting | undefined => {
    const { flag, variable } = SETTINGS[name];
    const text = flag === undefined ? undefined : flags.get(flag);
    if (text !== undefined) return { name: `--${flag}`, text };
    const value = env[variable];
    return value === undefined || value === '' ? undefined : { name: variable, text: value };
  };
  const config: Config = {
    port: readInteger(setting('port'), 8080, 0, 65_535, mistakes),
    host: setting('host')?.text ?? '127.0.0.1',
    ...readPlace(setting, mistakes),
    prefix: readPrefix(setting('prefix'), mistakes),
    apiKeySource: {
      fixed: parseKeyList(SETTINGS.apiKeys.variable, setting('apiKeys')?.text ?? '', mistakes),
      file: setting('apiKeysFile')?.text,
    },
    bodyLimitBytes: readInteger(
      setting('bodyLimit'),
      DEFAULT_BODY_LIMIT_BYTES,
      1,
      MAX_BODY_LIMIT_BYTES,
      mistakes,
    ),
    accessLog: readSwitch(setting('accessLog'), mistakes),
    corsOrigins: readOrigins(setting('corsOrigin'), mistakes),
    page: readSwitch(setting('page'), mistakes, true),
  };
  if (config.etcd !== undefined) checkEtcd(config.etcd, config.bodyLimitBytes, setting, mistakes);
  // Read once: a pipe, such as /dev/stdin, gives its text only once.
  const apiKeys = await readApiKeys(config.apiKeySource, readTextFile, mistakes);
  return mistakes.length > 0 ? { kind: 'mistakes', mistakes } : { kind: 'run', config, apiKeys };
}

/** What can be set: how the user names it, and a line of the help. */
const SETTINGS = {
  port: {
    variable: 'PORT',
    flag: 'port',
    value: '<number>',
    help: 'port to listen on, 0 for any (8080)',
  },
  host: {
    variable: 'HOST',
    flag: 'host',
    value: '<address>',
    help: 'address to bind to (127.0.0.1)',
  },
  prefix: {
    variable: 'PETSTORE_PREFIX',
    flag: 'prefix',
    value: '<path>',
    help: 'what every path begins with, /shop for example (none)',
  },
  dataFile: {
    variable: 'PETSTORE_DATA_FILE',
    flag: 'data-file',
    value: '<path>',
    help: 'where the pets are (data/pets.json)',
  },
  memory: {
    variable: 'PETSTORE_MEMORY',
    flag: 'memory',
    value: '[on|off]',
    help: 'keep pets in memory only; a data file is read, and never written (off)',
  },
  etcd: {
    variable: 'PETSTORE_ETCD',
    flag: 'etcd',
    value: '<urls>',
    help: 'keep the pets in an etcd cluster: its endpoints, separated by commas (none)',
  },
  etcdPrefix: {
    variable: 'PETSTORE_ETCD_PREFIX',
    flag: undefined,
    value: '',
    help: `what their keys begin with there (${DEFAULT_PREFIX})`,
  },
  etcdCaFile: {
    variable: 'PETSTORE_ETCD_CA_FILE',
    flag: undefined,
    value: '',
    help: 'the authority of https:// endpoints (PEM)',
  },
  etcdCertFile: {
    variable: 'PETSTORE_ETCD_CERT_FILE',
    flag: undefined,
    value: '',
    help: 'the certificate that the service shows them (PEM)',
  },
  etcdKeyFile: {
    variable: 'PETSTORE_ETCD_KEY_FILE',
    flag: undefined,
    value: '',
    help: 'the key of that certificate (PEM)',
  },
  etcdUser: {
    variable: 'PETSTORE_ETCD_USER',
    flag: undefined,
    value: '',
    help: "the user's name, where etcd's auth is on",
  },
  etcdPasswordFile: {
    variable: 'PETSTORE_ETCD_PASSWORD_FILE',
    flag: undefined,
    value: '',
    help: 'a file with its password',
  },
  apiKeysFile: {
    variable: 'PETSTORE_API_KEYS_FILE',
    flag: 'api-keys-file',
    value: '<path>',
    help: 'API keys, one a line: [NAME: ]KEY[ read-metrics]; read again on SIGHUP',
  },
  apiKeys: {
    variable: 'PETSTORE_API_KEYS',
    flag: undefined,
    value: '',
    help: 'API keys, separated by commas',
  },
  bodyLimit: {
    variable: 'PETSTORE_BODY_LIMIT',
    flag: 'body-limit',
    value: '<bytes>',
    help: 'longest request body (65536)',
  },
  accessLog: {
    variable: 'PETSTORE_ACCESS_LOG',
    flag: 'access-log',
    value: '[on|off]',
    help: 'log each answer (off)',
  },
  corsOrigin: {
    variable: 'PETSTORE_CORS_ORIGIN',
    flag: 'cors-origin',
    value: '<list>',
    help: 'origins of web pages that may use the service, separated by commas, or * for all (none)',
  },
  page: {
    variable: 'PETSTORE_PAGE',
    flag: 'page',
    value: '<on|off>',
    help: 'a page for people at / (on)',
  },
} as const;

type SettingName = keyof typeof SETTINGS;

/** A flag of these means on where it has no value. */
const SWITCHES: readonly string[] = [SETTINGS.memory.flag, SETTINGS.accessLog.flag];

const COLUMNS = [26, 30] as const;

export const HELP: string = `Usage: petstore [options]    serves pets over HTTP, from a JSON file or an etcd cluster
       petstore <command>    does one of the other things below

Without the package it is: node dist/server.js. Without any API key a random one is made, and shown
once at start.

Commands:
${Object.entries(COMMANDS)
  .map(([name, { args, help }]) => `  ${`${name} ${args}`.padEnd(COLUMNS[0])}${help}\n`)
  .join('')}  help [command]            show this, or what a command takes

Options, and the environment variables that they override:
${Object.values(SETTINGS)
  .map(({ variable, flag, value, help }) => {
    const first = flag === undefined ? '' : `--${flag} ${value}`;
    return `  ${first.padEnd(COLUMNS[0])}${variable.padEnd(COLUMNS[1])}${help}\n`;
  })
  .join('')}  -h, --help                show this and exit
  --version                 show the version and exit
`;

interface Setting {
  /** As the user knows it: the flag or the variable. */
  readonly name: string;
  readonly text: string;
}

const VALUE_FLAGS: readonly string[] = Object.values(SETTINGS).flatMap(({ flag }) => flag ?? []);
const PLAIN_FLAGS: readonly string[] = ['help', 'version'];

function readFlags(args: readonly string[], mistakes: string[]): ReadonlyMap<string, string> {
  const options = Object.fromEntries([
    ...VALUE_FLAGS.map((flag) => [flag, { type: 'string' }] as const),
    ...PLAIN_FLAGS.map((flag) => [flag, { type: 'boolean' }] as const),
    ['help', { type: 'boolean', short: 'h' }] as const,
  ]);
  // Not strict, since strict parsing stops at the first mistake.
  const withValues = args.map((arg, index) => switchedOn(arg, args[index + 1]));
  const { tokens } = parseArgs({ args: withValues, options, strict: false, tokens: true });
  const flags = new Map<string, string>();
  let lastUnknown = -2;
  for (const token of tokens) {
    // What follows an unknown option is its value, perhaps.
    if (token.kind === 'positional' && token.index !== lastUnknown + 1) {
      // It is not quoted: it may be a key that was meant for an option.
      const what =
        token.index === 0 ? 'no option and no command' : 'no option, and no other is taken';
      mistakes.push(`Argument ${token.index + 1} is ${what}: see --help`);
    }
    if (token.kind !== 'option' || token.index === lastUnknown) continue;
    const { name, rawName } = token;
    const takesValue = VALUE_FLAGS.includes(name);
    if (!takesValue && !PLAIN_FLAGS.includes(name)) {
      // What may be a key is shown by its place only: what follows an unknown option, such as
      // --api-key, and -kSECRET, which is a list of letters to parseArgs.
      const isValue = token.index === lastUnknown + 1;
      const isShown = rawName.startsWith('--') && !isValue;
      const what = isShown ? rawName : `in argument ${token.index + 1}`;
      lastUnknown = token.index;
      mistakes.push(`Unknown option ${what}: see --help`);
    } else if (takesValue && (token.value === undefined || token.value === '')) {
      mistakes.push(`${rawName} needs a value`);
    } else if (!takesValue && token.value !== undefined) {
      mistakes.push(`${rawName} takes no value`);
    } else if (flags.has(name)) {
      mistakes.push(`${rawName} is given twice`);
    } else {
      flags.set(name, token.value ?? '');
    }
  }
  return flags;
}

/** `--memory` alone is `--memory=on`. */
function switchedOn(arg: string, next: string | undefined): string {
  const hasValue = next === 'on' || next === 'off';
  return SWITCHES.some((flag) => arg === `--${flag}`) && !hasValue ? `${arg}=on` : arg;
}

type Settings = (name: SettingName) => Setting | undefined;

/** Where the pets are: a data file, memory or etcd. */
function readPlace(
  setting: Settings,
  mistakes: string[],
): Pick<Config, 'dataFile' | 'memory' | 'etcd'> {
  const dataFile = setting('dataFile');
  const memory = readSwitch(setting('memory'), mistakes);
  const endpoints = setting('etcd');
  if (endpoints === undefined) {
    for (const [name, key] of ETCD_SETTINGS) {
      const given = name === 'etcd' ? undefined : setting(name);
      if (given === undefined) continue;
      mistakes.push(`${given.name} is for etcd (${key}), and PETSTORE_ETCD names no endpoints`);
    }
    const fallback = memory ? undefined : 'data/pets.json';
    return { dataFile: dataFile?.text ?? fallback, memory, etcd: undefined };
  }
  const others = [dataFile, memory ? setting('memory') : undefined];
  for (const other of others) {
    if (other !== undefined)
      mistakes.push(`${endpoints.name} and ${other.name} exclude each other`);
  }
  const options: Partial<Record<EtcdOptionName, string>> = {};
  for (const [name, key] of ETCD_SETTINGS) {
    const text = setting(name)?.text;
    if (text !== undefined) options[key] = text;
  }
  const urls = endpoints.text.split(',').map((url) => url.trim());
  return { dataFile: undefined, memory: false, etcd: { ...options, endpoints: urls } };
}

/** The settings of etcd, and the options that they are for. */
const ETCD_SETTINGS: readonly (readonly [SettingName, EtcdOptionName])[] = [
  ['etcd', 'endpoints'],
  ['etcdPrefix', 'prefix'],
  ['etcdCaFile', 'caFile'],
  ['etcdCertFile', 'certFile'],
  ['etcdKeyFile', 'keyFile'],
  ['etcdUser', 'user'],
  ['etcdPasswordFile', 'passwordFile'],
];

function checkEtcd(
  etcd: EtcdOptions,
  bodyLimitBytes: number,
  setting: Settings,
  mistakes: string[],
): void {
  for (const { name, sentence } of etcdProblems({ ...etcd })) {
    const given = ETCD_SETTINGS.find(([, key]) => key === name)?.[0] ?? 'etcd';
    mistakes.push(`${setting(given)?.name ?? SETTINGS[given].variable} ${sentence}`);
  }
  const limit = setting('bodyLimit');
  if (limit !== undefined && bodyLimitBytes > MAX_ETCD_BODY_BYTES) {
    mistakes.push(`${limit.name} must be at most ${MAX_ETCD_BODY_BYTES} on etcd`);
  }
}

/** A misspelt variable would silently be a default: data in another place, say. */
function checkVariables(env: Environment, mistakes: string[]): void {
  const known = Object.values(SETTINGS).map(({ variable }) => variable);
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith('PETSTORE_') || FOREIGN.test(name)) continue;
    if ((known as readonly string[]).includes(name)) continue;
    mistakes.push(`Unknown variable ${name}: did you mean ${nearest(name, known)}?`);
  }
}

/** Kubernetes sets these for a Service with the name `petstore`. */
const FOREIGN: RegExp = /^PETSTORE_(?:SERVICE_|PORT)/;

function readInteger(
  setting: Setting | undefined,
  fallback: number,
  min: number,
  max: number,
  mistakes: string[],
): number {
  if (setting === undefined) return fallback;
  const { name, text } = setting;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  mistakes.push(`${name} must be an integer from ${min} to ${max}, not ${quote(text)}`);
  return fallback;
}

function readSwitch(setting: Setting | undefined, mistakes: string[], fallback = false): boolean {
  if (setting === undefined) return fallback;
  const { name, text } = setting;
  if (text !== 'on' && text !== 'off') {
    mistakes.push(`${name} must be on or off, not ${quote(text)}`);
  }
  return text === 'on';
}

function readPrefix(setting: Setting | undefined, mistakes: string[]): string {
  if (setting === undefined) return '';
  const { name, text } = setting;
  if (!isPrefix(text)) mistakes.push(`${name} must be segments such as /shop, not ${quote(text)}`);
  return text;
}

function readOrigins(setting: Setting | undefined, mistakes: string[]): readonly string[] {
  if (setting === undefined) return [];
  const origins = setting.text.split(',').map((origin) => origin.trim());
  for (const origin of origins) {
    const problem = originProblem(origin);
    if (problem !== undefined) mistakes.push(`${setting.name}: ${problem}, not ${quote(origin)}`);
  }
  return origins;
}
