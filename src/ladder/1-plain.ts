/**
 * Rung 1: the whole interface on bare node:http, with the pets in an array.
 *
 *     API_KEY=secret PORT=8080 node src/ladder/1-plain.ts
 *
 * A request goes from top to bottom: API key, path, method, handler, response. Each failure is an
 * Error body that says what is wrong.
 *
 * What it does not do: keep a pet when the process ends, which is what the next rungs are about. It
 * does not bound connections, header fields, bodies or the time of a request. It does not wait for
 * responses when it ends. It stores two pets if a client sends one twice.
 */

import { randomUUID, timingSafeEqual } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { unescape } from 'node:querystring';
import { pathToFileURL } from 'node:url';

export type PetStatus = 'available' | 'pending' | 'sold';

export interface NewPet {
  readonly name: string;
  /** An int64: a number would round it above 2^53. */
  readonly categoryId: bigint;
  readonly status?: PetStatus | undefined;
}

/** A pet that a store has, with its JSON text. */
export interface StoredPet {
  readonly id: bigint;
  readonly text: string;
  readonly status?: PetStatus | undefined;
}

export interface PageQuery {
  readonly limit: number;
  readonly status?: PetStatus | undefined;
  /** Only pets with a greater id. */
  readonly after?: bigint | undefined;
}

/** The pets that match as a JSON array. `next` is the last one's id if more pets match. */
export interface StoredPage {
  readonly text: string;
  readonly next: bigint | undefined;
}

/** What the listener needs of a store. */
export interface Store {
  list(query: PageQuery): StoredPage;
  get(id: bigint): StoredPet | undefined;
  /** Resolves when the pet is stored. */
  create(newPet: NewPet): Promise<StoredPet>;
}

/** The pets in an array, in ascending order of id. */
export class ArrayStore implements Store {
  readonly pets: StoredPet[] = [];

  list({ limit, status, after = 0n }: PageQuery): StoredPage {
    const found = this.pets.filter(
      (pet) => pet.id > after && (status === undefined || pet.status === status),
    );
    const page = found.slice(0, limit);
    const text = `[${page.map((pet) => pet.text).join(',\n')}]`;
    return { text, next: found.length > limit ? page.at(-1)?.id : undefined };
  }

  get(id: bigint): StoredPet | undefined {
    return this.pets.find((pet) => pet.id === id);
  }

  async create(newPet: NewPet): Promise<StoredPet> {
    const pet = formatPet(BigInt(this.pets.length + 1), newPet);
    this.pets.push(pet);
    return pet;
  }
}

export function formatPet(id: bigint, { name, categoryId, status }: NewPet): StoredPet {
  const end = status === undefined ? '' : `,"status":"${status}"`;
  const text = `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId}${end}}`;
  return { id, text, status };
}

/** A failure as the client sees it. */
class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns a listener for node:http that serves the store to clients with the API key. */
export function createListener(store: Store, apiKey: string): RequestListener {
  return async (request, response) => {
    const { status, text, headers } = await respond(store, apiKey, request).catch(replyOf);
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(text);
  };
}

function replyOf(error: unknown): Reply {
  const { status, code, message, headers } =
    error instanceof HttpError ? error : new HttpError(500, 'internal_error', 'The service failed');
  return { status, text: JSON.stringify({ code, message, status }), headers };
}

async function respond(store: Store, apiKey: string, request: IncomingMessage): Promise<Reply> {
  assertApiKey(request.headers.authorization ?? '', apiKey);
  const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
  const match = /^\/v1\/pets(?:\/([^/]+))?$/.exec(path);
  if (match === null) throw new HttpError(404, 'unknown_path', `There is no ${path}`);
  const petId = match[1] && unescape(match[1]);
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  if (method === 'GET' && petId !== undefined) return getPet(store, petId);
  if (method === 'GET') return listPets(store, new URLSearchParams(query));
  if (method === 'POST' && petId === undefined) return createPet(store, request);
  const allow = petId === undefined ? 'GET, HEAD, POST' : 'GET, HEAD';
  throw new HttpError(405, 'method_not_allowed', `Use ${allow}`, { Allow: allow });
}

function assertApiKey(authorization: string, apiKey: string): void {
  const sent = Buffer.from(/^Bearer +(.+)$/i.exec(authorization)?.[1] ?? '');
  const right = Buffer.from(apiKey);
  if (sent.length === right.length && timingSafeEqual(sent, right)) return;
  const headers = { 'WWW-Authenticate': 'Bearer realm="petstore"' };
  throw new HttpError(401, 'unauthorized', 'A valid API key is required', headers);
}

function listPets(store: Store, query: URLSearchParams): Reply {
  const limit = query.get('limit') ?? '20';
  const status = query.get('status') ?? undefined;
  const after = query.get('after') ?? '0';
  const hasLimit = /^(?:[1-9][0-9]?|100)$/.test(limit);
  if (!hasLimit) throw new HttpError(400, 'invalid_parameter', 'limit must be from 1 to 100');
  if (!isStatus(status)) throw new HttpError(400, 'invalid_parameter', EXPECTED_STATUS);
  if (!isInt64(after)) throw new HttpError(400, 'invalid_parameter', 'after must be an id');
  const page = store.list({ limit: Number(limit), status, after: BigInt(after) });
  if (page.next === undefined) return { status: 200, text: page.text };
  const filter = status === undefined ? '' : `&status=${status}`;
  const link = `</v1/pets?limit=${limit}${filter}&after=${page.next}>; rel="next"`;
  return { status: 200, text: page.text, headers: { Link: link } };
}

function getPet(store: Store, petId: string): Reply {
  if (Date.now() >= REMOVED_AT) throw new HttpError(410, 'operation_removed', 'Use GET /v1/pets');
  const pet = isInt64(petId) ? store.get(BigInt(petId)) : undefined;
  if (pet !== undefined) return { status: 200, text: pet.text };
  throw new HttpError(404, 'not_found', `There is no pet with the id ${petId}`);
}

const REMOVED_AT = Date.parse('2030-12-05T00:00:00Z');

async function createPet(store: Store, request: IncomingMessage): Promise<Reply> {
  const pet = await store.create(readNewPet(Buffer.concat(await request.toArray())));
  return { status: 201, text: pet.text, headers: { Location: `/v1/pets/${pet.id}` } };
}

function readNewPet(body: Buffer): NewPet {
  let value: unknown;
  try {
    value = parseExactJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new HttpError(400, 'invalid_json', 'The body must be JSON in UTF-8');
  }
  const { name, categoryId, status } = Object(value) as Record<string, unknown>;
  if (typeof name === 'string' && typeof categoryId === 'bigint' && isStatus(status)) {
    return { name, categoryId, status };
  }
  throw new HttpError(400, 'invalid_body', EXPECTED_PET);
}

const EXPECTED_PET = 'A pet has a name (string), a categoryId (int64) and perhaps a status';

/** An absent status stays absent. */
function isStatus(value: unknown): value is PetStatus | undefined {
  return value === undefined || STATUSES.includes(value);
}

const STATUSES: readonly unknown[] = ['available', 'pending', 'sold'];
const EXPECTED_STATUS: string = `status must be one of ${STATUSES.join(', ')}`;

/**
 * Parses JSON with a bigint for each int64, since JSON.parse would round a long one. Each number
 * becomes a string with a prefix first, and `1` arrives as `"<prefix>1"`. The prefix is random, so
 * that no client can send a string that is taken for a number.
 */
export function parseExactJson(text: string): unknown {
  const prefix = randomUUID();
  const quoted = text.replace(STRINGS_AND_NUMBERS, (token) =>
    token.startsWith('"') ? token : `"${prefix}${token}"`,
  );
  return JSON.parse(quoted, (_name, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(prefix)) return value;
    const literal = value.slice(prefix.length);
    return isInt64(literal) ? BigInt(literal) : Number(literal);
  });
}

const STRINGS_AND_NUMBERS =
  /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;

function isInt64(text: string): boolean {
  return /^-?[0-9]{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

/** Serves the store if Node was started with the file of this URL, and does not only import it. */
export async function main(url: string, open: () => Store | Promise<Store>): Promise<void> {
  if (pathToFileURL(realpathSync(process.argv[1] ?? '.')).href !== url) return;
  const { API_KEY = 'secret', PORT = '8080' } = process.env;
  const server = createServer(createListener(await open(), API_KEY));
  server.listen(Number(PORT), '127.0.0.1', () => console.log('It listens on', server.address()));
}

await main(import.meta.url, () => new ArrayStore());
