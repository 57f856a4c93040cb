/**
 * A plain pet store service: the three operations of the specification on a Map.
 *
 * It consists of small rules, one for each sentence of the specification. A wrong service is this
 * one with one rule replaced (faults.ts), so that what the kit finds is that rule. A valid service
 * may replace all rules that decide a gap (other-decisions.ts).
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { parseExactJson, stringifyExactJson } from '../../src/core/base/exact-json.ts';
import type { Check } from '../../src/extras/kit/check.ts';
import { Run, type Outcome } from '../../src/extras/kit/run.ts';
import type { Target } from '../../src/extras/kit/test-client.ts';
import { HOUR_MS, listen, listenFor } from '../support/http/listen.ts';

export interface Pet {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status?: string | undefined;
}

export type NewPet = Omit<Pet, 'id'>;

export interface Reply {
  readonly status: number;
  /** Sent as JSON, with bigints as numbers; a string is sent as it is. */
  readonly body: unknown;
  /** Header fields; the Content-Type is application/json by default. */
  readonly fields?: Readonly<Record<string, string>>;
}

export interface ListQuery {
  readonly limit: number;
  /** True if the request has no limit. */
  readonly isDefault: boolean;
  readonly status: string | undefined;
  /** For services with numbered pages. The first is 0. */
  readonly page: number;
}

type Pets = Map<bigint, Pet>;
type Members = Readonly<Record<string, unknown>>;

export class Invalid extends Error {}

export const STATUSES: readonly unknown[] = ['available', 'pending', 'sold'];

const REMOVAL_MS = Date.parse('2030-12-05T00:00:00Z');

export const KEY = 'key-of-the-plain-service';

/** The only value of Authorization that a valid service accepts. */
export const RIGHT: string = `Bearer ${KEY}`;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Each rule implements a sentence of the specification, or decides one of its gaps. */
export const plainRules = {
  now: (): number => Date.now(),
  /** The pets before the first request. */
  firstPets: (): Pets => new Map(),
  hasKey: (authorization: string | undefined, _request: IncomingMessage) => authorization === RIGHT,
  /** The `read…` rules and `decode` throw Invalid for an invalid value. */
  readLimit(text: string | null): number {
    const limit = Number(text ?? '20');
    if (Number.isInteger(limit) && limit >= 1 && limit <= 100 && text !== '') return limit;
    throw new Invalid('limit is from 1 to 100');
  },
  readStatus(text: string | null): string | undefined {
    if (text === null || plainRules.isStatus(text)) return text ?? undefined;
    throw new Invalid('status is available, pending or sold');
  },
  decode: (bytes: Buffer, _request: IncomingMessage): string => utf8.decode(bytes),
  readBody: (text: string): unknown => parseExactJson(text),
  readNewPet: ({ name, categoryId, status }: Members) => ({ name, categoryId, status }) as NewPet,
  isName: (value: unknown): boolean => typeof value === 'string',
  isCategory: (id: unknown): boolean => typeof id === 'bigint' && BigInt.asIntN(64, id) === id,
  isStatus: (value: unknown): boolean => STATUSES.includes(value),
  newId: (pets: Pets, _sent: unknown) => BigInt(pets.size + 1),
  /** Called between the choice of an id and its use. */
  pause: async (): Promise<void> => undefined,
  keep: (pets: Pets, pet: Pet): void => void pets.set(pet.id, pet),
  list(pets: readonly Pet[], { limit, status }: ListQuery): readonly Pet[] {
    return pets.filter((pet) => status === undefined || pet.status === status).slice(0, limit);
  },
  find(pets: Pets, petId: string): Pet | undefined {
    return /^[0-9]{1,19}$/.test(petId) ? pets.get(BigInt(petId)) : undefined;
  },
  isRemoved: (now: number): boolean => now >= REMOVAL_MS,
  show: (pet: Pet): unknown => pet,
  created: (pet: unknown): Reply => ({ status: 201, body: pet }),
  listed: (pets: readonly unknown[]): Reply => ({ status: 200, body: pets }),
  error(status: number, message: string): Reply {
    return { status, body: { code: `e${status}`, message, status } };
  },
  /** The response to the same pet with an idempotency key that has added it. */
  replayed: (first: Reply, _pets: Pets): Reply => first,
  /** The response to another pet with an idempotency key that has added a pet. */
  reused: (_first: Reply) => plainRules.error(422, 'The key was used for another pet'),
  options: (allow: string): Reply => ({ status: 204, body: '', fields: { Allow: allow } }),
  /** Called last, with every reply. */
  reply: (reply: Reply, _request: IncomingMessage): Reply => reply,
  /** Sends the body, after the header was set. */
  end: (response: ServerResponse, text: string): void => void response.end(text),
  /** Returns a server before the service on the port. By default there is none. */
  front: (_port: number): NetServer | undefined => undefined,
};

export type Rules = typeof plainRules;

type Scope = Parameters<typeof listenFor>[0];

/** Starts a plain service with these rules, which is closed with the test. */
export async function openPlain(t: Scope, rules: Partial<Rules> = {}): Promise<Target> {
  let port = await listenFor(t, createPlainServer(rules));
  const front = rules.front?.(port);
  if (front !== undefined) {
    t.after(() => void front.close());
    port = await listen(front);
  }
  return { baseUrl: `http://127.0.0.1:${port}/v1`, key: KEY, timeoutMs: HOUR_MS };
}

/** Runs the checks against a plain service with these rules. Resolves with the outcomes. */
export async function outcomesOf(t: Scope, rules: Partial<Rules>, checks: readonly Check[]) {
  const run = new Run(await openPlain(t, rules));
  const outcomes: Outcome[] = [];
  for (const check of checks) outcomes.push(await run.outcomeOf(check));
  return outcomes;
}

/** Creates a server whose API is below any path that ends in /v1. */
function createPlainServer(changes: Partial<Rules>): Server {
  const rules = { ...plainRules, ...changes };
  const pets = rules.firstPets();
  /** The body and the reply of each create with an idempotency key. */
  const keys = new Map<unknown, { text: string; reply: Reply }>();

  async function respond(request: IncomingMessage, bytes: Buffer): Promise<Reply> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
    const [, path, petId] = /\/v1(\/pets)(?:\/([^/]+))?$/.exec(pathname) ?? [];
    if (!rules.hasKey(request.headers.authorization, request)) {
      return rules.error(401, 'The key is missing or wrong');
    }
    if (path === undefined) return rules.error(404, 'There is nothing here');
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const allow = petId === undefined ? 'GET, HEAD, OPTIONS, POST' : 'GET, HEAD, OPTIONS';
    if (method === 'OPTIONS') return rules.options(allow);
    if (method === 'GET')
      return petId === undefined ? list(searchParams) : get(decodeURIComponent(petId));
    if (method === 'POST' && petId === undefined) return createOnce(request, bytes);
    return { ...rules.error(405, `Only ${allow}`), fields: { Allow: allow } };
  }

  function list(query: URLSearchParams): Reply {
    const limit = rules.readLimit(query.get('limit'));
    const status = rules.readStatus(query.get('status'));
    const page = Number(query.get('page') ?? '0');
    const asked = { limit, isDefault: !query.has('limit'), status, page };
    return rules.listed(rules.list([...pets.values()], asked).map(rules.show));
  }

  async function createOnce(request: IncomingMessage, bytes: Buffer): Promise<Reply> {
    const text = rules.decode(bytes, request);
    const key = request.headers['idempotency-key'];
    const first = keys.get(key);
    if (first !== undefined && first.text !== text) return rules.reused(first.reply);
    if (first !== undefined) return rules.replayed(first.reply, pets);
    const reply = await create(text);
    if (key !== undefined) keys.set(key, { text, reply });
    return reply;
  }

  async function create(text: string): Promise<Reply> {
    const members = rules.readBody(text) as Members | null;
    if (typeof members !== 'object' || members === null) throw new Invalid('The body is no object');
    const newPet = rules.readNewPet(members);
    if (!rules.isName(newPet.name)) throw new Invalid('name is a string');
    if (!rules.isCategory(newPet.categoryId)) throw new Invalid('categoryId is an int64');
    const isStatus = newPet.status === undefined || rules.isStatus(newPet.status);
    if (!isStatus) throw new Invalid('status is available, pending or sold');
    const id = rules.newId(pets, members['id']);
    await rules.pause();
    const pet = { id, ...newPet };
    rules.keep(pets, pet);
    return rules.created(rules.show(pet));
  }

  function get(petId: string): Reply {
    if (rules.isRemoved(rules.now())) return rules.error(410, 'The operation was removed');
    const pet = rules.find(pets, petId);
    if (pet === undefined) return rules.error(404, 'No such pet');
    return { status: 200, body: rules.show(pet) };
  }

  return createServer(async (request, response) => {
    const bytes = Buffer.concat(await request.toArray());
    const refuse = (error: Error): Reply =>
      rules.error(error instanceof RangeError ? 500 : 400, error.message);
    const right = await respond(request, bytes).catch(refuse);
    const { status, body, fields } = rules.reply(right, request);
    const date = new Date(rules.now()).toUTCString();
    const headers = { 'Content-Type': 'application/json', Date: date, ...fields };
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.statusCode = status;
    rules.end(response, typeof body === 'string' ? body : stringifyExactJson(body));
  });
}
