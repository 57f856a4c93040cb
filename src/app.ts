/**
 * The app: the service of core/ with the extras, by one table of options. It is for the process in
 * server.ts, for tests, and for programs that embed it.
 */

import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { aStore, COMMON_CHECKS, type CommonOptions } from './core/app/service-options.ts';
import { createService, type Service } from './core/app/service.ts';
import { isObject } from './core/base/exact-json.ts';
import { safeLogger, warningLogger, type Logger } from './core/base/logger.ts';
import {
  assertNoErrors,
  aText,
  disguiseOf,
  memberErrors,
  mustBe,
  type Check,
  type OptionError,
} from './core/base/option-error.ts';
import type { PetStore } from './core/pets/pet-store.ts';
import { checkDataFile } from './core/store/copies.ts';
import { openFileStore } from './core/store/file-store.ts';
import { createMemoryStore } from './core/store/memory-store.ts';
import { nodeDisk } from './core/store/node-disk.ts';
import { bodyLimitOnEtcd, etcdErrors, type EtcdOptions } from './extras/etcd/etcd-options.ts';
import { OPS_CHECKS, opsExtension, type OpsOptions } from './extras/ops/ops.ts';
import { WEB_CHECKS, webExtension, type WebOptions } from './extras/web/web.ts';

export interface AppOptions extends CommonOptions, OpsOptions, WebOptions {
  /** The data file. Exactly one of `dataFile`, `memory`, `etcd` and `store` is given. */
  readonly dataFile?: string | URL | undefined;
  /** The pets are in memory only. A data file is read as starting data and never written. */
  readonly memory?: true | { readonly dataFile: string | URL } | undefined;
  /** The pets are in an etcd cluster, which several processes may share. */
  readonly etcd?: EtcdOptions | undefined;
  /** The pets are in a store of the program. `app.close()` closes it, too. */
  readonly store?: PetStore | undefined;
}

export type App = Service;

/** Resolves with an app whose store is open. */
export async function openApp(options: AppOptions): Promise<App> {
  const app = createApp(options);
  try {
    await app.open();
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

/**
 * Returns an app that responds with 503 to whatever needs the store, until it is opened. Throws a
 * TypeError that names all that is wrong with the options.
 */
export function createApp(options: AppOptions): App {
  assertNoErrors(optionErrors(options));
  const { apiKeys, prefix, bodyLimitBytes, timeOfDay, store } = options;
  const log = safeLogger(options.log ?? warningLogger);
  return createService({
    apiKeys,
    prefix,
    bodyLimitBytes,
    log,
    timeOfDay,
    store: store ?? ((signal) => openStore(options, log, signal)),
    extend: (view) => [opsExtension(options, view), webExtension(options, view)],
  });
}

/** Opens the store that the options name: in etcd, in a data file, or in memory. */
async function openStore(
  { etcd, dataFile, memory }: AppOptions,
  log: Logger,
  signal: AbortSignal,
): Promise<PetStore> {
  if (etcd !== undefined) {
    // Only a service that keeps its pets in etcd loads this.
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
    log('warn', event, { file: path });
  }
  return createMemoryStore(content.pets.pets());
}

export const aFile: Check = aText(
  'the path of a file, without a slash at its end, or its file: URL',
  (value) => pathOf(value) !== undefined,
);

const CHECKS: Readonly<Record<keyof AppOptions, Check>> = {
  ...COMMON_CHECKS,
  dataFile: aFile,
  memory(value, option) {
    if (value === true) return [];
    if (!isObject(value)) return [mustBe(option, 'true or an object with dataFile', value)];
    return memberErrors(value, { dataFile: aFile }, ['dataFile'], `${option}.`);
  },
  etcd: (value, option) => etcdErrors(value, `${option}.`),
  store: aStore,
  ...OPS_CHECKS,
  ...WEB_CHECKS,
};

export const OPTION_NAMES = Object.keys(CHECKS) as readonly (keyof AppOptions)[];

/** Returns all that is wrong with the options, which may have any value. */
export function optionErrors(options: unknown): readonly OptionError[] {
  // It may be an API key, so it is not shown.
  if (!isObject(options)) return [{ option: 'options', sentence: 'must be an object' }];
  const { etcd } = options;
  const checks = etcd === undefined ? CHECKS : { ...CHECKS, bodyLimitBytes: bodyLimitOnEtcd };
  const errors = [...memberErrors(options, checks, ['apiKeys'])];
  const [backend, ...others] = BACKENDS.filter((name) => options[name] !== undefined);
  if (backend === undefined) {
    const sentence = 'is required, or memory, etcd or store';
    errors.push({ option: 'dataFile', sentence });
  }
  // With `etcd` but without endpoints, etcd may not be meant: then no conflict is reported.
  const isClear = backend !== 'etcd' || (isObject(etcd) && etcd['endpoints'] !== undefined);
  for (const other of isClear ? others : []) {
    errors.push({ option: backend!, sentence: 'cannot be combined with', other });
  }
  if (options['accessLog'] === true && options['log'] === undefined) {
    errors.push({ option: 'accessLog', sentence: 'needs', other: 'log' });
  }
  return errors;
}

/** The options of which exactly one is given. */
export const BACKENDS = ['store', 'etcd', 'memory', 'dataFile'] as const;

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
