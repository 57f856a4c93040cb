/** The options of an app: their defaults, and what is wrong with them, all of it at once. */

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
import type { Runtime } from './ops/runtime-metrics.ts';
import { OPTION_NAMES, SETTINGS } from './settings.ts';
import {
  ETCD_OPTION_NAMES,
  etcdProblems,
  MAX_ETCD_BODY_BYTES,
  type EtcdOptions,
} from './stores/etcd/etcd-options.ts';

export interface AppOptions {
  /** Where the pets are kept: exactly one of `dataFile`, `memory`, `etcd` and `store`. */
  readonly dataFile?: string | URL | undefined;
  /** In memory only; where a data file is named, it is read as starting data and never written. */
  readonly memory?: true | { readonly dataFile: string | URL } | undefined;
  /** In an etcd cluster, which several processes may share. */
  readonly etcd?: EtcdOptions | undefined;
  /** In a store of one's own, which `close` closes too. */
  readonly store?: PetStore | undefined;
  /**
   * The API keys, each as its text or as `sha256:` and the digest in hex; or as an object with a
   * name, or with `only: 'metrics'` for one that opens `/metrics` and nothing else.
   */
  readonly apiKeys: readonly ApiKeyOption[];
  /**
   * Where the app is mounted: the interface is then at `/shop/v1` for '/shop'. Segments of letters,
   * digits and `-._~`, each after a slash.
   */
  readonly prefix?: string | undefined;
  /**
   * The longest request body in bytes: 65,536 by default, and at most 5 MiB, since a page of a
   * hundred such pets has to fit into one string; on etcd at most 1 MiB.
   */
  readonly bodyLimitBytes?: number | undefined;
  readonly log?: Log | undefined;
  /** Logs each answer, and gives each request an id; off by default. */
  readonly accessLog?: boolean | undefined;
  /** The origins whose pages may use the service, or `*`; none by default. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** A page at `/` and a reference at `/docs`, for which nobody needs a key; off by default. */
  readonly page?: boolean | undefined;
  /** The time of day in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** For the metrics: what the program around the app knows. */
  readonly runtime?: Runtime | undefined;
}

/** The options with their defaults. */
export interface CheckedOptions {
  /** Where the pets are kept, or begin with in memory; undefined elsewhere. */
  readonly dataFile: string | undefined;
  readonly memory: boolean;
  readonly etcd: EtcdOptions | undefined;
  readonly store: PetStore | undefined;
  readonly apiKeys: readonly ApiKeyOption[];
  readonly prefix: string;
  readonly bodyLimitBytes: number;
  /** Never throws. */
  readonly log: Log;
  readonly accessLog: boolean;
  readonly corsOrigins: readonly string[];
  readonly page: boolean;
  now(): number;
  readonly runtime: Runtime | undefined;
}

/**
 * The options with their defaults. Throws a TypeError that names all that is wrong with them:
 * programs in JavaScript have no types to tell them.
 */
export function checkOptions(options: AppOptions): CheckedOptions {
  if (!isObject(options)) throw new TypeError('Expected an object of options');
  const { store, memory, etcd, apiKeys } = options;
  const problems = [...unknownNames(options), ...keyProblems(apiKeys)];
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
  const corsOrigins = read('corsOrigins', []);
  const named = isObject(memory) ? memory['dataFile'] : options.dataFile;
  const dataFile = readDataFile(named);
  problems.push(...backendProblems(options));
  if (named !== undefined && dataFile === undefined) {
    report('dataFile', 'a path or a file: URL', named);
  }
  problems.push(...storeProblems(store), ...etcdOptionProblems(etcd));
  const prefix = read('prefix', '');
  const bodyLimitBytes = read('bodyLimitBytes', DEFAULT_BODY_LIMIT_BYTES);
  if (etcd !== undefined && bodyLimitBytes > MAX_ETCD_BODY_BYTES) {
    report('bodyLimitBytes', `at most ${MAX_ETCD_BODY_BYTES} on etcd`, bodyLimitBytes);
  }
  const isMemory = memory === undefined || memory === true || isObject(memory);
  if (!isMemory) report('memory', 'true or an object with dataFile', memory);
  const checked = {
    dataFile,
    memory: memory !== undefined,
    etcd,
    store,
    apiKeys,
    prefix,
    bodyLimitBytes,
    corsOrigins,
    accessLog: read('accessLog', false),
    page: read('page', false),
    log: read('log', silent),
    now: read('now', Date.now),
    runtime: read('runtime', undefined),
  };
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return { ...checked, log: safeLog(checked.log) };
}

/** Throws a TypeError that names every key at fault by its place, and quotes none. */
export function checkApiKeys(apiKeys: readonly ApiKeyOption[]): void {
  const problems = keyProblems(apiKeys);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
}

function unknownNames(options: object): readonly string[] {
  return Object.keys(options)
    .filter((name) => !OPTION_NAMES.includes(name))
    .map((name) => `${name}: unknown option, did you mean ${nearest(name, OPTION_NAMES)}?`);
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

/** The path of a data file, given as such or as a URL; undefined where it is neither. */
function readDataFile(dataFile: unknown): string | undefined {
  try {
    if (dataFile instanceof URL) return fileURLToPath(dataFile);
  } catch {
    return undefined;
  }
  return typeof dataFile === 'string' && dataFile !== '' ? dataFile : undefined;
}

const BACKENDS = ['dataFile', 'memory', 'etcd', 'store'] as const;

function backendProblems(options: AppOptions): readonly string[] {
  const given = BACKENDS.filter((name) => options[name] !== undefined);
  return given.length === 1 ? [] : [`${BACKENDS.join(', ')}: expected one of them`];
}

function etcdOptionProblems(etcd: unknown): readonly string[] {
  if (etcd === undefined) return [];
  if (!isObject(etcd)) return ['etcd: expected an object with endpoints'];
  const unknown = Object.keys(etcd).filter((name) => !ETCD_NAMES.includes(name));
  return [
    ...unknown.map(
      (name) => `etcd.${name}: unknown option, did you mean ${nearest(name, ETCD_NAMES)}?`,
    ),
    ...etcdProblems(etcd).map(({ name, sentence }) => `etcd.${name} ${sentence}`),
  ];
}

const ETCD_NAMES: readonly string[] = ETCD_OPTION_NAMES;

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
    // An object may throw at whoever looks into it.
    return 'something else';
  }
}
