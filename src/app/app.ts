/**
 * The app: the whole service as a value, for the process in server.ts, for tests and for other
 * programs. It joins the folders of src.
 *
 * It listens on no port, handles no signal and ends no process: any node:http server can call
 * `listener`. What it does with a request or a call of `app.pets` depends on its state:
 *
 *     state     entered by           list, get             create         /readyz
 *     starting  createApp            503 starting          503 starting   503 starting
 *     open      open, when it has    the store's response  the store's    200, or 503 with the
 *               its store                                  response       store's problem
 *     stopping  drain, close, in     as before; without a  503 stopping   503 stopping
 *               any state            store, 503 stopping
 *
 * If `open` completes while the app is stopping, its store serves reads. If `open` is first called
 * after `close`, it rejects. An app never returns to an earlier state.
 */

import { apiKeyProblems, namedKey, createKeyring, type ApiKeyOption } from './api-keys.ts';
import { optionProblems, pathOf, type AppOptions } from './app-options.ts';
import { createListener, type Listener } from '../http/handle-request.ts';
import { DOCS_PATH, docsOperation } from '../web/docs/docs.ts';
import { describeService, OPENAPI_PATH, openapiOperation } from '../web/openapi/openapi.ts';
import { createPathHint } from '../web/openapi/path-hint.ts';
import { BASE_PATH, fromStoreError, hashEmbeddedKey, petOperations } from '../api/operations.ts';
import { messageOf, safeLogger, silentLogger, type Logger } from '../base/logger.ts';
import { assertNoProblems } from '../base/problem.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/request-body.ts';
import { createPetAccess, type PetAccess } from '../model/pet-access.ts';
import { StoreUnavailableError, type PetStore, type WherePetsAre } from '../model/pet-store.ts';
import { createCors } from '../ops/cors.ts';
import { healthOperations } from '../ops/health.ts';
import { createRequestIds, logResponse } from '../ops/logs.ts';
import { createMetrics } from '../ops/metrics.ts';
import { checkDataFile } from '../stores/copies.ts';
import { openFileStore } from '../stores/file/file-store.ts';
import { nodeDisk } from '../stores/file/node-disk.ts';
import { createMemoryStore } from '../stores/memory-store.ts';
import { pageOperations } from '../web/page/page.ts';

export interface App {
  /** For the `request` event of a node:http or node:https server. */
  readonly listener: Listener;
  /** The pets as values, without HTTP and without an API key. */
  readonly pets: PetAccess;
  /** Opens the store, once. Rejects if it cannot be opened. */
  open(): Promise<void>;
  /**
   * Resolves with the reason if the store cannot continue, but its pets are safe: another program
   * changed its data file, or its log in etcd, or memory failed after a sync. Otherwise it never
   * settles.
   */
  readonly lost: Promise<Error>;
  /** Puts other API keys in force, from the next request on. */
  setApiKeys(apiKeys: readonly ApiKeyOption[]): void;
  /** Makes the app not ready: it refuses creates, and still serves reads. */
  drain(): void;
  /** Returns where the acknowledged pets are, or undefined if the store does not know. */
  durability(): WherePetsAre | undefined;
  /** True while a call of the disk is in progress, which may hang. */
  isWriting(): boolean;
  /** Waits for an `open` in progress, completes the creates in progress, and closes the store. */
  close(): Promise<void>;
}

/** Resolves with an app whose store is open. */
export async function openApp(options: AppOptions): Promise<App> {
  const app = createApp(options);
  await app.open();
  return app;
}

/**
 * Returns an app that responds with 503 to whatever needs the store, until it is opened. Throws a
 * TypeError that names all that is wrong with the options, since programs in JavaScript have no
 * types.
 */
export function createApp(options: AppOptions): App {
  assertNoProblems(optionProblems(options));
  const { prefix = '', bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES, corsOrigins = [] } = options;
  const { page = false, accessLog = false, now = Date.now, runtime } = options;
  const logger = safeLogger(options.log ?? silentLogger);
  const warnOfKeys = (apiKeys: readonly ApiKeyOption[]): void => {
    if (apiKeys.some((key) => namedKey(key).only === undefined)) return;
    logger('warn', 'No API key is valid for the API, only for the metrics', {
      keys: apiKeys.length,
    });
  };
  let keys = createKeyring(options.apiKeys);
  warnOfKeys(options.apiKeys);
  let store: PetStore | undefined;
  let isStopping = false;
  let resolveLost: (error: Error) => void = () => undefined;
  const lost = new Promise<Error>((resolve) => (resolveLost = resolve));
  const closing = new AbortController();
  let opening: Promise<void> | undefined;

  const whyUnavailable = (): string => `The service is ${isStopping ? 'stopping' : 'starting'}`;
  const storeForRead = (): PetStore => {
    if (store !== undefined) return store;
    throw new StoreUnavailableError(whyUnavailable());
  };
  const storeForCreate = (): PetStore => {
    if (isStopping) throw new StoreUnavailableError(whyUnavailable());
    return storeForRead();
  };
  /** Returns why the app is not ready, or undefined if it is. */
  const problem = (): string | undefined =>
    store === undefined || isStopping ? whyUnavailable() : store.problem();

  const metrics = createMetrics({
    store: storeForRead,
    problem,
    keyNames: () => keys.names,
    timeOfDay: now,
    runtime,
  });
  const operations = [
    ...petOperations(storeForRead, storeForCreate, prefix, now),
    ...healthOperations(problem),
    openapiOperation(prefix),
    metrics.operation,
    ...(page ? [...pageOperations(), docsOperation(describeService(prefix))] : []),
  ];
  const requestIds = accessLog ? createRequestIds() : undefined;
  const listener = createListener({
    operations,
    prefix,
    protectedPath: BASE_PATH,
    apiKeys: { find: (token) => keys.find(token), realm: 'petstore' },
    policies: [
      ...(requestIds === undefined ? [] : [requestIds]),
      ...(corsOrigins.length > 0 ? [createCors(corsOrigins, operations)] : []),
    ],
    hintFor: createPathHint(operations, prefix, `${prefix}${page ? DOCS_PATH : OPENAPI_PATH}`),
    bodyLimitBytes,
    isStopping: () => isStopping,
    toHttpError: fromStoreError,
    onFailure(error, { request, path }) {
      const { method = '' } = request;
      const requestId = requestIds?.idOf(request) ?? '';
      const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
      logger('error', 'A request failed', { requestId, method, path, cause });
    },
    onResponse(summary) {
      const seconds = (performance.now() - summary.startedAt) / 1000;
      metrics.countResponse(summary, seconds);
      if (requestIds !== undefined) {
        logResponse(logger, summary, requestIds.idOf(summary.request), seconds);
      }
    },
  });

  const open = async (): Promise<void> => {
    closing.signal.throwIfAborted();
    store = await openStore(options, logger, closing.signal);
    void store.lost?.then(resolveLost);
  };

  return {
    listener,
    lost,
    pets: createPetAccess(storeForRead, storeForCreate, hashEmbeddedKey),
    open: () => (opening ??= open()),
    setApiKeys(apiKeys) {
      assertNoProblems(apiKeyProblems(apiKeys, 'apiKeys'));
      keys = createKeyring(apiKeys);
      metrics.forgetOldKeys();
      warnOfKeys(apiKeys);
    },
    drain() {
      store?.drain?.();
      isStopping = true;
    },
    durability: () => store?.durability?.(),
    isWriting: () => store?.isWriting?.() ?? false,
    async close() {
      isStopping = true;
      metrics.close();
      closing.abort();
      // If `open` failed, its caller has the error already, and no resource is held.
      await opening?.catch(() => undefined);
      await (store ?? options.store)?.close();
    },
  };
}

/**
 * Opens the store that the options name. The etcd store is loaded only if they name it; `signal`
 * ends a start that waits for a cluster.
 */
async function openStore(
  { store, etcd, dataFile, memory }: AppOptions,
  logger: Logger,
  signal: AbortSignal,
): Promise<PetStore> {
  if (store !== undefined) return store;
  if (etcd !== undefined) {
    const { openEtcdStore } = await import('../stores/etcd/etcd-store.ts');
    return openEtcdStore({ ...etcd, log: logger, signal });
  }
  const path = pathOf(typeof memory === 'object' ? memory.dataFile : dataFile);
  if (path === undefined) return createMemoryStore();
  if (memory === undefined) return openFileStore({ path, log: logger });
  const content = await checkDataFile(nodeDisk, path, true);
  if (content.form === 'commits' && content.end === 'torn') {
    logger('warn', 'The data file ends with a commit that is not complete', { file: path });
  }
  return createMemoryStore(content.pets.pets());
}
