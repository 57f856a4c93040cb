/** The options of an app, with their defaults. All that is wrong with them is in one error. */

import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import {
  apiKeyProblem,
  duplicateProblems,
  keyNameProblem,
  MAX_API_KEYS,
  type ApiKeyOption,
} from './api-keys/api-key.ts';
import { safeLog, silent, type Log } from './base/log.ts';
import { nearest } from './base/nearest.ts';
import { cut, quote } from './base/quote.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from './http/request-body.ts';
import type { PetStore } from './model/pet-store.ts';
import type { Runtime } from './ops/runtime.ts';
import { OPTION_NAMES, SETTINGS } from './settings.ts';
import {
  ETCD_OPTION_NAMES,
  etcdProblems,
  MAX_ETCD_BODY_BYTES,
  type EtcdOptions,
} from './stores/etcd/etcd-options.ts';

export interface AppOptions {
  /** The data file. Exactly one of `dataFile`, `memory`, `etcd` and `store` is given. */
  readonly dataFile?: string | URL | undefined;
  /** The pets are in memory only. A data file is read as starting data and never written. */
  readonly memory?: true | { readonly dataFile: string | URL } | undefined;
  /** The pets are in an etcd cluster, which several processes may share. */
  readonly etcd?: EtcdOptions | undefined;
  /** The pets are in a store of the program. `app.close()` closes it, too. */
  readonly store?: PetStore | undefined;
  /**
   * The API keys. Each is its text, or `sha256:` and its digest in hex, or an object with that as
   * `key` and with a name, or with `only: 'metrics'` if it opens only `/metrics`.
   */
  readonly apiKeys: readonly ApiKeyOption[];
  /**
   * What all paths begin with: with '/shop' the API is at `/shop/v1`. Segments of letters, digits
   * and `-._~`, each after a slash.
   */
  readonly prefix?: string | undefined;
  /**
   * The longest request body in bytes: 65,536 by default. At most 5 MiB, since a page of a hundred
   * such pets must fit into one string; on etcd at most 1 MiB.
   */
  readonly bodyLimitBytes?: number | undefined;
  readonly log?: Log | undefined;
  /** Logs each response, and gives each request an id. Off by default. */
  readonly accessLog?: boolean | undefined;
  /** The origins whose web pages may use the service, or `*`. None by default. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** A page at `/` and a reference at `/docs`, both without an API key. Off by default. */
  readonly page?: boolean | undefined;
  /** The time of day in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** What the metrics report about the program around the app. */
  readonly runtime?: Runtime | undefined;
}

/** The options that have a default, and `apiKeys`. */
type DefaultedName =
  'apiKeys' | 'prefix' | 'bodyLimitBytes' | 'log' | 'accessLog' | 'corsOrigins' | 'page' | 'now';

/** The options with their defaults. `log` never throws. */
export type CheckedOptions = Pick<AppOptions, 'etcd' | 'store' | 'runtime'> & {
  readonly [Name in DefaultedName]: NonNullable<AppOptions[Name]>;
} & {
  /** The path of the data file, or, with `memory`, of a file with starting data. */
  readonly dataFile: string | undefined;
  readonly memory: boolean;
};

/**
 * Returns the options with their defaults. Throws a TypeError that names all that is wrong with
 * them, since programs in JavaScript have no types.
 */
export function checkOptions(options: AppOptions): CheckedOptions {
  if (!isObject(options)) throw new TypeError('Expected an object of options');
  const { store, memory, etcd, apiKeys } = options;
  const problems = [...unknownNames('', options, OPTION_NAMES), ...keyProblems(apiKeys)];
  const report = (name: string, expected: string, value: unknown): unknown =>
    problems.push(`${name}: expected ${expected}, not ${shown(value)}`);
  const read = <Name extends keyof AppOptions, T>(
    name: Name,
    fallback: T,
  ): Exclude<AppOptions[Name], undefined> | T => {
    const given: unknown = options[name];
    const value = given === undefined ? fallback : given;
    const wrong = value === undefined ? [] : (SETTINGS[name].reader?.problems(value) ?? []);
    for (const { at, expected, value } of wrong) report(`${name}${at}`, expected, value);
    return value as T;
  };
  const named = isObject(memory) ? memory['dataFile'] : options.dataFile;
  const checked = {
    dataFile: readDataFile(named),
    memory: memory !== undefined,
    etcd,
    store,
    apiKeys,
    prefix: read('prefix', ''),
    bodyLimitBytes: read('bodyLimitBytes', DEFAULT_BODY_LIMIT_BYTES),
    corsOrigins: read('corsOrigins', []),
    accessLog: read('accessLog', false),
    page: read('page', false),
    log: safeLog(read('log', silent)),
    now: read('now', Date.now),
    runtime: read('runtime', undefined),
  };
  problems.push(...backendProblems(options), ...storeProblems(store), ...etcdOptionProblems(etcd));
  if (named !== undefined && checked.dataFile === undefined) {
    report('dataFile', 'a path or a file: URL', named);
  }
  if (memory !== undefined && memory !== true) {
    if (isObject(memory) && 'dataFile' in memory) {
      problems.push(...unknownNames('memory.', memory, ['dataFile']));
    } else report('memory', 'true or an object with dataFile', memory);
  }
  if (etcd !== undefined && checked.bodyLimitBytes > MAX_ETCD_BODY_BYTES) {
    report('bodyLimitBytes', `at most ${MAX_ETCD_BODY_BYTES} on etcd`, checked.bodyLimitBytes);
  }
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return checked;
}

/** Throws a TypeError that names the position of every invalid key, and quotes no key. */
export function checkApiKeys(apiKeys: readonly ApiKeyOption[]): void {
  const problems = keyProblems(apiKeys);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
}

function unknownNames(
  within: string,
  options: object,
  names: readonly string[],
): readonly string[] {
  return Object.keys(options)
    .filter((name) => !names.includes(name))
    .map((name) => `${within}${name}: unknown option, did you mean ${nearest(name, names)}?`);
}

function keyProblems(apiKeys: unknown): readonly string[] {
  if (!Array.isArray(apiKeys)) return ['apiKeys: expected an array of keys'];
  if (apiKeys.length === 0) return ['apiKeys: expected one key at least'];
  if (apiKeys.length > MAX_API_KEYS) return [`apiKeys: expected at most ${MAX_API_KEYS} keys`];
  // Array.from, since flatMap would pass over holes.
  const located = Array.from(apiKeys, (option, index) => ({ option, where: `apiKeys[${index}]` }));
  const problems = located.flatMap(({ option, where }) => {
    const problem = keyOptionProblem(option);
    return problem === undefined ? [] : [`${where}: ${problem}`];
  });
  return problems.length > 0 ? problems : duplicateProblems(located);
}

function keyOptionProblem(option: unknown): string | undefined {
  const { key, name, only, ...others } = isObject(option) ? option : { key: option };
  if (typeof key !== 'string') return 'a key must be a string';
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `unknown option ${unknown} of a key`;
  if (only !== undefined && only !== 'metrics') return "only must be 'metrics'";
  const nameProblem = typeof name === 'string' ? keyNameProblem(name) : NO_NAME;
  return (name === undefined ? undefined : nameProblem) ?? apiKeyProblem(key);
}

const NO_NAME = 'a name must be a string';

/**
 * Returns the path of a data file, or undefined if the value is neither a path nor a file: URL. The
 * URL may be a string, as import.meta.resolve returns it.
 */
function readDataFile(dataFile: unknown): string | undefined {
  try {
    const isText = typeof dataFile === 'string';
    if (isText && !dataFile.startsWith('file://')) return dataFile === '' ? undefined : dataFile;
    return isText || dataFile instanceof URL ? fileURLToPath(dataFile) : undefined;
  } catch {
    return undefined;
  }
}

const BACKENDS = ['dataFile', 'memory', 'etcd', 'store'] as const;

function backendProblems(options: AppOptions): readonly string[] {
  const given = BACKENDS.filter((name) => options[name] !== undefined);
  if (given.length === 1) return [];
  return [`${BACKENDS.join(', ')}: expected exactly one of them, not ${given.length}`];
}

function etcdOptionProblems(etcd: unknown): readonly string[] {
  if (etcd === undefined) return [];
  if (!isObject(etcd)) return ['etcd: expected an object with endpoints'];
  return [
    ...unknownNames('etcd.', etcd, ETCD_OPTION_NAMES),
    ...etcdProblems(etcd).map(({ name, sentence }) => `etcd.${name} ${sentence}`),
  ];
}

function storeProblems(store: unknown): readonly string[] {
  if (store === undefined) return [];
  const missing = STORE_METHODS.filter(
    (name) => !isObject(store) || typeof store[name] !== 'function',
  );
  if (missing.length === 0) return [];
  return [`store: expected a PetStore, but it has no ${missing.join(', ')}`];
}

const STORE_METHODS = ['list', 'get', 'create', 'count', 'problem', 'close'] as const;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function shown(value: unknown): string {
  try {
    return typeof value === 'string' ? quote(value) : cut(inspect(value, { depth: 0 }));
  } catch {
    // An object may throw when it is inspected.
    return 'something else';
  }
}
