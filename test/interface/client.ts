/**
 * The client that the interface's tests speak through: a base address, a key and fetch.
 *
 * A test knows no more of the service than that. It looks at the text of an answer, since an int64
 * must never pass through a number, and what it asserts holds where there are pets already.
 */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { parseAnswers } from '../support/raw-http.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface AddedPet {
  /** Its exact id, in plain digits. */
  readonly id: bigint;
  readonly answer: Answer;
}

export type Body = string | Uint8Array;

export type HeaderFields = Readonly<Record<string, string>>;

export interface Client {
  /** Ends with /v1, as each base address does (the interface's part 1). */
  readonly baseUrl: string;
  readonly key: string;
  /** Sends a request to a path below the base address; an empty Authorization omits the key. */
  send(method: string, path: string, headers?: HeaderFields, body?: Body): Promise<Answer>;
  /** The same for a path at the origin: '/livez'. */
  sendToOrigin(method: string, path: string, headers?: HeaderFields): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** POSTs to /pets: a text or bytes as they are, any other value as JSON. */
  post(body: unknown, headers?: HeaderFields): Promise<Answer>;
  /** The same, where anything but a 201 is a failure of the test. */
  add(body: unknown): Promise<AddedPet>;
  /** The pets from this one on, at most 100: those that a test has added itself. */
  listFrom(id: bigint, query?: string): Promise<Answer>;
  /** Bytes of a request that ask for the connection to be closed, with Host and key. */
  message(requestLine: string, fields?: readonly string[], body?: string): string;
  /** Writes bytes to a connection of its own, and reads answers until the service closes it. */
  exchange(bytes: string | Buffer): Promise<readonly Answer[]>;
}

/** Only for a service that leaves a connection open by mistake: no right answer waits for it. */
const GIVE_UP_MS = 10_000;

export function createClient(baseUrl: string, key: string): Client {
  const { origin, host, hostname, port } = new URL(baseUrl);
  const send = async (
    method: string,
    url: string,
    fields: HeaderFields = {},
    body?: Body,
  ): Promise<Answer> => {
    const headers = new Headers({ Authorization: `Bearer ${key}`, ...fields });
    if (headers.get('Authorization') === '') headers.delete('Authorization');
    // Bytes, since for a string fetch adds a Content-Type of its own.
    const init = body === undefined ? {} : { body: Buffer.from(body) };
    const response = await fetch(url, { method, headers, ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const client: Client = {
    baseUrl,
    key,
    send: (method, path, headers, body) => send(method, `${baseUrl}${path}`, headers, body),
    sendToOrigin: (method, path, headers) => send(method, `${origin}${path}`, headers),
    get: (path) => client.send('GET', path),
    post(body, headers) {
      const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
      const fields = { 'Content-Type': 'application/json', ...headers };
      return client.send('POST', '/pets', fields, isRaw ? body : JSON.stringify(body));
    },
    async add(body) {
      const answer = await client.post(body);
      assert.equal(answer.status, 201, answer.text);
      return { id: integerOf(answer.text, 'id'), answer };
    },
    listFrom: (id, query = '') => client.get(`/pets?limit=100&after=${id - 1n}${query}`),
    message(requestLine, fields = [], body = '') {
      const own = [`Host: ${host}`, `Authorization: Bearer ${key}`, 'Connection: close'];
      return [`${requestLine} HTTP/1.1`, ...own, ...fields, '', body].join('\r\n');
    },
    async exchange(bytes) {
      assert.equal(hostname, '127.0.0.1', 'Bytes are exchanged with this machine only');
      const isHead = bytes.toString().startsWith('HEAD ');
      const answers = parseAnswers(await readUntilClosed(Number(port), bytes), isHead);
      return answers.map(({ status, headers, body }) => {
        const text = Buffer.from(body, 'latin1').toString();
        return { status, headers: new Headers([...headers]), text };
      });
    },
  };
  return client;
}

/** The exact integer of a Pet's field, which must stand in its JSON text in plain digits. */
export function integerOf(petText: string, field: 'id' | 'categoryId'): bigint {
  // A string cannot hold `"id":`, since a quote within it has a backslash before it.
  const match = new RegExp(`"${field}":(0|-?[1-9][0-9]*)[,}]`).exec(petText);
  assert.ok(match !== null, `No plain integer ${field} in ${petText.slice(0, 200)}`);
  return BigInt(match[1]!);
}

/** The ids in the text of a Pets array, in its order. */
export function idsOf(petsText: string): readonly bigint[] {
  return [...petsText.matchAll(/"id":([0-9]+)[,}]/g)].map((match) => BigInt(match[1]!));
}

/** A Pet's or another object's fields; integers above 2^53 are not exact in it. */
export function fieldsOf(answer: Answer): Record<string, unknown> {
  return JSON.parse(answer.text) as Record<string, unknown>;
}

/** What the service sends on one connection until it closes it; fails when it leaves it open. */
function readUntilClosed(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const text = (): string => Buffer.concat(chunks).toString('latin1');
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setTimeout(GIVE_UP_MS, () => {
      socket.destroy();
      reject(new Error(`The service left the connection open after ${JSON.stringify(text())}`));
    });
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A reset after an answer is how a server stops a client that goes on sending.
    socket.on('error', (error) => (chunks.length > 0 ? resolve(text()) : reject(error)));
    socket.on('close', () => resolve(text()));
  });
}
