/**
 * The client that the checks speak through: a base address, a key, fetch, and raw connections.
 *
 * A check knows no more of a service than that. It looks at the text of an answer, since an int64
 * must never pass through a number, and what it asserts holds where there are pets already. All
 * that goes back and forth is recorded, without the key, so that a report can show it.
 */

import assert from 'node:assert/strict';
import { readAnswers, type Answer } from './answers.ts';
import { readJson } from './exact-json.ts';
import { shownAnswer, shownRequest, shownText } from './shown.ts';
import { talk, type Bytes } from './wire.ts';

export type { Answer } from './answers.ts';

/** A service under check. */
export interface Target {
  /** Ends with /v1, as each base address does (the interface's part 1). */
  readonly baseUrl: string;
  readonly key: string;
  /** A category that the service knows, should it know any: 1 by default. */
  readonly categoryId?: number;
  /** For each request: 10,000 by default. No right answer comes near it. */
  readonly timeoutMs?: number;
}

export interface AddedPet {
  readonly id: bigint;
  readonly pet: Fields;
  readonly answer: Answer;
}

/** Of a JSON object; integers are bigints. */
export type Fields = Readonly<Record<string, unknown>>;

export type Body = string | Uint8Array;

export type HeaderFields = Readonly<Record<string, string>>;

/** What was sent and what came back, as a report shows it: cut short, and never with the key. */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
}

export interface Client {
  readonly baseUrl: string;
  readonly key: string;
  /** Those that are over, in the order of their ends. */
  readonly exchanges: readonly Exchange[];
  /** Sends a request to a path below the base address; an empty Authorization omits the key. */
  send(method: string, path: string, headers?: HeaderFields, body?: Body): Promise<Answer>;
  /** The same for a path beside /v1: '/livez'. */
  sendBeside(method: string, path: string, headers?: HeaderFields): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** POSTs to /pets: a text or bytes as they are, any other value as JSON. */
  post(body: unknown, headers?: HeaderFields): Promise<Answer>;
  /** The same, where a failure to add the pet is one of the check. */
  add(body: unknown): Promise<AddedPet>;
  /** A NewPet with these fields, and a name and a category where they have none. */
  newPet(fields?: Fields): Fields;
  /** Adds pets until a list of 100 has so many; 101 are some that no list holds. */
  havePets(count: number, status?: string): Promise<void>;
  /** The pets from this one on, at most 100: those that a check has added itself. */
  listFrom(id: bigint, query?: string): Promise<Answer>;
  /**
   * Bytes of a request that ask for the connection to be closed, with Host and key. A target that
   * begins with /v1 is one below the base address, wherever that is.
   */
  message(requestLine: string, fields?: readonly string[], body?: string): string;
  /**
   * Writes bytes to a connection of its own, and reads answers until the service closes it. A
   * second part goes out when something has come back after the first.
   */
  exchange(...parts: readonly Bytes[]): Promise<readonly Answer[]>;
  /** Closes the connection after the bytes, and waits until the service has done so, too. */
  leaveAfter(bytes: string): Promise<void>;
  /** A client of the same service with a record of its own. */
  fork(): Client;
}

/** What most checks add: a pet that its finder can tell the origin of. */
export const REX = '{"name":"Conformance Rex","categoryId":1}';

const TIMEOUT_MS = 10_000;
const ADDED_AT_ONCE = 10;

export function createClient(target: Target): Client {
  const { baseUrl, key, categoryId = 1, timeoutMs = TIMEOUT_MS } = target;
  const url = new URL(baseUrl);
  const exchanges: Exchange[] = [];

  /** Records what comes of a request, or that nothing does. */
  async function recorded<T>(
    sent: string,
    request: () => Promise<T>,
    received: (outcome: T) => string,
  ): Promise<T> {
    try {
      const outcome = await request();
      exchanges.push({ sent, received: shownText(received(outcome), key) });
      return outcome;
    } catch (cause) {
      const reason = reasonOf(cause, timeoutMs);
      exchanges.push({ sent, received: shownText(`no answer: ${reason}`, key) });
      throw new Error(`an answer, but there was none: ${reason}`, { cause });
    }
  }

  async function send(
    method: string,
    address: string,
    fields: HeaderFields = {},
    body?: Body,
  ): Promise<Answer> {
    const headers = new Headers({ Authorization: `Bearer ${key}`, ...fields });
    if (headers.get('Authorization') === '') headers.delete('Authorization');
    const { pathname, search } = new URL(address);
    const request = async (): Promise<Answer> => {
      const signal = AbortSignal.timeout(timeoutMs);
      // Bytes, since for a string fetch adds a Content-Type of its own.
      const content = body === undefined ? {} : { body: Buffer.from(body) };
      const init: RequestInit = { method, headers, signal, redirect: 'manual', ...content };
      const response = await fetch(address, init);
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const sent = shownRequest(`${method} ${pathname}${search}`, headers, body);
    return recorded(shownText(sent, key), request, shownAnswer);
  }

  const client: Client = {
    baseUrl,
    key,
    exchanges,
    send: (method, path, headers, body) => send(method, `${baseUrl}${path}`, headers, body),
    sendBeside(method, path, headers) {
      return send(method, `${baseUrl.replace(/\/v1$/, '')}${path}`, headers);
    },
    get: (path) => client.send('GET', path),
    post(body, headers) {
      const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
      const fields = { 'Content-Type': 'application/json', ...headers };
      return client.send('POST', '/pets', fields, isRaw ? body : JSON.stringify(body));
    },
    async add(body) {
      const answer = await client.post(body);
      // Whether it is a 201 is for a check of its own to say.
      const isAdded = answer.status >= 200 && answer.status <= 299;
      assert.ok(isAdded, `an added pet, not the status ${answer.status}`);
      const pet = fieldsOf(answer);
      const id = pet['id'];
      assert.ok(typeof id === 'bigint', `an id that is an integer, not ${String(id)}`);
      return { id, pet, answer };
    },
    newPet: (fields = {}) => ({ name: 'Conformance Kit', categoryId, ...fields }),
    async havePets(count, status) {
      const query = status === undefined ? '' : `&status=${status}`;
      const { text } = await client.get(`/pets?limit=100${query}`);
      let missing = count - countOf(text);
      while (missing > 0) {
        const length = Math.min(missing, ADDED_AT_ONCE);
        const fields = status === undefined ? {} : { status };
        await Promise.all(Array.from({ length }, () => client.add(client.newPet(fields))));
        missing -= length;
      }
    },
    listFrom: (id, query = '') => client.get(`/pets?limit=100&after=${id - 1n}${query}`),
    message(requestLine, fields = [], body = '') {
      const line = requestLine.replace(
        /^(\S+ (?:http:\/\/\w+)?)\/v1(?=[/?]|$)/,
        (_all, before: string) => before + url.pathname,
      );
      const own = [`Host: ${url.host}`, `Authorization: Bearer ${key}`, 'Connection: close'];
      return [`${line} HTTP/1.1`, ...own, ...fields, '', body].join('\r\n');
    },
    async exchange(...parts) {
      const sent = parts.map(String).join('');
      const isHead = sent.startsWith('HEAD ');
      return recorded(
        shownText(sent, key),
        async () => readAnswers(await talk(url, parts, { timeoutMs, isLast: false }), isHead),
        (answers) => answers.map(shownAnswer).join('\n\n') || 'the end of the connection',
      );
    },
    async leaveAfter(bytes) {
      const leave = (): Promise<Buffer> => talk(url, [bytes], { timeoutMs, isLast: true });
      await recorded(shownText(bytes, key), leave, () => 'the end of the connection');
    },
    fork: () => createClient(target),
  };
  return client;
}

/** The fields of the object in an answer. */
export function fieldsOf({ text }: Answer): Fields {
  const value = valueOf(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  assert.ok(isObject, 'a body that is a JSON object');
  return value as Fields;
}

/** The pets in an answer. */
export function petsOf({ text }: Answer): readonly Fields[] {
  const value = valueOf(text);
  assert.ok(Array.isArray(value), 'a body that is a JSON array');
  return value as readonly Fields[];
}

/** The ids of the pets in an answer, in its order. */
export function idsOf(answer: Answer): readonly unknown[] {
  return petsOf(answer).map(({ id }) => id);
}

function valueOf(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return assert.fail('a body that is JSON');
  }
}

/** How many pets a list shows; none where it is no list at all. */
function countOf(text: string): number {
  try {
    const value = readJson(text);
    return Array.isArray(value) ? value.length : 0;
  } catch {
    return 0;
  }
}

/** Why there is no answer: fetch hides that in its error's cause. */
export function reasonOf(error: unknown, timeoutMs: number = TIMEOUT_MS): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `none within ${timeoutMs / 1000} s`;
  if (!(cause instanceof Error)) return message;
  // Where all addresses of a host were tried there is an error for each, and no message.
  const [first] = cause instanceof AggregateError ? (cause.errors as readonly Error[]) : [];
  return first?.message ?? cause.message;
}
