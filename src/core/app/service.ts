/**
 * The service as a value: three operations on pets, over HTTP and as functions, and two health
 * checks. With a few lines it is a server:
 *
 *     const service = createService({
 *       store: () => openFileStore({ path: 'pets.json' }),
 *       apiKeys: ['secret'],
 *     });
 *     await service.open();
 *     createPlainServer(service.listener).listen(8080);
 *
 * It listens on no port, handles no signal and ends no process. What it does with a request or a
 * call of `service.pets` depends on its state:
 *
 *     state     entered by           list, get             create         /readyz
 *     starting  createService        503 starting          503 starting   503 starting
 *     failed    open, if it rejects  503 did not start     503 did not …  503 did not start
 *     open      open, when it has    the store's response  the store's    200, or 503 with the
 *               its store                                  response       store's reason
 *     stopping  drain, close, in     as before; without a  503 stopping   503 stopping
 *               any state            store, 503 stopping
 *
 * If `open` completes while the service is stopping, its store serves reads. If `open` is first
 * called after `close`, it rejects. A service never returns to an earlier state.
 */

import { healthOperations } from '../api/health.ts';
import { BASE_PATH, fromStoreError, hashEmbeddedKey, petOperations } from '../api/operations.ts';
import { messageOf, safeLogger, warningLogger } from '../base/logger.ts';
import { assertNoErrors } from '../base/option-error.ts';
import { createListener, type Listener } from '../http/handle-request.ts';
import type { Operation } from '../http/operation.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/request-body.ts';
import { createPetAccess, type PetAccess } from '../pets/pet-access.ts';
import { StoreUnavailableError, type PetStore, type WherePetsAre } from '../pets/pet-store.ts';
import { apiKeyErrors, createKeyring, namedKey, type ApiKeyOption } from './api-keys.ts';
import { serviceErrors, type ServiceOptions } from './service-options.ts';

export interface Service {
  /** For the `request` event of a node:http or node:https server. */
  readonly listener: Listener;
  /** The pets as values, without HTTP and without an API key. */
  readonly pets: PetAccess;
  /** Opens the store, once. Rejects if it cannot be opened. */
  open(): Promise<void>;
  /**
   * Resolves with the reason if the store cannot continue, but its pets are safe: only a new
   * process may continue with them. Otherwise it never settles.
   */
  readonly lost: Promise<Error>;
  /** Puts other API keys in force, from the next request on. Throws a TypeError if one is wrong. */
  setApiKeys(apiKeys: readonly ApiKeyOption[]): void;
  /** Makes the service not ready: it refuses creates, and still serves reads. */
  drain(): void;
  /** Returns where the acknowledged pets are, or undefined if the store does not know. */
  durability(): WherePetsAre | undefined;
  /** True while a call of the disk is in progress, which may hang. */
  isWriting(): boolean;
  /** Waits for an `open` in progress, completes the creates in progress, and closes the store. */
  close(): Promise<void>;
}

type State =
  | { readonly name: 'starting' | 'failed' }
  | { readonly name: 'open'; readonly store: PetStore }
  | { readonly name: 'stopping'; readonly store: PetStore | undefined };

function whyUnavailable({ name }: State): string {
  return `The service ${name === 'failed' ? 'did not start' : `is ${name}`}`;
}

/**
 * Returns a service that responds with 503 to whatever needs the store, until it is opened. Throws
 * a TypeError that names all that is wrong with the options.
 */
export function createService(options: ServiceOptions): Service {
  assertNoErrors(serviceErrors(options));
  const { prefix = '', bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  const logger = safeLogger(options.log ?? warningLogger);
  let keys = createKeyring(options.apiKeys);
  // Closed with the service, even if it was never opened.
  const given = typeof options.store === 'function' ? undefined : options.store;
  let state: State = { name: 'starting' };
  let opening: Promise<void> | undefined;
  let resolveLost: (error: Error) => void = () => undefined;
  const lost = new Promise<Error>((resolve) => (resolveLost = resolve));
  const closing = new AbortController();

  const currentStore = (): PetStore | undefined => ('store' in state ? state.store : undefined);
  const isStopping = (): boolean => state.name === 'stopping';
  const storeForRead = (): PetStore => {
    const store = currentStore();
    if (store !== undefined) return store;
    throw new StoreUnavailableError(whyUnavailable(state));
  };
  const storeForCreate = (): PetStore => {
    if (state.name === 'open') return state.store;
    throw new StoreUnavailableError(whyUnavailable(state));
  };
  const unreadiness = (): string | undefined =>
    state.name === 'open' ? state.store.unreadiness() : whyUnavailable(state);
  const stop = (): void => {
    state = { name: 'stopping', store: currentStore() };
  };

  const operations: Operation[] = [];
  const view = { store: storeForRead, unreadiness, keyNames: () => keys.names };
  const extensions = options.extend?.({ ...view, operations: () => operations }) ?? [];
  operations.push(
    ...petOperations(storeForRead, storeForCreate, prefix, options.timeOfDay ?? Date.now),
    ...healthOperations(unreadiness),
    ...extensions.flatMap((extension) => extension.operations ?? []),
  );
  const checkKeys = (apiKeys: readonly ApiKeyOption[]): void => {
    const rights = operations.flatMap(({ needsKey }) => {
      return typeof needsKey === 'string' ? [needsKey] : [];
    });
    assertNoErrors(apiKeyErrors(apiKeys, 'apiKeys', rights));
    if (apiKeys.some((key) => namedKey(key).only === undefined)) return;
    logger('warn', 'No API key is valid for the API, only for single rights', {
      keys: apiKeys.length,
    });
  };
  checkKeys(options.apiKeys);

  const listener = createListener({
    operations,
    prefix,
    protectedPath: BASE_PATH,
    apiKeys: { find: (token) => keys.find(token), realm: 'petstore' },
    policies: extensions.flatMap(({ policies = [] }) => policies),
    hintFor: (path, request) =>
      extensions.map((extension) => extension.hintFor?.(path, request)).join(''),
    bodyLimitBytes,
    isStopping,
    fromOperationError: fromStoreError,
    onFailure(error, { request, path }) {
      const cause = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
      const details = extensions.map((extension) => extension.detailsOf?.(request));
      const all = Object.assign({}, ...details, { method: request.method ?? '', path, cause });
      logger('error', 'A request failed', all);
    },
    onResponse(exchange) {
      for (const extension of extensions) extension.onResponse?.(exchange);
    },
  });

  const open = async (): Promise<void> => {
    closing.signal.throwIfAborted();
    const { store: opener } = options;
    try {
      const store = typeof opener === 'function' ? await opener(closing.signal) : opener;
      state = { name: isStopping() ? 'stopping' : 'open', store };
      void store.lost?.then(resolveLost, resolveLost);
    } catch (error) {
      if (!isStopping()) state = { name: 'failed' };
      throw error;
    }
  };

  return {
    listener,
    lost,
    pets: createPetAccess(storeForRead, storeForCreate, hashEmbeddedKey),
    open: () => (opening ??= open()),
    setApiKeys(apiKeys) {
      checkKeys(apiKeys);
      keys = createKeyring(apiKeys);
      for (const extension of extensions) extension.onApiKeys?.();
    },
    drain() {
      stop();
      currentStore()?.drain?.();
    },
    durability: () => currentStore()?.durability?.(),
    isWriting: () => currentStore()?.isWriting?.() ?? false,
    async close() {
      stop();
      for (const extension of extensions) extension.close?.();
      closing.abort();
      // If `open` failed, its caller has the error already, and no resource is held.
      await opening?.catch(() => undefined);
      await (currentStore() ?? given)?.close();
    },
  };
}
