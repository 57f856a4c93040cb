/**
 * The configuration: environment variables, and flags, which override them.
 *
 * All mistakes are reported together, not one per start. An empty variable counts as not set, since
 * compose files and shells leave out a value in this way.
 */

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ApiKeyOption } from './api-keys/api-key.ts';
import { readApiKeys, type ApiKeySource, type ReadTextFile } from './api-keys/read-api-keys.ts';
import type { AppOptions } from './app-options.ts';
import { edits, nearest } from './base/nearest.ts';
import { quote } from './base/quote.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from './http/request-body.ts';
import {
  DEFAULT_DATA_FILE,
  DEFAULT_HOST,
  DEFAULT_PORT,
  flagOf,
  PROCESS_SETTINGS,
  SETTINGS,
  type SettingName,
} from './settings.ts';
import {
  ETCD_OPTION_NAMES,
  etcdProblems,
  MAX_ETCD_BODY_BYTES,
} from './stores/etcd/etcd-options.ts';

/** The options of an app, and what only the process has. */
export interface Config extends Omit<AppOptions, 'apiKeys' | 'store' | 'log' | 'now' | 'runtime'> {
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
  readonly apiKeySource: ApiKeySource;
  readonly prefix: string;
  readonly bodyLimitBytes: number;
  readonly page: boolean;
  readonly dataFile?: string;
  readonly memory?: true | { readonly dataFile: string };
}

export type ConfigResult =
  | { readonly kind: 'run'; readonly config: Config; readonly apiKeys: readonly ApiKeyOption[] }
  | { readonly kind: 'help' | 'version' }
  | { readonly kind: 'mistakes'; readonly mistakes: readonly string[] };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the configuration. `args` are the arguments after the script's name. `commands` are the
 * names that a mistyped first argument may have meant.
 */
export async function readConfig(
  env: Environment,
  args: readonly string[],
  readTextFile: ReadTextFile,
  commands: readonly string[] = [],
): Promise<ConfigResult> {
  const mistakes: string[] = [];
  const flags = readFlags(args, commands, mistakes);
  if (flags.has('help')) return { kind: 'help' };
  if (flags.has('version')) return { kind: 'version' };
  mistakes.push(...unknownVariables(env));
  const source = createSource(env, flags, mistakes);
  const { given, read } = source;
  const config: Config = {
    port: read('port', DEFAULT_PORT),
    host: given('host')?.text ?? DEFAULT_HOST,
    ...readBackend(source),
    prefix: read('prefix', ''),
    apiKeySource: { list: given('apiKeys')?.text, file: given('apiKeysFile')?.text },
    bodyLimitBytes: read('bodyLimitBytes', DEFAULT_BODY_LIMIT_BYTES),
    accessLog: read('accessLog', false),
    corsOrigins: read('corsOrigins', []),
    page: read('page', true),
  };
  checkEtcd(config, source);
  // Once, since a pipe such as /dev/stdin can be read only once.
  const apiKeys = await readApiKeys(config.apiKeySource, readTextFile, mistakes);
  return mistakes.length > 0 ? { kind: 'mistakes', mistakes } : { kind: 'run', config, apiKeys };
}

/** A setting that the user has given. */
interface Given {
  /** The flag or the variable. */
  readonly name: string;
  readonly text: string;
}

/** Where settings come from: the flags, and then the variables. */
interface Source {
  given(name: SettingName): Given | undefined;
  /** Returns the value of a setting, or the fallback if the value is missing or invalid. */
  read<T>(name: SettingName, fallback: T): T;
  report(mistake: string): void;
}

function createSource(
  env: Environment,
  flags: ReadonlyMap<string, string>,
  mistakes: string[],
): Source {
  const report = (mistake: string): void => void mistakes.push(mistake);
  const given = (name: SettingName): Given | undefined => {
    const { variable = '' } = SETTINGS[name];
    const flag = flagOf(SETTINGS[name]) ?? '';
    const flagText = flags.get(flag);
    if (flagText !== undefined) return { name: `--${flag}`, text: flagText };
    const text = env[variable];
    return text === undefined || text === '' ? undefined : { name: variable, text };
  };
  const read = <T>(name: SettingName, fallback: T): T => {
    const setting = given(name);
    const { reader } = SETTINGS[name];
    if (setting === undefined || reader === undefined) return fallback;
    const value = reader.parse(setting.text);
    const problems = reader.problems(value);
    for (const { at, expected, value } of problems) {
      const shown = quote(at === '' ? setting.text : String(value));
      report(`${setting.name} must be ${reader.expectedText ?? expected}, not ${shown}`);
    }
    return problems.length > 0 ? fallback : (value as T);
  };
  return { given, read, report };
}

const VARIABLES: readonly string[] = PROCESS_SETTINGS.flatMap(({ variable }) => variable ?? []);
const VALUE_FLAGS: readonly string[] = PROCESS_SETTINGS.flatMap((setting) => flagOf(setting) ?? []);
const PLAIN_FLAGS: readonly string[] = ['help', 'version'];
/** Flags that mean on if they have no value. */
const SWITCHES: readonly string[] = PROCESS_SETTINGS.flatMap((setting) =>
  setting.placeholder?.startsWith('[') === true ? (flagOf(setting) ?? []) : [],
);

/** Returns the values of the flags, '' for a flag that takes none. */
function readFlags(
  args: readonly string[],
  commands: readonly string[],
  mistakes: string[],
): ReadonlyMap<string, string> {
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
    // The argument after an unknown option may be its value.
    if (token.kind === 'positional' && token.index !== lastUnknown + 1) {
      // The argument is not quoted, since it may be an API key that was meant for an option.
      mistakes.push(
        token.index === 0
          ? `Argument 1 is neither an option nor a command: ${hintFor(token.value, commands, '')}`
          : `Unexpected argument ${token.index + 1}: see --help`,
      );
    }
    if (token.kind !== 'option' || token.index === lastUnknown) continue;
    const { name, rawName } = token;
    const takesValue = VALUE_FLAGS.includes(name);
    if (!takesValue && !PLAIN_FLAGS.includes(name)) {
      // Only the position is shown of an argument that may be an API key: the one after an unknown
      // option such as --api-key, and -kSECRET, which parseArgs takes for a list of letters.
      const isValue = token.index === lastUnknown + 1;
      const isShown = rawName.startsWith('--') && !isValue;
      const what = isShown ? rawName : `in argument ${token.index + 1}`;
      lastUnknown = token.index;
      const hint = hintFor(name, isShown ? [...VALUE_FLAGS, ...PLAIN_FLAGS] : [], '--');
      mistakes.push(`Unknown option ${what}: ${hint}`);
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

/** Returns the name that was meant, if one differs in at most two letters, or else --help. */
function hintFor(text: string, names: readonly string[], dashes: string): string {
  const best = names.length === 0 ? '' : nearest(text.toLowerCase(), names);
  const isNear = best !== '' && edits(text.toLowerCase(), best) <= 2;
  return isNear ? `did you mean ${dashes}${best}?` : 'see --help';
}

/** `--memory` alone is `--memory=on`. */
function switchedOn(arg: string, next: string | undefined): string {
  const hasValue = next === 'on' || next === 'off';
  return SWITCHES.some((flag) => arg === `--${flag}`) && !hasValue ? `${arg}=on` : arg;
}

/** Returns exactly one of the three backends: a data file, memory or etcd. */
function readBackend({
  given,
  read,
  report,
}: Source): Pick<Config, 'dataFile' | 'memory' | 'etcd'> {
  const dataFile = given('dataFile');
  if (dataFile?.text.startsWith('file://')) report(`${dataFile.name} must be a path, not a URL`);
  const memory = read('memory', false);
  const endpoints = given('etcd.endpoints');
  if (endpoints === undefined) {
    for (const option of ETCD_OPTION_NAMES) {
      const name = given(`etcd.${option}`)?.name;
      if (name === undefined) continue;
      report(`${name} is for etcd (${option}), and PETSTORE_ETCD names no endpoints`);
    }
    const file = dataFile && { dataFile: resolve(dataFile.text) };
    if (memory) return { memory: file ?? true };
    return file ?? { dataFile: resolve(DEFAULT_DATA_FILE) };
  }
  for (const other of [dataFile, memory ? given('memory') : undefined]) {
    if (other !== undefined) report(`${endpoints.name} and ${other.name} exclude each other`);
  }
  const texts = ETCD_OPTION_NAMES.map((option) => [option, given(`etcd.${option}`)?.text]);
  const urls = endpoints.text.split(',').map((url) => url.trim());
  return { etcd: { ...Object.fromEntries(texts), endpoints: urls } };
}

function checkEtcd({ etcd, bodyLimitBytes }: Config, { given, report }: Source): void {
  if (etcd === undefined) return;
  for (const { name, sentence } of etcdProblems({ ...etcd })) {
    report(`${given(`etcd.${name}`)?.name ?? SETTINGS[`etcd.${name}`].variable} ${sentence}`);
  }
  const limit = given('bodyLimitBytes');
  if (limit !== undefined && bodyLimitBytes > MAX_ETCD_BODY_BYTES) {
    report(`${limit.name} must be at most ${MAX_ETCD_BODY_BYTES} on etcd`);
  }
}

/** Without this check, a misspelt variable would silently mean the default. */
function unknownVariables(env: Environment): readonly string[] {
  const withPrefix = VARIABLES.map((name) => name.replace(/^(?!PETSTORE_)/, 'PETSTORE_'));
  return Object.keys(env)
    .sort()
    .filter((name) => name.startsWith('PETSTORE_') && !VARIABLES.includes(name))
    .filter((name) => !isOfKubernetes(name, env))
    .map((name) => {
      const meant = VARIABLES[withPrefix.indexOf(nearest(name, withPrefix))];
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
