/**
 * The app: the service of core/ with the extras, by one table of options. It is for the process in
 * server.ts, for tests, and for programs that embed it.
 */

import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { apiKeyProblems } from './core/app/api-keys.ts';
import {
  aStore,
  COMMON_CHECKS,
  integer,
  type CommonOptions,
  type Extension,
  type ServiceView,
} from './core/app/service-options.ts';
import { createService, type Service } from './core/app/service.ts';
import { isObject } from './core/base/exact-json.ts';
import { safeLogger, warningLogger } from './core/base/logger.ts';
import {
  assertNoProblems,
  aText,
  condition,
  disguiseOf,
  memberProblems,
  mustBe,
  type Check,
  type Problem,
} from './core/base/problem.ts';
import type { PetStore } from './core/pets/pet-store.ts';
import { checkDataFile } from './core/store/copies.ts';
import { openFileStore } from './core/store/file-store.ts';
import { createMemoryStore } from './core/store/memory-store.ts';
import { nodeDisk } from './core/store/node-disk.ts';
import { etcdProblems, MAX_ETCD_BODY_BYTES, type EtcdOptions } from './extras/etcd/etcd-options.ts';
import { createCors, isOrigin } from './extras/ops/cors.ts';
import { createRequestIds, logResponse } from './extras/ops/logs.ts';
import { createMetrics, METRICS_RIGHT } from './extras/ops/metrics.ts';
import type { Runtime } from './extras/ops/runtime.ts';
import { webExtension } from './extras/web/web.ts';

export interface AppOptions extends CommonOptions {
  /** The data file. Exactly one of `dataFile`, `memory`, `etcd` and `store` is given. */
  readonly dataFile?: string | URL | undefined;
  /** The pets are in memory only. A data file is read as starting data and never written. */
  readonly memory?: true | { readonly dataFile: string | URL } | undefined;
  /** The pets are in an etcd cluster, which several processes may share. */
  readonly etcd?: EtcdOptions | undefined;
  /** The pets are in a store of the program. `app.close()` closes it, too. */
  readonly store?: PetStore | undefined;
  /** Logs each request with its response, and gives it an id. Off by default. */
  readonly accessLog?: boolean | undefined;
  /** The origins whose web pages may use the service, or `*`. None by default. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** A page at `/` and a reference at `/docs`, both without an API key. Off by default. */
  readonly page?: boolean | undefined;
  /** What the metrics report about the program around the app. */
  readonly runtime?: Runtime | undefined;
}

export type App = Service;

/** Resolves with an app whose store is open. */
export async function openApp(options: AppOptions): Promise<App> {
  const app = createApp(options);
  await app.open();
  return app;
}

/**
 * Returns an app that responds with 503 to whatever needs the store, until it is opened. Throws a
 * TypeError that names all that is wrong with the options.
 */
export function createApp(options: AppOptions): App {
  assertNoProblems(optionProblems(options));
  const { apiKeys, prefix, bodyLimitBytes, log = warningLogger, now, store } = options;
  return createService({
    apiKeys,
    prefix,
    bodyLimitBytes,
    log,
    now,
    store: store ?? ((signal) => openStore({ ...options, log }, signal)),
    extend: (view) => extend(options, view),
  });
}

/** Returns what the app has beside the core: the parts of `ops/` and `web/` that are on. */
function extend(options: AppOptions, view: ServiceView): Extension {
  const { prefix = '', corsOrigins = [], page = false, now = Date.now, runtime } = options;
  const logger = safeLogger(options.log ?? warningLogger);
  const metrics = createMetrics({ ...view, timeOfDay: now, runtime });
  const requestIds = options.accessLog === true ? createRequestIds() : undefined;
  const web = webExtension(prefix, page, view);
  return {
    operations: [metrics.operation, ...web.operations],
    policies: [
      ...(requestIds === undefined ? [] : [requestIds]),
      ...(corsOrigins.length === 0 ? [] : [createCors(corsOrigins, view.operations)]),
    ],
    hintFor: web.hintFor,
    onResponse(summary) {
      const seconds = (performance.now() - summary.startedAt) / 1000;
      metrics.countResponse(summary, seconds);
      if (requestIds === undefined) return;
      logResponse(logger, summary, requestIds.idOf(summary.request), seconds);
    },
    detailsOf: (request) => ({ requestId: requestIds?.idOf(request) ?? '' }),
    onApiKeys: () => metrics.forgetOldKeys(),
    close: () => metrics.close(),
  };
}

/**
 * Opens the store that the options name. The etcd store is loaded only if they name it; `signal`
 * ends a start that waits for a cluster.
 */
async function openStore(options: AppOptions, signal: AbortSignal): Promise<PetStore> {
  const { etcd, dataFile, memory, log } = options;
  if (etcd !== undefined) {
    const { openEtcdStore } = await import('./extras/etcd/etcd-store.ts');
    return openEtcdStore({ ...etcd, log, signal });
  }
  const path = pathOf(typeof memory === 'object' ? memory.dataFile : dataFile);
  if (path === undefined) return createMemoryStore();
  if (memory === undefined) return openFileStore({ path, log });
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO() === true) {
    throw new Error(`${path} is a pipe: write its pets to a file, and name that as the data file`);
  }
  const content = await checkDataFile(nodeDisk, path, true);
  if (content.form === 'commits' && content.end === 'torn') {
    const event = 'The data file ends with a commit that is not complete';
    safeLogger(log ?? warningLogger)('warn', event, { file: path });
  }
  return createMemoryStore(content.pets.pets());
}

export const aFile: Check = aText(
  'the path of a file, without a slash at its end, or its file: URL',
  (value) => pathOf(value) !== undefined,
);

const trueOrFalse = condition('true or false', (value) => typeof value === 'boolean');

const CHECKS: Readonly<Record<keyof AppOptions, Check>> = {
  ...COMMON_CHECKS,
  apiKeys: (value, option) => apiKeyProblems(value, option, [METRICS_RIGHT]),
  dataFile: aFile,
  memory(value, option) {
    if (value === true) return [];
    if (!isObject(value)) return [mustBe(option, 'true or an object with dataFile', value)];
    return memberProblems(value, { dataFile: aFile }, ['dataFile'], `${option}.`);
  },
  etcd: (value, option) => etcdProblems(value, `${option}.`),
  store: aStore,
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
