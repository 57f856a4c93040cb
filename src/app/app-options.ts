/**
 * The options of an app, and the check of them, for a program that embeds the app and for the
 * process, which makes them of variables and flags (config.ts).
 */

import { fileURLToPath } from 'node:url';
import { apiKeyProblems, type ApiKeyOption } from './api-keys.ts';
import { isObject } from '../base/exact-json.ts';
import type { Logger } from '../base/logger.ts';
import {
  aText,
  condition,
  disguiseOf,
  memberProblems,
  mustBe,
  matching,
  type Check,
  type Problem,
} from '../base/problem.ts';
import { MAX_BODY_LIMIT_BYTES } from '../http/request-body.ts';
import type { PetStore } from '../model/pet-store.ts';
import { isOrigin } from '../ops/cors.ts';
import type { Runtime } from '../ops/runtime.ts';
import {
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
  readonly log?: Logger | undefined;
  /** Logs each request with its response, and gives it an id. Off by default. */
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

const aFunction = condition('a function', (value) => typeof value === 'function');
const trueOrFalse = condition('true or false', (value) => typeof value === 'boolean');

export const aFile: Check = aText(
  'the path of a file, without a slash at its end, or its file: URL',
  (value) => pathOf(value) !== undefined,
);

const CHECKS: Readonly<Record<keyof AppOptions, Check>> = {
  dataFile: aFile,
  memory(value, option) {
    if (value === true) return [];
    if (!isObject(value)) return [mustBe(option, 'true or an object with dataFile', value)];
    return memberProblems(value, { dataFile: aFile }, ['dataFile'], `${option}.`);
  },
  etcd: (value, option) => etcdProblems(value, `${option}.`),
  store: condition('a PetStore with list, get, create, count, problem and close', (value) => {
    const methods = ['list', 'get', 'create', 'count', 'problem', 'close'];
    return isObject(value) && methods.every((name) => typeof value[name] === 'function');
  }),
  apiKeys: apiKeyProblems,
  prefix: matching('segments such as /shop', /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/),
  bodyLimitBytes: integer(1, MAX_BODY_LIMIT_BYTES),
  log: aFunction,
  accessLog: trueOrFalse,
  corsOrigins(value, option) {
    if (!Array.isArray(value)) return [mustBe(option, 'an array of origins', value)];
    // Array.from, since flatMap would pass over holes.
    return Array.from(value as readonly unknown[]).flatMap((origin, index) => {
      const isValid = typeof origin === 'string' && isOrigin(origin);
      return isValid ? [] : [mustBe(`${option}[${index}]`, originMeantBy(origin), origin)];
    });
  },
  page: trueOrFalse,
  now: aFunction,
  runtime: condition('an object with nodeVersion and openConnections', (value) => {
    const { nodeVersion, openConnections } = isObject(value) ? value : {};
    return typeof nodeVersion === 'string' && typeof openConnections === 'function';
  }),
};

const bodyLimitOnEtcd = integer(1, MAX_ETCD_BODY_BYTES, ' on etcd');

export const OPTION_NAMES = Object.keys(CHECKS) as readonly (keyof AppOptions)[];

/** Returns all that is wrong with the options, which may have any value. */
export function optionProblems(options: unknown): readonly Problem[] {
  // It may be an API key, so it is not shown.
  if (!isObject(options)) return [{ option: 'options', sentence: 'must be an object' }];
  const { etcd } = options;
  const checks = etcd === undefined ? CHECKS : { ...CHECKS, bodyLimitBytes: bodyLimitOnEtcd };
  const problems = [...memberProblems(options, checks, ['apiKeys'])];
  const [backend, ...others] = BACKENDS.filter((name) => options[name] !== undefined);
  if (backend === undefined) {
    const sentence = 'is required, or memory, etcd or store';
    problems.push({ option: 'dataFile', sentence });
  }
  // With `etcd` but without endpoints, etcd may not be meant: then no conflict is reported.
  const isClear = backend !== 'etcd' || (isObject(etcd) && etcd['endpoints'] !== undefined);
  for (const other of isClear ? others : []) {
    problems.push({ option: backend!, sentence: 'cannot be combined with', other });
  }
  return problems;
}

/** The options of which exactly one is given. */
const BACKENDS = ['store', 'etcd', 'memory', 'dataFile'] as const;

export function integer(min: number, max: number, where = ''): Check {
  return condition(`an integer from ${min} to ${max}${where}`, (value) => {
    return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  });
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
    if (typeof path !== 'string' || (!isUrl && disguiseOf(path) !== undefined)) return undefined;
    return /[^/]$/.test(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
