/**
 * The client that the checks speak through: a base address, a key, fetch, and raw connections.
 *
 * A check knows no more of a service than that, and what it asserts holds where there are pets
 * already. The last exchange is kept, without the key, so that a report can show it. Integers are
 * read as bigints, since an int64 must never pass through a number.
 */

import assert from 'node:assert/strict';
import { readJson } from './exact-json.ts';
import { shownMessage, shownText } from './shown.ts';
import { readResponses, talk, type Bytes, type ServiceResponse } from './wire.ts';

export type { ServiceResponse } from './wire.ts';

/** A service under check. */
export interface Target {
  /** Ends with /v1 and no slash, as each base address does (the interface's part 1). */
  readonly baseUrl: string;
  readonly key: string;
  /** Further header fields of each request: what a gateway in front of the service asks for. */
  readonly headers?: HeaderFields | undefined;
  /** A category that the service knows, should it know any: 1 by default. */
  readonly categoryId?: bigint | undefined;
  /** For each request: 10,000 by default. No right response comes near it. */
  readonly timeoutMs?: number | undefined;
}

export type HeaderFields = Readonly<Record<string, string>>;

/** The members of a JSON object; integers are bigints. */
export type Fields = Readonly<Record<string, unknown>>;

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

/** What most checks of HTTP add: a pet whose finder can tell where it came from. */
export const REX = '{"name":"Conformance Rex","categoryId":1}';

const TIMEOUT_MS = 10_000;
const ADDED_AT_ONCE = 10;

/** One client for one check: `lastExchange` is of that check. */
export class Client {
  readonly target: Target;
  lastExchange: Exchange | undefined;
  readonly #timeoutMs: number;

  constructor(target: Target) {
    this.target = target;
    this.#timeoutMs = target.timeoutMs ?? TIMEOUT_MS;
  }

  get key(): string {
    return this.target.key;
  }

  /** Sends a request to a path below the base address; an empty Authorization omits the key. */
  send(
    method: string,
    path: string,
    headers?: HeaderFields,
    body?: string | Uint8Array,
  ): Promise<ServiceResponse> {
    return this.#fetch(method, `${this.target.baseUrl}${path}`, headers, body);
  }

  /** The same for a path beside /v1: '/livez'. */
  sendBeside(method: string, path: string, headers?: HeaderFields): Promise<ServiceResponse> {
    return this.#fetch(method, `${this.target.baseUrl.replace(/\/v1$/, '')}${path}`, headers);
  }

  get(path: string): Promise<ServiceResponse> {
    return this.send('GET', path);
  }

  /** POSTs to /pets: a text or bytes as they are, any other value as JSON. */
  post(body: unknown, headers?: HeaderFields): Promise<ServiceResponse> {
    const fields = { 'Content-Type': 'application/json', ...headers };
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    return this.send('POST', '/pets', fields, isRaw ? body : toJson(body));
  }

  /** The same, where a failure to add the pet is one of the check. */
  async add(body: unknown): Promise<AddedPet> {
    const response = await this.post(body);
    // Whether it is a 201 is for a check of its own to say.
    const isAdded = response.status >= 200 && response.status <= 299;
    assert.ok(isAdded, `expected an added pet, not the status ${response.status}`);
    const pet = fieldsOf(response);
    const id = pet['id'];
    assert.ok(typeof id === 'bigint', `expected an id that is an integer, not ${String(id)}`);
    return { id, pet, response };
  }

  /** A NewPet with these fields, and a name and a category where they have none. */
  newPet(fields: Fields = {}): Fields {
    return { name: 'Conformance Kit', categoryId: this.target.categoryId ?? 1n, ...fields };
  }

  /** Adds pets until a list of 100 has so many; 101 are some that no list holds. */
  async havePets(count: number, status?: string): Promise<void> {
    const query = status === undefined ? '' : `&status=${status}`;
    let missing = count - lengthOf((await this.get(`/pets?limit=100${query}`)).text);
    while (missing > 0) {
      const length = Math.min(missing, ADDED_AT_ONCE);
      await Promise.all(Array.from({ length }, () => this.add(this.newPet({ status }))));
      missing -= length;
    }
  }

  /**
   * Bytes of a request that ask for the connection to be closed, with Host and key. A target that
   * begins with /v1 is one below the base address, wherever that is.
   */
  message(requestLine: string, fields: readonly string[] = [], body = ''): string {
    const { host, pathname } = new URL(this.target.baseUrl);
    const atBase = /^(\S+ (?:http:\/\/\w+)?)\/v1(?=[/?]|$)/;
    const line = requestLine.replace(atBase, (_all, before: string) => before + pathname);
    const further = Object.entries(this.target.headers ?? {}).map((field) => field.join(': '));
    const own = [`Host: ${host}`, `Authorization: Bearer ${this.key}`, 'Connection: close'];
    return [`${line} HTTP/1.1`, ...own, ...further, ...fields, '', body].join('\r\n');
  }

  /**
   * Writes bytes to a connection of its own, and reads responses until the service closes it. A
   * second part goes out when something has come back after the first.
   */
  async exchange(...parts: readonly Bytes[]): Promise<readonly ServiceResponse[]> {
    const sent = parts.map(String).join('');
    const options = { timeoutMs: this.#timeoutMs, isLast: false };
    const talking = async (): Promise<readonly ServiceResponse[]> =>
      readResponses(
        await talk(new URL(this.target.baseUrl), parts, options),
        sent.startsWith('HEAD '),
      );
    const shown = (responses: readonly ServiceResponse[]): string =>
      responses.map((one) => this.#shown(one)).join('\n\n') || 'the end of the connection';
    return this.#recorded(shownText(sent, this.key), talking, shown);
  }

  /** Closes the connection after the bytes, and waits until the service has done so, too. */
  async leaveAfter(bytes: string): Promise<void> {
    const options = { timeoutMs: this.#timeoutMs, isLast: true };
    const leaving = (): Promise<Buffer> => talk(new URL(this.target.baseUrl), [bytes], options);
    await this.#recorded(shownText(bytes, this.key), leaving, () => 'the end of the connection');
  }

  #fetch(
    method: string,
    address: string,
    fields: HeaderFields = {},
    body?: string | Uint8Array,
  ): Promise<ServiceResponse> {
    const authorization = { Authorization: `Bearer ${this.key}` };
    const headers = new Headers({ ...authorization, ...this.target.headers, ...fields });
    if (headers.get('Authorization') === '') headers.delete('Authorization');
    const { pathname, search } = new URL(address);
    const shownBody = body === undefined ? '' : Buffer.from(body).toString();
    const sent = shownMessage(`${method} ${pathname}${search}`, headers, shownBody, this.key);
    const fetching = async (): Promise<ServiceResponse> => {
      const signal = AbortSignal.timeout(this.#timeoutMs);
      // Bytes, since for a string fetch adds a Content-Type of its own.
      const content = body === undefined ? {} : { body: Buffer.from(body) };
      const init: RequestInit = { method, headers, signal, redirect: 'manual', ...content };
      const response = await fetch(address, init);
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    return this.#recorded(sent, fetching, (response) => this.#shown(response));
  }

  /** Keeps what comes of a request, or that nothing does. Throws NoResponse. */
  async #recorded<T>(
    sent: string,
    act: () => Promise<T>,
    shown: (outcome: T) => string,
  ): Promise<T> {
    try {
      const outcome = await act();
      this.lastExchange = { sent, received: shown(outcome) };
      return outcome;
    } catch (error) {
      const reason = reasonOf(error, this.#timeoutMs);
      this.lastExchange = { sent, received: shownText(`no response: ${reason}`, this.key) };
      throw new NoResponse(`expected a response, but there was none: ${reason}`);
    }
  }

  #shown({ status, headers, text }: ServiceResponse): string {
    return shownMessage(`status ${status}`, headers, text, this.key);
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
  assert.ok(Array.isArray(value), 'expected a body that is a JSON array');
  return value as readonly Fields[];
}

/** The ids of the pets in a response, in its order. */
export function idsOf(response: ServiceResponse): readonly unknown[] {
  return petsOf(response).map(({ id }) => id);
}

/** As JSON.stringify, with bigints as their digits; values are those of a NewPet, right or wrong. */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${toJson(member)}`).join()}}`;
}

function valueOf(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return assert.fail('expected a body that is JSON');
  }
}

/** How many pets a list shows; none where it is no list at all. */
function lengthOf(text: string): number {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.length : 0;
  } catch {
    return 0;
  }
}

/** Why there is no response: fetch hides that in its error's cause. */
function reasonOf(error: unknown, timeoutMs: number): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `none within ${timeoutMs / 1000} s`;
  if (!(cause instanceof Error)) return message;
  // Where all addresses of a host were tried there is an error for each, and no message.
  const [first] = cause instanceof AggregateError ? (cause.errors as readonly Error[]) : [];
  return first?.message ?? cause.message;
}
