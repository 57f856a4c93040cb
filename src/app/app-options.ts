/**
 * The options of an app, and the check of them, for a program that embeds the app and for the
 * process, which makes them of variables and flags (config.ts).
 */

import { fileURLToPath } from 'node:url';
import { apiKeyProblems, type ApiKeyOption } from './api-keys.ts';
import type { Log } from '../base/log.ts';
import { isObject, mustBe, unknownMembers, type Problem } from '../base/problem.ts';
import { MAX_BODY_LIMIT_BYTES } from '../http/request-body.ts';
import type { PetStore } from '../model/pet-store.ts';
import { isOrigin } from '../ops/cors.ts';
import type { Runtime } from '../ops/runtime.ts';
import {
  ETCD_OPTION_NAMES,
  etcdProblems,
  MAX_ETCD_BODY_BYTES,
  type EtcdOptions,
} from '../stores/etcd/etcd-options.ts';

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

/** Returns what is wrong with the value of an option, which is not undefined. */
type Check = (value: unknown, option: string) => readonly Problem[];

const aFunction = condition('a function', (value) => typeof value === 'function');
const trueOrFalse = condition('true or false', (value) => typeof value === 'boolean');

const CHECKS: Readonly<Record<keyof AppOptions, Check>> = {
  dataFile: condition(
    'the path of a file, without a slash at its end, or its file: URL',
    (value) => pathOf(value) !== undefined,
  ),
  memory(value, option) {
    if (value === true) return [];
    if (!isObject(value) || value['dataFile'] === undefined) {
      return [mustBe(option, 'true or an object with dataFile', value)];
    }
    return [
      ...unknownMembers(value, ['dataFile'], `${option}.`),
      ...CHECKS.dataFile(value['dataFile'], `${option}.dataFile`),
    ];
  },
  etcd: (value, option) => [
    ...(isObject(value) ? unknownMembers(value, ETCD_OPTION_NAMES, `${option}.`) : []),
    ...etcdProblems(value, `${option}.`),
  ],
  store(value, option) {
    const methods = ['list', 'get', 'create', 'count', 'problem', 'close'];
    const isMethod = (name: string): boolean =>
      isObject(value) && typeof value[name] === 'function';
    const missing = methods.filter((name) => !isMethod(name)).join(', ');
    const sentence = `must be a PetStore, but it has no ${missing}`;
    return missing === '' ? [] : [{ option, sentence }];
  },
  apiKeys: apiKeyProblems,
  prefix: condition(
    'segments such as /shop',
    (value) => typeof value === 'string' && PREFIX.test(value),
  ),
  bodyLimitBytes: integer(1, MAX_BODY_LIMIT_BYTES),
  log: aFunction,
  accessLog: trueOrFalse,
  corsOrigins(value, option) {
    if (!Array.isArray(value)) return [mustBe(option, 'an array of origins', value)];
    // Array.from, since flatMap would pass over holes.
    return Array.from(value as readonly unknown[]).flatMap((origin, index) => {
      if (typeof origin === 'string' && isOrigin(origin)) return [];
      return [mustBe(`${option}[${index}]`, originMeantBy(origin), origin)];
    });
  },
  page: trueOrFalse,
  now: aFunction,
  runtime: condition('an object with nodeVersion and openConnections', (value) => {
    const { nodeVersion, openConnections } = isObject(value) ? value : {};
    return typeof nodeVersion === 'string' && typeof openConnections === 'function';
  }),
};

const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/;

export const OPTION_NAMES = Object.keys(CHECKS) as readonly (keyof AppOptions)[];

/** Returns all that is wrong with the options, which may have any value. */
export function optionProblems(options: unknown): readonly Problem[] {
  // It may be an API key, so it is not shown.
  if (!isObject(options)) return [{ option: 'options', sentence: 'must be an object' }];
  const given = OPTION_NAMES.filter((name) => options[name] !== undefined);
  const problems = [
    ...unknownMembers(options, OPTION_NAMES),
    ...given.flatMap((name) => CHECKS[name](options[name], name)),
  ];
  const { apiKeys, bodyLimitBytes: limit, etcd } = options;
  if (apiKeys === undefined) problems.push({ option: 'apiKeys', sentence: 'is required' });
  const isRight = limit === undefined || CHECKS.bodyLimitBytes(limit, '').length === 0;
  if (etcd !== undefined && isRight && Number(limit) > MAX_ETCD_BODY_BYTES) {
    problems.push(mustBe('bodyLimitBytes', `at most ${MAX_ETCD_BODY_BYTES} on etcd`, limit));
  }
  const [backend, ...others] = BACKENDS.filter((name) => given.includes(name));
  if (backend === undefined) {
    const sentence = 'is required, or memory, etcd or store';
    problems.push({ option: 'dataFile', sentence });
  }
  // Of etcd without endpoints it is not known whether it is meant.
  const isEtcd = backend !== 'etcd' || (isObject(etcd) && etcd['endpoints'] !== undefined);
  for (const other of isEtcd ? others : []) {
    problems.push({ option: backend!, sentence: 'cannot be combined with', other });
  }
  return problems;
}

/** The options of which exactly one is given. */
const BACKENDS = ['store', 'etcd', 'memory', 'dataFile'] as const;

function condition(expected: string, isValid: (value: unknown) => boolean): Check {
  return (value, option) => (isValid(value) ? [] : [mustBe(option, expected, value)]);
}

export function integer(min: number, max: number): Check {
  const isValid = (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return condition(`an integer from ${min} to ${max}`, isValid);
}

/** Returns the origin of a longer URL, such as `https://shop.example/`, or an example. */
function originMeantBy(value: unknown): string {
  const origin = typeof value === 'string' && URL.canParse(value) ? new URL(value).origin : '';
  return isOrigin(origin) ? origin : 'an origin such as https://shop.example, or *';
}

/**
 * Returns the path of a data file, or undefined if the value is neither a path nor a file: URL. The
 * URL may be a string, as import.meta.resolve returns it.
 */
export function pathOf(file: unknown): string | undefined {
  try {
    const isUrl = file instanceof URL || (typeof file === 'string' && file.startsWith('file://'));
    const path = isUrl ? fileURLToPath(file) : file;
    return typeof path === 'string' && /[^/]$/.test(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
