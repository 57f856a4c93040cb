/** The options of an app: their defaults, and what is wrong with them, all of it at once. */

import { safeLog, silent, type Log } from './base/log.ts';
import { quote } from './base/quote.ts';
import { keyProblem } from './http/bearer.ts';
import { DEFAULT_BODY_LIMIT_BYTES, MAX_BODY_LIMIT_BYTES } from './http/request-body.ts';
import type { PetStore } from './model/pet-store.ts';
import { originProblem } from './ops/cors.ts';

export interface AppOptions {
  /** Where the pets are kept; or `store`, for a store of one's own, which `close` closes too. */
  readonly dataFile?: string | undefined;
  readonly store?: PetStore | undefined;
  /** The API keys, each as its text or as `sha256:` and the digest in hex. */
  readonly apiKeys: readonly string[];
  /**
   * Where the app is mounted: the interface is then at `/shop/v1` for '/shop'. Segments of letters,
   * digits and `-._~`, each after a slash.
   */
  readonly prefix?: string | undefined;
  /**
   * The longest request body in bytes: 65,536 by default, and at most 5 MiB, since a page of a
   * hundred such pets has to fit into one string.
   */
  readonly bodyLimitBytes?: number | undefined;
  readonly log?: Log | undefined;
  /** Logs each answer, and gives each request an id; off by default. */
  readonly accessLog?: boolean | undefined;
  /** The origins whose pages may use the service, or `*`; none by default. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** The time of day in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** For the metrics: what the program around the app knows. */
  readonly runtime?: Runtime | undefined;
}

export interface Runtime {
  readonly nodeVersion: string;
  /** How many connections the server has. */
  openConnections(): number;
}

/** The options with their defaults. */
export interface CheckedOptions {
  readonly dataFile: string | undefined;
  readonly store: PetStore | undefined;
  readonly apiKeys: readonly string[];
  readonly prefix: string;
  readonly bodyLimitBytes: number;
  /** Never throws. */
  readonly log: Log;
  readonly accessLog: boolean;
  readonly corsOrigins: readonly string[];
  now(): number;
  readonly runtime: Runtime | undefined;
}

/** Throws a TypeError that names every option at fault: programs in JavaScript have no types. */
export function checkOptions(options: AppOptions): CheckedOptions {
  const { dataFile, store, apiKeys, prefix = '', corsOrigins = [] } = options;
  const { bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  const problems = [...keyProblems(apiKeys), ...originProblems(corsOrigins)];
  if ((dataFile === undefined) === (store === undefined)) {
    problems.push('dataFile, store: expected one of them');
  }
  if (!PREFIX.test(prefix)) {
    problems.push(`prefix: expected segments such as /shop, not ${quote(prefix)}`);
  }
  const isLimit = Number.isInteger(bodyLimitBytes) && bodyLimitBytes >= 1;
  if (!isLimit || bodyLimitBytes > MAX_BODY_LIMIT_BYTES) {
    const expected = `an integer from 1 to ${MAX_BODY_LIMIT_BYTES}`;
    problems.push(`bodyLimitBytes: expected ${expected}, not ${String(bodyLimitBytes)}`);
  }
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return {
    ...{ dataFile, store, apiKeys, prefix, bodyLimitBytes, corsOrigins },
    log: safeLog(options.log ?? silent),
    accessLog: options.accessLog ?? false,
    now: options.now ?? Date.now,
    runtime: options.runtime,
  };
}

/** Throws a TypeError that names every key at fault by its place, and quotes none. */
export function checkKeys(apiKeys: readonly string[]): void {
  const problems = keyProblems(apiKeys);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
}

const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/;

function keyProblems(apiKeys: readonly string[]): readonly string[] {
  if (!Array.isArray(apiKeys)) return ['apiKeys: expected an array of keys'];
  return apiKeys.flatMap((key, index) => {
    const problem = keyProblem(String(key));
    return problem === undefined ? [] : [`apiKeys[${index}]: ${problem}`];
  });
}

function originProblems(corsOrigins: readonly string[]): readonly string[] {
  return corsOrigins.flatMap((origin, index) => {
    const problem = originProblem(origin);
    return problem === undefined ? [] : [`corsOrigins[${index}]: ${problem}, not ${quote(origin)}`];
  });
}
