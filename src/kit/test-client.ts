/**
 * The client of the checks. It knows a base URL and an API key, and nothing else of the service.
 *
 * A check must hold in a store that has pets already. The last exchange is kept, without the key,
 * for the report. Integers are read as bigints, because an int64 must never pass through a number.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseExactJson, stringifyExactJson } from '../base/exact-json.ts';
import { shownMessage, shownText } from './shown.ts';

/** A service under check. */
export interface Target {
  /** Ends with /v1 and no slash, as each base URL does (spec section 1). */
  readonly baseUrl: string;
  readonly key: string;
  /** Further header fields of each request, for example for a gateway in front of the service. */
  readonly headers?: HeaderFields | undefined;
  /** A category that the service knows, if it knows any: 1 by default. */
  readonly categoryId?: bigint | undefined;
  /** For each request: 10,000 by default, which no valid response takes. */
  readonly timeoutMs?: number | undefined;
}

export type HeaderFields = Readonly<Record<string, string>>;

/** The members of a JSON object; integers are bigints. */
export type Fields = Readonly<Record<string, unknown>>;

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly exchange?: Exchange;
}

export interface AddedPet {
  readonly id: bigint;
  readonly pet: Fields;
  readonly response: ServiceResponse;
}

/** As a report shows it: cut short, and never with the key. */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
}

/** A request that got no response at all. */
export class NoResponse extends Error {
  override readonly name: string = 'NoResponse';
}

const TIMEOUT_MS = 10_000;
const ADDED_AT_ONCE = 10;
/** A service may limit the rate (spec section 8 leaves it open): a 429 is retried this often. */
const MOST_RETRIES = 5;
const LONGEST_RETRY_AFTER_S = 10;

/**
 * One client for one check or case. `lastExchange` is the last of that; a check sets it to that of
 * a response which it has compared with a later one.
 */
export class TestClient {
  readonly target: Target;
  lastExchange: Exchange | undefined;

  constructor(target: Target) {
    this.target = target;
  }

  /**
   * Sends a request to a path below the base URL; an empty Authorization omits the key. Throws
   * NoResponse.
   */
  async send(
    method: string,
    path: string,
    fields: HeaderFields = {},
    body?: string | Uint8Array,
  ): Promise<ServiceResponse> {
    const authorization = { Authorization: `Bearer ${this.target.key}` };
    const headers = new Headers({ ...authorization, ...this.target.headers, ...fields });
    if (headers.get('Authorization') === '') headers.delete('Authorization');
    // Bytes, because fetch adds a Content-Type of its own for a string.
    const content = body === undefined ? undefined : Buffer.from(body);
    for (let retries = 0; ; retries += 1) {
      const response = await this.#fetch(method, path, headers, content);
      if (response.status !== 429 || retries === MOST_RETRIES) return response;
      const seconds = Number(response.headers.get('Retry-After') ?? '1');
      await sleep(1000 * Math.min(seconds || 1, LONGEST_RETRY_AFTER_S));
    }
  }

  get(path: string): Promise<ServiceResponse> {
    return this.send('GET', path);
  }

  /** POSTs to /pets: a text or bytes as they are, any other value as JSON. */
  post(body: unknown, headers?: HeaderFields): Promise<ServiceResponse> {
    const fields = { 'Content-Type': 'application/json', ...headers };
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    return this.send('POST', '/pets', fields, isRaw ? body : stringifyExactJson(body));
  }

  /** The same, but fails the check if the pet is not added. */
  async add(body: unknown): Promise<AddedPet> {
    const response = await this.post(body);
    // That it must be a 201 is a check of its own.
    const isAdded = response.status >= 200 && response.status <= 299;
    assert.ok(isAdded, `expected an added pet, not the status ${response.status}`);
    const pet = fieldsOf(response);
    const id = pet['id'];
    assert.ok(typeof id === 'bigint', `expected an id that is an integer, not ${String(id)}`);
    return { id, pet, response };
  }

  /** Returns a NewPet with these fields, and with a default name and category. */
  newPet(fields: Fields = {}): Fields {
    return { name: 'Conformance Kit', categoryId: this.target.categoryId ?? 1n, ...fields };
  }

  /** Adds pets until a list of 100 has this many; 101 are more than any list holds. */
  async havePets(count: number, status?: string): Promise<void> {
    const query = status === undefined ? '' : `&status=${status}`;
    let missing = count - petsOf(await this.get(`/pets?limit=100${query}`)).length;
    while (missing > 0) {
      const length = Math.min(missing, ADDED_AT_ONCE);
      await Promise.all(Array.from({ length }, () => this.add(this.newPet({ status }))));
      missing -= length;
    }
  }

  async #fetch(
    method: string,
    path: string,
    headers: Headers,
    body: Buffer | undefined,
  ): Promise<ServiceResponse> {
    const address = `${this.target.baseUrl}${path}`;
    const { pathname, search } = new URL(address);
    const line = `${method} ${pathname}${search}`;
    const sent = shownMessage(line, headers, body?.toString() ?? '', this.target.key);
    const timeoutMs = this.target.timeoutMs ?? TIMEOUT_MS;
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const init: RequestInit = { method, headers, signal, redirect: 'manual' };
      const response = await fetch(address, body === undefined ? init : { ...init, body });
      const { status } = response;
      const text = await response.text();
      const received = shownMessage(`status ${status}`, response.headers, text, this.target.key);
      const exchange = { sent, received };
      this.lastExchange = exchange;
      return { status, headers: response.headers, text, exchange };
    } catch (error) {
      const reason = reasonOf(error, timeoutMs);
      this.lastExchange = { sent, received: shownText(`no response: ${reason}`, this.target.key) };
      throw new NoResponse(`expected a response, but there was none: ${reason}`);
    }
  }
}

/** The members of the object in a response. */
export function fieldsOf({ text }: ServiceResponse): Fields {
  const value = valueOf(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  assert.ok(isObject, 'expected a body that is a JSON object');
  return value as Fields;
}

/** The pets in a response. */
export function petsOf({ text }: ServiceResponse): readonly Fields[] {
  const value = valueOf(text);
  const isList = Array.isArray(value) && value.every((pet) => pet instanceof Object);
  assert.ok(isList, 'expected a body that is a JSON array of objects');
  return value as readonly Fields[];
}

/** The ids of the pets in a response, in its order. */
export function idsOf(response: ServiceResponse): readonly unknown[] {
  return petsOf(response).map(({ id }) => id);
}

function valueOf(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return assert.fail('expected a body that is JSON');
  }
}

/** Why there is no response: fetch hides that in its error's cause. */
function reasonOf(error: unknown, timeoutMs: number): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `none within ${timeoutMs / 1000} s`;
  if (!(cause instanceof Error)) return message;
  // If all addresses of a host were tried, there is an error for each, and no message.
  const [first] = cause instanceof AggregateError ? (cause.errors as readonly Error[]) : [];
  return first?.message ?? cause.message;
}
