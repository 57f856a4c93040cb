/**
 * The app: the whole service as a value, for the process in server.ts, for tests and for other
 * programs. It is where the rooms meet, and the only place that picks a store.
 *
 * It listens on nothing, handles no signal and ends no process: `listener` goes into any node:http
 * server. Before `open` and after `drain` it answers too, and says what it cannot do.
 */

import { createListener, type Listener } from './api/listener.ts';
import { openapiOperation } from './api/openapi.ts';
import { petOperations } from './api/operations.ts';
import { safeLog, silent, type Log } from './base/log.ts';
import { quote } from './base/quote.ts';
import { createKeyring, keyProblem, type Keyring } from './http/bearer.ts';
import { DEFAULT_BODY_LIMIT_BYTES, MAX_BODY_LIMIT_BYTES } from './http/request-body.ts';
import { createPetAccess, type PetAccess } from './model/pet-access.ts';
import { StoreUnavailableError, type PetStore } from './model/pet-store.ts';
import { logAnswer } from './ops/access-log.ts';
import { createCors } from './ops/cors.ts';
import { healthOperations } from './ops/health.ts';
import { createMetrics } from './ops/metrics.ts';
import { requestIdOf } from './ops/request-id.ts';
import { openFileStore, type FileStore } from './storage/file-store.ts';
import { VERSION } from './base/version.ts';

export interface AppOptions {
  /** Where the pets are kept; or `store`, for a store of one's own, which `close` closes too. */
  readonly dataFile?: string | undefined;
  readonly store?: PetStore | undefined;
  /** The API keys, each as its text or as `sha256:` and the digest in hex; TypeError when not. */
  readonly apiKeys: readonly string[];
  /**
   * Where the app is mounted: the interface is then at `/shop/v1` for '/shop'. Segments of letters,
   * digits and `-._~`, each after a slash; TypeError when not.
   */
  readonly prefix?: string | undefined;
  /**
   * The longest request body: 65,536 by default, and at most 5 MiB, or a page may be too long for a
   * string; RangeError when not.
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

export interface App {
  /** For the `request` event of a node:http or node:https server. */
  readonly listener: Listener;
  /** The pets as values, without HTTP and without a key. */
  readonly pets: PetAccess;
  /** Opens the store; rejects when it cannot be. */
  open(): Promise<void>;
  /** Puts other keys in force, from the next request on. */
  setApiKeys(apiKeys: readonly string[]): void;
  /** Reports not ready, and takes no more pets; reads are answered on. */
  drain(): void;
  /** Finishes what is under way and closes the store. */
  close(): Promise<void>;
}

/** An app whose store is open. */
export async function openApp(options: AppOptions): Promise<App> {
  const app = createApp(options);
  await app.open();
  return app;
}

/** An app that answers 503 until it is opened. */
export function createApp(options: AppOptions): App {
  const { now = Date.now } = options;
  const bodyLimitBytes = checkedBodyLimit(options.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES);
  const log = safeLog(options.log ?? silent);
  const prefix = checkedPrefix(options.prefix ?? '');
  let keyring: Keyring = checkedKeyring(options.apiKeys);
  let store: PetStore | undefined;
  let fileStore: FileStore | undefined;
  let isDraining = false;

  const openStore = (): PetStore => {
    if (store === undefined) throw new StoreUnavailableError(STARTING);
    return store;
  };
  const storeForCreate = (): PetStore => {
    if (isDraining) throw new StoreUnavailableError(STOPPING);
    return openStore();
  };
  const problem = (): string | undefined => {
    if (isDraining) return STOPPING;
    return store === undefined ? STARTING : store.problem();
  };

  const metrics = createMetrics({
    version: VERSION,
    nodeVersion: options.runtime?.nodeVersion ?? '',
    pets: () => openStore().count(),
    store: () => fileStore?.stats(),
    openConnections: () => options.runtime?.openConnections(),
  });
  const listener = createListener({
    operations: [
      ...petOperations({ store: openStore, storeForCreate }),
      ...healthOperations(problem),
      openapiOperation(prefix),
      metrics.operation,
    ],
    prefix,
    keyring: () => keyring,
    bodyLimitBytes,
    now,
    isDraining: () => isDraining,
    log,
    onAnswer(answer) {
      const seconds = (performance.now() - answer.startedAt) / 1000;
      metrics.countAnswer(answer.operation, answer.status, seconds, answer.bodyBytes);
      if (options.accessLog === true) logAnswer(log, { ...answer, seconds });
    },
    identify: options.accessLog === true ? requestIdOf : undefined,
    cors: options.corsOrigins?.length ? createCors(options.corsOrigins) : undefined,
  });

  return {
    listener,
    pets: createPetAccess(openStore, storeForCreate),
    async open() {
      if (options.store === undefined) fileStore = await openDataFile(options, log);
      store = options.store ?? fileStore;
    },
    setApiKeys(apiKeys) {
      keyring = checkedKeyring(apiKeys);
    },
    drain() {
      isDraining = true;
    },
    async close() {
      isDraining = true;
      metrics.close();
      await store?.close();
    },
  };
}

const STARTING = 'The service is starting';
const STOPPING = 'The service is stopping';

function checkedKeyring(apiKeys: readonly string[]): Keyring {
  for (const [index, key] of apiKeys.entries()) {
    const problem = keyProblem(key);
    if (problem !== undefined) throw new TypeError(`apiKeys[${index}]: ${problem}`);
  }
  return createKeyring(apiKeys);
}

const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/;

function checkedPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix;
  throw new TypeError(`prefix: expected segments such as /shop, not ${quote(prefix)}`);
}

function checkedBodyLimit(bytes: number): number {
  if (Number.isInteger(bytes) && bytes >= 1 && bytes <= MAX_BODY_LIMIT_BYTES) return bytes;
  throw new RangeError(
    `bodyLimitBytes must be an integer from 1 to ${MAX_BODY_LIMIT_BYTES}, not ${bytes}`,
  );
}

function openDataFile({ dataFile }: AppOptions, log: Log): Promise<FileStore> {
  if (dataFile === undefined) throw new TypeError('An app needs a dataFile or a store');
  return openFileStore({ path: dataFile, log });
}

// What a program around the app needs beside it: a server that is fit for the open network and can
// be stopped without losing a request, the stores, and what another PetStore is made of.
export { byteString, bytesToString, stringToBytes, textOf } from './base/byte-string.ts';
export type { ByteString } from './base/byte-string.ts';
export type { Log, LogLevel } from './base/log.ts';
export { connectionsOf, createHttpServer, type Limits } from './http/http-server.ts';
export { stopServer } from './http/stop-server.ts';
export { decodePet, encodePet, encodePets, InvalidPetError } from './model/encoded-pet.ts';
export type { EncodedNewPet, EncodedPet } from './model/encoded-pet.ts';
export type { NewPet, Pet, PetStatus } from './model/pet.ts';
export type { PetAccess, PetAccessPage, PetAccessQuery } from './model/pet-access.ts';
export { StoreUnavailableError, type PetCount, type PetPage } from './model/pet-store.ts';
export type { PetQuery, PetStore } from './model/pet-store.ts';
export { openFileStore, type FileStore, type FileStoreOptions } from './storage/file-store.ts';
export { createMemoryStore } from './storage/memory-store.ts';
export { VERSION } from './base/version.ts';
