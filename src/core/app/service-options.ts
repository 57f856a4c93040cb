/**
 * The options of a service, and the check of them: programs in JavaScript have no types.
 *
 * What a service has beside its three operations and its health checks are extensions: a function
 * gets a view of the service, and returns operations, policies and so on. The service does not know
 * which extensions there are. For example, this one counts its responses:
 *
 *     extend: () => [{ onResponse: ({ status }) => void (count[status] += 1) }]
 */

import type { IncomingMessage } from 'node:http';
import { isObject } from '../base/exact-json.ts';
import type { Logger, LogDetails } from '../base/logger.ts';
import {
  aFunction,
  condition,
  matching,
  memberErrors,
  mustBe,
  type Check,
  type OptionError,
} from '../base/option-error.ts';
import type { Exchange, Policy } from '../http/handle-request.ts';
import type { Operation } from '../http/operation.ts';
import type { PetStore } from '../pets/pet-store.ts';
import { apiKeyErrors, type ApiKeyOption } from './api-keys.ts';

/** The options that do not depend on where the pets are. */
export interface CommonOptions {
  /**
   * The API keys. Each is its text, or `sha256:` and its digest in hex, or an object with that as
   * `key` and with a name, or with `only` if it opens only the operations that ask for that right.
   */
  readonly apiKeys: readonly ApiKeyOption[];
  /**
   * What all paths begin with: with '/shop' the API is at `/shop/v1`. Segments of letters, digits
   * and `-._~`, each after a slash.
   */
  readonly prefix?: string | undefined;
  /**
   * The longest request body in bytes: 65,536 by default. At most 5 MiB, since a page of a hundred
   * such pets must fit into one string.
   */
  readonly bodyLimitBytes?: number | undefined;
  /** Without it, errors are warnings of the process (`process.emitWarning`). */
  readonly log?: Logger | undefined;
  /** The time of day in milliseconds since 1970. */
  readonly timeOfDay?: (() => number) | undefined;
}

export interface ServiceOptions extends CommonOptions {
  /**
   * The store, or what opens it: the signal aborts if the service is closed meanwhile. `close` of
   * the service closes the store, too.
   */
  readonly store: PetStore | ((signal: AbortSignal) => Promise<PetStore>);
  readonly extend?: ((view: ServiceView) => readonly Extension[]) | undefined;
}

/** What an extension may ask of its service. */
export interface ServiceView {
  /** Returns the store. Throws StoreUnavailableError while none is open. */
  store(): PetStore;
  /** Returns why the service is not ready for creates, or undefined if it is. */
  unreadiness(): string | undefined;
  /** Returns the names of the API keys in force. Keys without a name have ''. */
  keyNames(): ReadonlySet<string>;
  /** Returns all operations, once the service is made. */
  operations(): readonly Operation[];
}

export interface Extension {
  readonly operations?: readonly Operation[];
  readonly policies?: readonly Policy[];
  /** Returns what the 404 of an unknown path adds to its message. */
  hintFor?(path: string, request: IncomingMessage): string;
  /** Called with each response once it is sent, but not with those of the server, such as a 408. */
  onResponse?(exchange: Exchange): void;
  /** Returns what the log says of a request that failed, beside its method and path. */
  detailsOf?(request: IncomingMessage): LogDetails;
  /** Called when other API keys are in force. */
  onApiKeys?(): void;
  /** Called when the service closes. */
  close?(): void;
}

export function integer(min: number, max: number, where = ''): Check {
  return condition(`an integer from ${min} to ${max}${where}`, (value) => {
    return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  });
}

export const aStore: Check = (value, option) => {
  if (!isObject(value)) return [mustBe(option, 'a PetStore', value)];
  const methods = ['list', 'get', 'create', 'count', 'unreadiness', 'close'];
  const missing = methods.filter((name) => typeof value[name] !== 'function');
  if (missing.length === 0) return [];
  const advice = value instanceof Promise ? ': it is a promise, so await it' : '';
  const sentence = `must be a PetStore, and has no ${missing.join(', ')}${advice}`;
  return [{ option, sentence }];
};

/** A page of 100 bodies has to fit into one string, which has at most 512 MiB in V8. */
const MAX_BODY_LIMIT_BYTES: number = 5 << 20;

export const COMMON_CHECKS: Readonly<Record<keyof CommonOptions, Check>> = {
  apiKeys: apiKeyErrors,
  prefix: matching('segments such as /shop', /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/),
  bodyLimitBytes: integer(1, MAX_BODY_LIMIT_BYTES),
  log: aFunction,
  timeOfDay: aFunction,
};

const CHECKS: Readonly<Record<keyof ServiceOptions, Check>> = {
  ...COMMON_CHECKS,
  store: (value, option) => (typeof value === 'function' ? [] : aStore(value, option)),
  extend: aFunction,
};

/** Returns all that is wrong with the options, which may have any value. */
export function serviceErrors(options: unknown): readonly OptionError[] {
  // It may be an API key, so it is not shown.
  if (!isObject(options)) return [{ option: 'options', sentence: 'must be an object' }];
  return memberErrors(options, CHECKS, ['apiKeys', 'store']);
}
