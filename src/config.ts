/**
 * The configuration: environment variables, and flags of the same names over them.
 *
 * All mistakes are found and told at once, not one for each start. A variable that is set but empty
 * counts as not set, since that is how compose files and shells leave out a value.
 */

import { parseArgs } from 'node:util';

import { messageOf } from './base/log.ts';
import { quote } from './base/quote.ts';
import { keyProblem } from './http/bearer.ts';
import { DEFAULT_BODY_LIMIT_BYTES, MAX_BODY_LIMIT_BYTES } from './http/request-body.ts';
import { originProblem } from './ops/cors.ts';

export interface Config {
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
  readonly dataFile: string;
  readonly apiKeySource: ApiKeySource;
  readonly bodyLimitBytes: number;
  readonly accessLog: boolean;
  /** Origins, or `*`. */
  readonly corsOrigins: readonly string[];
}

export interface ApiKeySource {
  /** Those of the environment. */
  readonly fixed: readonly string[];
  /** A file with more of them. */
  readonly file: string | undefined;
}

export type ConfigResult =
  | { readonly kind: 'run'; readonly config: Config; readonly apiKeys: readonly string[] }
  | { readonly kind: 'help' | 'version' }
  | { readonly kind: 'mistakes'; readonly mistakes: readonly string[] };

export type ReadTextFile = (path: string) => string;

/** Reads the configuration. `args` are those after the script's name. */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  readTextFile: ReadTextFile,
): ConfigResult {
  const mistakes: string[] = [];
  const flags = readFlags(args, mistakes);
  if (flags.has('help')) return { kind: 'help' };
  if (flags.has('version')) return { kind: 'version' };
  const setting = (flag: string, variable: string): Setting | undefined => {
    const text = flags.get(flag);
    if (text !== undefined) return { name: `--${flag}`, text };
    const value = env[variable];
    return value === undefined || value === '' ? undefined : { name: variable, text: value };
  };
  const config: Config = {
    port: readInteger(setting('port', 'PORT'), 8080, 0, 65_535, mistakes),
    host: setting('host', 'HOST')?.text ?? '127.0.0.1',
    dataFile: setting('data-file', 'PETSTORE_DATA_FILE')?.text ?? 'data/pets.json',
    apiKeySource: {
      fixed: readKeyList(env['PETSTORE_API_KEYS'] ?? '', mistakes),
      file: setting('api-keys-file', 'PETSTORE_API_KEYS_FILE')?.text,
    },
    bodyLimitBytes: readInteger(
      setting('body-limit', 'PETSTORE_BODY_LIMIT'),
      DEFAULT_BODY_LIMIT_BYTES,
      1,
      MAX_BODY_LIMIT_BYTES,
      mistakes,
    ),
    accessLog: readSwitch(setting('access-log', 'PETSTORE_ACCESS_LOG'), mistakes),
    corsOrigins: readOrigins(setting('cors-origin', 'PETSTORE_CORS_ORIGIN'), mistakes),
  };
  // Read once: a pipe, such as /dev/stdin, gives its text only once.
  const apiKeys = readApiKeys(config.apiKeySource, readTextFile, mistakes);
  return mistakes.length > 0 ? { kind: 'mistakes', mistakes } : { kind: 'run', config, apiKeys };
}

/** All keys of a source; what is wrong with it is added to `mistakes`, without quoting a key. */
export function readApiKeys(
  { fixed, file }: ApiKeySource,
  readTextFile: ReadTextFile,
  mistakes: string[],
): readonly string[] {
  if (file === undefined) return fixed;
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    mistakes.push(`The API keys file ${file} cannot be read: ${messageOf(error)}`);
    return fixed;
  }
  const keys: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const key = line.trim();
    if (key === '' || key.startsWith('#')) continue;
    const problem = keyProblem(key);
    if (problem === undefined) keys.push(key);
    else mistakes.push(`The API keys file ${file}, line ${index + 1}: ${problem}`);
  }
  if (keys.length === 0) mistakes.push(`The API keys file ${file} holds no valid key`);
  return [...fixed, ...keys];
}

export const HELP = `Usage: node dist/server.js [options]

Serves pets over HTTP, from a JSON file.

  --port <number>         PORT                    port to listen on, 0 for any (8080)
  --host <address>        HOST                    address to bind to (127.0.0.1)
  --data-file <path>      PETSTORE_DATA_FILE      where the pets are (data/pets.json)
  --api-keys-file <path>  PETSTORE_API_KEYS_FILE  API keys, one a line; read again on SIGHUP
                          PETSTORE_API_KEYS       API keys, separated by commas
  --body-limit <bytes>    PETSTORE_BODY_LIMIT     longest request body (65536)
  --access-log <on|off>   PETSTORE_ACCESS_LOG     log each answer (off)
  --cors-origin <list>    PETSTORE_CORS_ORIGIN    origins of web pages that may use the service,
                                                  separated by commas, or * for all (none)
  --help                                          show this and exit
  --version                                       show the version and exit

An option overrides its environment variable. Without any API key a random one is made, and shown
once at start.
`;

interface Setting {
  /** As the user knows it: the flag or the variable. */
  readonly name: string;
  readonly text: string;
}

const VALUE_FLAGS: readonly string[] = [
  'port',
  'host',
  'data-file',
  'api-keys-file',
  'body-limit',
  'access-log',
  'cors-origin',
];
const PLAIN_FLAGS: readonly string[] = ['help', 'version'];

function readFlags(args: readonly string[], mistakes: string[]): ReadonlyMap<string, string> {
  const options = Object.fromEntries([
    ...VALUE_FLAGS.map((flag) => [flag, { type: 'string' }] as const),
    ...PLAIN_FLAGS.map((flag) => [flag, { type: 'boolean' }] as const),
  ]);
  // Not strict, since strict parsing stops at the first mistake.
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const flags = new Map<string, string>();
  for (const token of tokens) {
    // It is not quoted: it may be a key that was meant for an option.
    if (token.kind === 'positional') {
      mistakes.push(`Argument ${token.index + 1} is no option, and nothing else is taken`);
    }
    if (token.kind !== 'option') continue;
    const takesValue = VALUE_FLAGS.includes(token.name);
    if (!takesValue && !PLAIN_FLAGS.includes(token.name)) {
      mistakes.push(`Unknown option ${token.rawName}`);
    } else if (takesValue && (token.value === undefined || token.value === '')) {
      mistakes.push(`${token.rawName} needs a value`);
    } else if (!takesValue && token.value !== undefined) {
      mistakes.push(`${token.rawName} takes no value`);
    } else if (flags.has(token.name)) {
      mistakes.push(`${token.rawName} is given twice`);
    } else {
      flags.set(token.name, token.value ?? '');
    }
  }
  return flags;
}

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
  mistakes.push(`${name} must be an integer from ${min} to ${max}, not ${JSON.stringify(text)}`);
  return fallback;
}

function readKeyList(text: string, mistakes: string[]): readonly string[] {
  if (text === '') return [];
  const keys = text.split(',').map((key) => key.trim());
  for (const [index, key] of keys.entries()) {
    const problem = keyProblem(key);
    if (problem !== undefined) mistakes.push(`PETSTORE_API_KEYS, key ${index + 1}: ${problem}`);
  }
  return keys;
}

function readSwitch(setting: Setting | undefined, mistakes: string[]): boolean {
  if (setting === undefined) return false;
  const { name, text } = setting;
  if (text !== 'on' && text !== 'off') {
    mistakes.push(`${name} must be on or off, not ${JSON.stringify(text)}`);
  }
  return text === 'on';
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
