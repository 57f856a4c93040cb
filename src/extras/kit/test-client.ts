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

/** A response to HEAD: of the header fields only Retry-After, and what came after the header. */
export type HeadResponse = Pick<ServiceResponse, 'status' | 'headers' | 'text'>;

export interface AddedPet {
  readonly id: bigint;
  readonly pet: Fields;
  readonly response: ServiceResponse;
}

/** A request and its response as texts. A report shows them without the key (shown.ts). */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
}

/** A request got no response. */
export class NoResponse extends Error {
  override readonly name: string = 'NoResponse';
}

/** A service that starts cold, or shares a busy machine, takes seconds: that is no failure. */
const TIMEOUT_MS = 60_000;
/** A hundred pets of more than a megabyte. An endless body would use up the memory of the kit. */
const LONGEST_BODY_BYTES: number = 128 << 20;
/** After the header of a response to HEAD: a body would come with it. */
const IDLE_MS = 1000;
const ADDED_AT_ONCE = 10;
/** How often a 429 is retried: SPEC.md leaves rate limits open (S8.3). */
const MOST_RETRIES = 5;
const MAX_RETRY_AFTER_S = 10;

/**
 * Each check or case has its own client. Its `lastExchange` is the evidence of a failure. A check
 * that compares an earlier response sets it to the exchange of that response.
 */
export class TestClient {
  readonly target: Target;
  lastExchange: Exchange = { sent: '', received: '' };

  constructor(target: Target) {
    this.target = target;
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
    const authorization = { Authorization: `Bearer ${this.target.key}` };
    const headers = new Headers({ ...authorization, ...this.target.headers, ...fields });
    if (headers.get('Authorization') === '') headers.delete('Authorization');
    // Bytes, because fetch adds its own Content-Type to a string.
    const content = typeof body === 'string' ? Buffer.from(body) : body;
    return this.#retried(() => this.#fetch(method, path, headers, content));
  }

  get(path: string): Promise<ServiceResponse> {
    return this.send('GET', path);
  }

  /** Sends POST /pets: a string or bytes as they are, any other value as JSON. */
  post(body: unknown, headers?: HeaderFields): Promise<ServiceResponse> {
    const fields = { 'Content-Type': 'application/json', ...headers };
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    return this.send('POST', '/pets', fields, isRaw ? body : stringifyExactJson(body));
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

  /**
   * Adds pets until a list of 100 has this many. With 101 it always adds at least one, since a list
   * has at most 100.
   */
  async havePets(count: number, status?: string): Promise<void> {
    const query = status === undefined ? '' : `&status=${status}`;
    let missing = count - petsOf(await this.get(`/pets?limit=100${query}`)).length;
    while (missing > 0) {
      const length = Math.min(missing, ADDED_AT_ONCE);
      await Promise.all(Array.from({ length }, () => this.add(this.newPet({ status }))));
      missing -= length;
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
  async #retried<T extends HeadResponse>(send: () => Promise<T>): Promise<T> {
    for (let retries = 0; ; retries += 1) {
      const response = await send();
      if (response.status !== 429 || retries === MOST_RETRIES) return response;
      const seconds = readRetryAfter(response.headers.get('Retry-After'));
      await sleep(1000 * Math.min(seconds, MAX_RETRY_AFTER_S));
    }
  }

  async #head(path: string): Promise<HeadResponse> {
    const { key, baseUrl, headers: added, timeoutMs = TIMEOUT_MS } = this.target;
    const { protocol, host, hostname, port, pathname, search } = new URL(baseUrl + path);
    const authorization = { Authorization: `Bearer ${key}` };
    const headers = new Headers({ ...authorization, ...added, Host: host, Connection: 'close' });
    const line = `HEAD ${pathname}${search}`;
    const address = hostname.replace(/[[\]]/g, '');
    const servername = isIP(address) === 0 ? address : '';
    const isTls = protocol === 'https:';
    const options = { host: address, port: Number(port || (isTls ? 443 : 80)), servername };
    const socket = isTls ? connectTls(options) : connectTcp(options);
    socket.setTimeout(timeoutMs, () => socket.destroy());
    const fields = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`${line} HTTP/1.1\r\n${fields}\r\n`);
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      // A service that leaves the connection open does not delay the kit.
      if (received.includes('\r\n\r\n')) socket.setTimeout(IDLE_MS);
    });
    const closed = 'the connection was closed';
    const reason = await once(socket, 'close').then(() => closed, messageOf);
    const sent = messageText(line, headers, '', added);
    this.lastExchange = { sent, received: received || reason };
    const [, status, text] = /^HTTP\/1\.[01] ([0-9]{3})[^]*?\r\n\r\n([^]*)$/.exec(received) ?? [];
    if (text === undefined) throw new NoResponse(`no response: ${reason}`);
    const [, retryAfter = ''] = /\nretry-after: *([0-9.]+)/i.exec(received) ?? [];
    return { status: Number(status), headers: new Headers({ 'Retry-After': retryAfter }), text };
  }

  async #fetch(
    method: string,
    path: string,
    headers: Headers,
    body: Uint8Array | Chunks | undefined,
  ): Promise<ServiceResponse> {
    const url = new URL(`${this.target.baseUrl}${path}`);
    const line = `${method} ${url.pathname}${url.search}`;
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : '';
    const sent = messageText(line, headers, text, this.target.headers);
    const timeoutMs = this.target.timeoutMs ?? TIMEOUT_MS;
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const init = { method, headers, signal, redirect: 'manual', duplex: 'half' } as const;
      const response = await fetch(url, body === undefined ? init : { ...init, body });
      const { status } = response;
      const text = await textOf(response);
      const received = messageText(`status ${status}`, response.headers, text);
      this.lastExchange = { sent, received };
      return { path, status, headers: response.headers, text };
    } catch (error) {
      const reason = reasonOf(error, timeoutMs, url);
      this.lastExchange = { sent, received: reason };
      throw new NoResponse(reason);
    }
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
  try {
    return parseExactJson(text);
  } catch {
    return assert.fail('expected a body that is JSON');
  }
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
