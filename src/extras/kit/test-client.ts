/**
 * The HTTP client of the checks. It needs only a base URL and an API key.
 *
 * It keeps the last exchange for the report. It reads integers as bigints, because
 * a JavaScript number does not hold every int64.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { isObject, parseExactJson, stringifyExactJson } from '../../core/base/exact-json.ts';
import { messageOf } from '../../core/base/logger.ts';

/** The service to check. */
export interface Target {
  /** Ends with /v1, without a trailing slash (S1.3 of SPEC.md). */
  readonly baseUrl: string;
  readonly key: string;
  /** Header fields to add to each request, for example for a gateway. */
  readonly headers?: HeaderFields | undefined;
  /** A category id that the service accepts: 1 by default. */
  readonly categoryId?: bigint | undefined;
  /** The time limit of each request: 60,000 by default. */
  readonly timeoutMs?: number | undefined;
}

export type HeaderFields = Readonly<Record<string, string>>;

/** A body of unknown length, which is sent in chunks. */
export type Chunks = AsyncIterable<Uint8Array>;

/** The members of a JSON object. Integers are bigints. */
export type Fields = Readonly<Record<string, unknown>>;

export interface ServiceResponse {
  /** Of the request, below the base URL. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A response: of the header fields only those of RAW_FIELDS, and what came after the header. */
export type HeadResponse = Pick<ServiceResponse, 'status' | 'headers' | 'text'>;

/** Sends a value to the service. */
export type Send = (client: TestClient, value: string) => Promise<ServiceResponse>;

/** A request as it is sent, and as a report shows it. */
type RawRequest = Readonly<Record<'bytes' | 'text', string>>;

export interface AddedPet {
  readonly id: bigint;
  readonly pet: Fields;
  readonly response: ServiceResponse;
}

/** A request and its response as texts. A report shows them without the key (shown.ts). */
export interface Evidence {
  readonly sent: string;
  readonly received: string;
}

/** A request got no response. */
export class NoResponse extends Error {
  override readonly name: string = 'NoResponse';
}

/** A service that starts cold, or shares a busy machine, takes seconds: that is no failure. */
export const TIMEOUT_MS = 60_000;
/** A hundred pets of more than a megabyte. An endless body would use up the memory of the kit. */
const LONGEST_BODY_BYTES: number = 128 << 20;
/** After the header of a response to HEAD: a body would come with it. */
const IDLE_MS = 1000;
/** What a connection is asked for is short, and no fault if it takes longer. */
const PROBE_MS = 10_000;
/** A list with one pet, and some more. */
const LONGEST_RECEIVED_BYTES: number = 8 << 20;
const LONGEST_HEADER_BYTES: number = 64 << 10;
const ADDED_AT_ONCE = 10;
/** How often a 429 is retried: SPEC.md leaves rate limits open (S8.3). */
const MOST_RETRIES = 5;
const MAX_RETRY_AFTER_S = 10;

/** What the clients of a run share. */
export class RunState {
  /** The pets that the service has acknowledged, by their ids. */
  readonly acknowledged: Map<bigint, Fields> = new Map();
  /** The ids that more than one of them got. */
  readonly repeatedIds: Set<bigint> = new Set();
  /**
   * True if the service takes what it did not read of a request for the next one, or closes
   * connections unannounced. Then each request has its own connection, so that this does not show
   * as faults of other checks.
   */
  isClosing = false;
}

/**
 * Each check or case has its own client. Its `lastExchange` is the evidence of a failure. A check
 * that compares an earlier response sets it to the exchange of that response.
 */
export class TestClient {
  readonly target: Target;
  readonly run: RunState;
  lastExchange: Evidence = { sent: '', received: '' };

  constructor(target: Target, run: RunState = new RunState()) {
    this.target = target;
    this.run = run;
  }

  /**
   * Sends a request to a path below the base URL. An empty Authorization omits the key. Rejects
   * with NoResponse.
   */
  async send(
    method: string,
    path: string,
    fields: HeaderFields = {},
    body?: string | Uint8Array | Chunks,
  ): Promise<ServiceResponse> {
    const closing: HeaderFields = this.run.isClosing ? { Connection: 'close' } : {};
    const headers = this.#headers({ ...closing, ...fields });
    // Bytes, because fetch adds its own Content-Type to a string.
    const content = typeof body === 'string' ? Buffer.from(body) : body;
    return this.#retried(() => this.#fetch(method, path, headers, content));
  }

  get(path: string): Promise<ServiceResponse> {
    return this.send('GET', path);
  }

  /** Sends POST /pets: a string or bytes as they are, any other value as JSON. */
  async post(body: unknown, headers?: HeaderFields): Promise<ServiceResponse> {
    const fields = { 'Content-Type': 'application/json', ...headers };
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const text = isRaw ? body : stringifyExactJson(body);
    const response = await this.send('POST', '/pets', fields, text);
    const pet = isAdded(response) ? jsonOrUndefined(response.text) : undefined;
    const id = isObject(pet) ? pet['id'] : undefined;
    if (typeof id !== 'bigint') return response;
    const { acknowledged, repeatedIds } = this.run;
    // A replay responds with the pet of an earlier create.
    if (acknowledged.has(id) && headers?.['Idempotency-Key'] === undefined) repeatedIds.add(id);
    acknowledged.set(id, pet as Fields);
    return response;
  }

  /** Sends POST /pets with a body whose length its header does not say. */
  postInChunks(body: string): Promise<ServiceResponse> {
    async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from(body.slice(0, 9));
      yield Buffer.from(body.slice(9));
    }
    const type = { 'Content-Type': 'application/json' };
    // A 429 can be retried, since each attempt begins the body anew.
    return this.send('POST', '/pets', type, { [Symbol.asyncIterator]: chunks });
  }

  /** Sends a line such as `GET /pets` or `POST /pets {}`. Without a body POST adds a pet. */
  ask(line: string, headers?: HeaderFields): Promise<ServiceResponse> {
    const [, method = '', path = '', body] = /^(\S+) (\S*) ?(.+)?$/.exec(line) ?? [];
    if (method === 'POST') return this.post(body ?? this.newPet(), headers);
    return this.send(method, path, headers);
  }

  /** Like `post`, but rejects with an AssertionError if the pet is not added. */
  async add(body: unknown, headers?: HeaderFields): Promise<AddedPet> {
    const response = await this.post(body, headers);
    // Another check asserts that the status is 201.
    assert.ok(isAdded(response), `expected an added pet, not the status ${response.status}`);
    const pet = fieldsOf(response);
    const id = pet['id'];
    assert.ok(typeof id === 'bigint', `expected an id that is an integer, not ${String(id)}`);
    return { id, pet, response };
  }

  /** Returns a NewPet with these fields, and with a default name and category. */
  newPet(fields: Fields = {}): Fields {
    return { name: 'Conformance Kit', categoryId: this.target.categoryId ?? 1n, ...fields };
  }

  /**
   * Adds pets until a list of 100 has this many. With 101 it always adds at least one, since a list
   * has at most 100.
   */
  async havePets(count: number, status?: string): Promise<void> {
    const query = status === undefined ? '' : `&status=${status}`;
    await this.addMany(count - petsOf(await this.get(`/pets?limit=100${query}`)).length, status);
  }

  /** Adds so many pets, some of them at once. */
  async addMany(count: number, status?: string): Promise<void> {
    for (let missing = count; missing > 0; missing -= ADDED_AT_ONCE) {
      const length = Math.min(missing, ADDED_AT_ONCE);
      await Promise.all(Array.from({ length }, () => this.add(this.newPet({ status }))));
    }
  }

  /**
   * Sends HEAD byte by byte, since fetch hides a body that comes all the same. The text of the
   * response is what came after the header, as Latin-1. Rejects with NoResponse.
   */
  head(path: string): Promise<HeadResponse> {
    return this.#retried(() => this.#head(path));
  }

  /** Sends a request again as long as the response is 429. */
  async #retried<T extends HeadResponse | undefined>(send: () => Promise<T>): Promise<T> {
    for (let retries = 0; ; retries += 1) {
      const response = await send();
      if (response?.status !== 429 || retries === MOST_RETRIES) return response;
      const seconds = readRetryAfter(response.headers.get('Retry-After'));
      await sleep(1000 * Math.min(seconds, MAX_RETRY_AFTER_S));
    }
  }

  async #head(path: string): Promise<HeadResponse> {
    const request = this.#message('HEAD', path, { Connection: 'close' });
    const received = await this.#exchange([request], this.target.timeoutMs ?? TIMEOUT_MS, IDLE_MS);
    const response = firstResponse(received);
    if (response === undefined) throw new NoResponse(`no response: ${this.lastExchange.received}`);
    return response;
  }

  /**
   * Sends a request, and behind it a GET on the same connection. Resolves with the status of what
   * came after the first response, or with undefined if the service closed the connection or took
   * too long; with 429 if it limits the rate even so. The body is sent as it is: the header fields
   * must say how long it is.
   */
  async statusAfter(
    method: string,
    path: string,
    fields: HeaderFields,
    body: string,
  ): Promise<number | undefined> {
    const first = this.#message(method, path, fields, body);
    const second = this.#message('GET', '/pets?limit=1', { Connection: 'close' });
    const last = await this.#retried(async () => {
      const response = firstResponse(await this.#exchange([first, second], PROBE_MS));
      return response?.status === 429 ? response : response && firstResponse(afterBody(response));
    });
    return last?.status;
  }

  /**
   * Sends requests on a connection of their own. Resolves with all that came until it was closed,
   * at the latest after `timeoutMs`, as Latin-1. A service that leaves it open delays the kit until
   * `idleMs` after a header.
   */
  async #exchange(
    requests: readonly RawRequest[],
    timeoutMs: number,
    idleMs = timeoutMs,
  ): Promise<string> {
    const { protocol, hostname, port } = new URL(this.target.baseUrl);
    const host = hostname.replace(/[[\]]/g, '');
    const isTls = protocol === 'https:';
    const servername = isIP(host) === 0 ? host : '';
    const options = { host, port: Number(port || (isTls ? 443 : 80)), servername };
    const socket = isTls ? connectTls(options) : connectTcp(options);
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.on('timeout', () => socket.destroy());
    socket.write(requests.map(({ bytes }) => bytes).join(''));
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      if (received.length < LONGEST_HEADER_BYTES && firstResponse(received))
        socket.setTimeout(idleMs);
      if (received.length > LONGEST_RECEIVED_BYTES) socket.destroy();
    });
    const closed = 'the connection was closed';
    const reason = await once(socket, 'close').then(() => closed, messageOf);
    clearTimeout(timer);
    const sent = requests.map(({ text }) => text).join('\n\n');
    this.lastExchange = { sent, received: received || reason };
    return received;
  }

  #message(method: string, path: string, fields: HeaderFields, body = ''): RawRequest {
    const { host, pathname, search } = new URL(this.target.baseUrl + path);
    const headers = this.#headers({ Host: host, ...fields });
    const line = `${method} ${pathname}${search}`;
    const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const bytes = `${line} HTTP/1.1\r\n${lines}\r\n${body}`;
    return { bytes, text: messageText(line, headers, body, this.target.headers) };
  }

  /** An empty Authorization omits the key. */
  #headers(fields: HeaderFields): Headers {
    const { key, headers: added } = this.target;
    const headers = new Headers({ Authorization: `Bearer ${key}`, ...added, ...fields });
    if (headers.get('Authorization') === '') headers.delete('Authorization');
    return headers;
  }

  async #fetch(
    method: string,
    path: string,
    headers: Headers,
    body: Uint8Array | Chunks | undefined,
  ): Promise<ServiceResponse> {
    const url = new URL(`${this.target.baseUrl}${path}`);
    const line = `${method} ${url.pathname}${url.search}`;
    const isWhole = body === undefined || body instanceof Uint8Array;
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : '';
    const shownHeaders = new Headers(headers);
    if (!isWhole) shownHeaders.set('Transfer-Encoding', 'chunked');
    const sent = messageText(line, shownHeaders, text, this.target.headers);
    const timeoutMs = this.target.timeoutMs ?? TIMEOUT_MS;
    let begun = '';
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const init = { method, headers, signal, redirect: 'manual', duplex: 'half' } as const;
      const response = await fetch(url, body === undefined ? init : { ...init, body });
      const { status } = response;
      begun = `${messageText(`status ${status}`, response.headers, '')}\nthen `;
      const text = await textOf(response);
      const received = messageText(`status ${status}`, response.headers, text);
      this.lastExchange = { sent, received };
      return { path, status, headers: response.headers, text };
    } catch (error) {
      const reason = reasonOf(error, timeoutMs, url);
      this.lastExchange = { sent, received: `${begun}${reason}` };
      throw new NoResponse(reason);
    }
  }
}

/** A response with a status 1xx, before the final one (RFC 9110, section 15.2). */
const INTERIM: RegExp = /HTTP\/1\.[01] 1[0-9]{2}[^]*?\r\n\r\n/gy;
const RESPONSE: RegExp = /^HTTP\/1\.[01] ([2-9][0-9]{2})([^]*?)\r\n\r\n([^]*)$/;
const RAW_FIELDS: RegExp = /\n(retry-after|content-length|transfer-encoding):[ \t]*([!-~]*)/gi;

/** Returns the first final response of a connection, or undefined without a whole header. */
function firstResponse(received: string): HeadResponse | undefined {
  const [, status, fields = '', text] = RESPONSE.exec(received.replace(INTERIM, '')) ?? [];
  if (text === undefined) return undefined;
  const headers = Array.from(fields.matchAll(RAW_FIELDS), ([, name, value]) => [name!, value!]);
  return { status: Number(status), headers: new Headers(headers as [string, string][]), text };
}

/** Returns what follows the body (RFC 9112, section 6.3): nothing if the close is its end. */
function afterBody({ status, headers, text }: HeadResponse): string {
  if (status === 204) return text;
  if (!headers.has('Transfer-Encoding')) {
    return text.slice(Number(headers.get('Content-Length') ?? Infinity));
  }
  for (let rest = text; ;) {
    const [line = '', size = ''] = /^([0-9a-f]+)\b.*\r\n/i.exec(rest) ?? [];
    const length = Number.parseInt(size, 16);
    rest = rest.slice(line.length);
    // After the last chunk there may be trailer fields.
    if (!(length > 0)) return rest.replace(/^(?:.+\r\n)*\r\n/, '');
    rest = rest.slice(length + 2);
  }
}

/** Returns an HTTP message as a text, without the values of the hidden fields. */
function messageText(
  firstLine: string,
  headers: Headers,
  body: string,
  hidden: HeaderFields = {},
): string {
  const names = new Headers(hidden);
  const fields = [...headers].map(([name, value]) => `${name}: ${names.has(name) ? '***' : value}`);
  return [firstLine, ...fields, '', body].join('\n');
}

/** Returns the seconds of a Retry-After. A date counts as one second. */
export function readRetryAfter(field: string | null): number {
  return /^[0-9.]+$/.test(field ?? '') ? Number(field) : 1;
}

/** Resolves with the text of the body. Rejects if the body is too long. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, length] = ['', 0];
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    // Leaving the loop cancels the body.
    if (length > LONGEST_BODY_BYTES) throw new Error('a body of more than 128 MiB');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Returns the members of the object in a response. */
export function fieldsOf({ text }: ServiceResponse): Fields {
  const value = valueOf(text);
  assert.ok(isObject(value), 'expected a body that is a JSON object');
  return value as Fields;
}

/** Returns the pets in a response. */
export function petsOf({ text }: ServiceResponse): readonly Fields[] {
  const value = valueOf(text);
  const isList = Array.isArray(value) && value.every((pet) => pet instanceof Object);
  assert.ok(isList, 'expected a body that is a JSON array of objects');
  return value as readonly Fields[];
}

export function idsOf(pets: readonly Fields[]): readonly unknown[] {
  return pets.map(({ id }) => id);
}

function valueOf(text: string): unknown {
  return jsonOrUndefined(text) ?? assert.fail('expected a body that is JSON');
}

function jsonOrUndefined(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

export function isAdded({ status }: ServiceResponse): boolean {
  return status >= 200 && status <= 299;
}

/** Returns why there is no response. fetch hides that in the cause of its error. */
function reasonOf(error: unknown, timeoutMs: number, { port }: URL): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `no complete response within ${timeoutMs / 1000} s`;
  // If fetch tried several addresses of a host, there is an error for each, and no message.
  const [first] = cause instanceof AggregateError ? (cause.errors as readonly Error[]) : [];
  const reason = first?.message ?? (cause instanceof Error ? cause.message : message);
  const isBlocked = reason === 'bad port';
  return `no response: ${isBlocked ? `fetch, like browsers, refuses the port ${port}` : reason}`;
}
