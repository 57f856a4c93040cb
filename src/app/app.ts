/**
 * The app: the whole service as a value, for the process in server.ts, for tests and for other
 * programs. It joins the folders of src; open-backend.ts opens the store.
 *
 * It listens on no port, handles no signal and ends no process: any node:http server can call
 * `listener`. Before `open` it responds with 503 to whatever needs the store, and after `drain` to
 * creates (app-state.ts has its states).
 */

import { apiKeyProblems, namedKey, type ApiKeyOption } from './api-key.ts';
import { putInForce } from './keys-in-force.ts';
import { optionProblems, type AppOptions } from './app-options.ts';
import { AppState } from './app-state.ts';
import { createListener, type Listener } from '../http/handle-request.ts';
import { DOCS_PATH, docsOperation } from '../web/docs/docs.ts';
import { describeService, OPENAPI_PATH, openapiOperation } from '../web/openapi/openapi.ts';
import { createPathHint } from '../web/openapi/path-hint.ts';
import { hashEmbeddedKey } from '../api/idempotency-key.ts';
import { petOperations } from '../api/operations.ts';
import { BASE_PATH } from '../api/paths.ts';
import { fromStoreError } from '../api/store-errors.ts';
import { safeLog, silent } from '../base/log.ts';
import { assertNoProblems } from '../base/problem.ts';
import { VERSION } from '../base/version.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/request-body.ts';
import { createPetAccess, type PetAccess } from '../model/pet-access.ts';
import type { PetsLocation, PetStore } from '../model/pet-store.ts';
import { identifyRequest, logRequest } from '../ops/access-log.ts';
import { createCors } from '../ops/cors.ts';
import { healthOperations } from '../ops/health.ts';
import { createMetrics } from '../ops/metrics.ts';
import { openBackend } from './open-backend.ts';
import { pageOperations } from '../web/page/page.ts';

export interface App {
  /** For the `request` event of a node:http or node:https server. */
  readonly listener: Listener;
  /** The pets as values, without HTTP and without an API key. */
  readonly pets: PetAccess;
  /** Opens the store, once. Rejects if it cannot be opened. */
  open(): Promise<void>;
  /**
   * Resolves with the reason if the store cannot continue, but its pets are safe and only a new
   * process may continue with them: it has lost its lock or its log in etcd, or memory failed after
   * a sync. Otherwise it never settles.
   */
  readonly lost: Promise<Error>;
  /** Puts other API keys in force, from the next request on. */
  setApiKeys(apiKeys: readonly ApiKeyOption[]): void;
  /** Makes the app not ready: it refuses creates, and still serves reads. */
  drain(): void;
  /** Returns where the acknowledged pets are, or undefined if the store does not know. */
  whereAreThePets(): PetsLocation | undefined;
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
  const log = safeLog(options.log ?? silent);
  const warnOfKeys = (apiKeys: readonly ApiKeyOption[]): void => {
    if (apiKeys.some((key) => namedKey(key).only === undefined)) return;
    log('warn', 'No API key is valid for the API, only for the metrics', { keys: apiKeys.length });
  };
  let keys = putInForce(options.apiKeys);
  warnOfKeys(options.apiKeys);
  const state = new AppState();
  let tellLost: (error: Error) => void = () => undefined;
  const lost = new Promise<Error>((resolve) => (tellLost = resolve));
  const closing = new AbortController();
  let opening: Promise<void> | undefined;

  const storeForRead = (): PetStore => state.storeForRead();
  const storeForCreate = (): PetStore => state.storeForCreate();

  const metrics = createMetrics({
    version: VERSION,
    pets: () => storeForRead().count(),
    store: () => state.store?.stats?.(),
    canStore: () => state.problem() === undefined,
    keyUses: () => keys.uses,
    now,
    runtime,
  });
  const operations = [
    ...petOperations(storeForRead, storeForCreate),
    ...healthOperations(() => state.problem()),
    openapiOperation(prefix),
    metrics.operation,
    ...(page ? [...pageOperations(), docsOperation(describeService(prefix))] : []),
  ];
  const listener = createListener({
    operations,
    prefix,
    protectedPath: BASE_PATH,
    keyring: (needsKey) => (needsKey === 'metrics' ? keys.forMetrics : keys.forAll),
    hintFor: createPathHint({
      patterns: operations.map(({ path }) => `${prefix}${path}`),
      prefix,
      protectedPath: `${prefix}${BASE_PATH}`,
      listPath: `${prefix}${page ? DOCS_PATH : OPENAPI_PATH}`,
    }),
    bodyLimitBytes,
    now,
    isDraining: () => state.isStopping,
    log,
    fromStoreError,
    onResponse(summary) {
      const seconds = (performance.now() - summary.startedAt) / 1000;
      metrics.countRequest(summary, seconds);
      if (accessLog) logRequest(log, summary, seconds);
    },
    identify: accessLog ? identifyRequest : undefined,
    cors: corsOrigins.length > 0 ? createCors(corsOrigins) : undefined,
  });

  const open = async (): Promise<void> => {
    closing.signal.throwIfAborted();
    const store = await openBackend(options, log, closing.signal);
    void store.lost?.then(tellLost);
    state.opened(store);
  };

  return {
    listener,
    lost,
    pets: createPetAccess(storeForRead, storeForCreate, hashEmbeddedKey),
    open: () => (opening ??= open()),
    setApiKeys(apiKeys) {
      assertNoProblems(apiKeyProblems(apiKeys, 'apiKeys'));
      keys = putInForce(apiKeys, keys.uses);
      warnOfKeys(apiKeys);
    },
    drain() {
      state.store?.drain?.();
      state.drain();
    },
    whereAreThePets: () => state.store?.whereAreThePets?.(),
    async close() {
      state.close();
      metrics.close();
      closing.abort();
      // If `open` failed, its caller has the error already, and no resource is held.
      await opening?.catch(() => undefined);
      await (state.store ?? options.store)?.close();
    },
  };
}
