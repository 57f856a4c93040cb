/**
 * A plain pet store service: the three operations of the specification on a Map.
 *
 * It consists of small rules, one for each sentence of the specification. A wrong service is this
 * one with one rule replaced (faults.ts), so that what the kit finds is that rule. A valid service
 * may replace all rules that decide a gap (other-decisions.ts).
 */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import { parseExactJson, stringifyExactJson } from '../../src/base/exact-json.ts';
import type { Check } from '../../src/kit/check.ts';
import { Run, type Outcome } from '../../src/kit/run.ts';
import type { Target } from '../../src/kit/test-client.ts';
import { listenFor } from '../support/http/service.ts';

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
  readonly type?: string;
  readonly link?: string;
  readonly retryAfter?: string;
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

/** Each rule implements a sentence of the specification, or decides one of its gaps. */
export interface Rules {
  now(): number;
  hasKey(authorization: string | undefined, request: IncomingMessage): boolean;
  /** The three `read…` rules throw Invalid for an invalid value. */
  readLimit(text: string | null): number;
  readStatus(text: string | null): string | undefined;
  readBody(text: string): unknown;
  readNewPet(members: Members): NewPet;
  isName(value: unknown): boolean;
  isCategory(value: unknown): boolean;
  isStatus(value: unknown): boolean;
  newId(pets: Pets, sent: unknown): bigint;
  /** Called between the choice of an id and its use. Does nothing by default. */
  pause(): Promise<void>;
  keep(pets: Pets, pet: Pet): void;
  list(pets: readonly Pet[], query: ListQuery): readonly Pet[];
  find(pets: Pets, petId: string): Pet | undefined;
  isRemoved(now: number): boolean;
  show(pet: Pet): unknown;
  created(pet: unknown): Reply;
  listed(pets: readonly unknown[]): Reply;
  error(status: number, message: string): Reply;
  /** Called last, with every reply. */
  reply(reply: Reply, request: IncomingMessage): Reply;
}

export class Invalid extends Error {}

export const STATUSES: readonly unknown[] = ['available', 'pending', 'sold'];

const REMOVAL_MS = Date.parse('2030-12-05T00:00:00Z');

export const KEY = 'key-of-the-plain-service';

/** The only value of Authorization that a valid service accepts. */
export const RIGHT: string = `Bearer ${KEY}`;

export const plainRules: Rules = {
  now: Date.now,
  hasKey: (authorization) => authorization === RIGHT,
  readLimit(text) {
    const limit = Number(text ?? '20');
    if (Number.isInteger(limit) && limit >= 1 && limit <= 100 && text !== '') return limit;
    throw new Invalid('limit is from 1 to 100');
  },
  readStatus(text) {
    if (text === null || plainRules.isStatus(text)) return text ?? undefined;
    throw new Invalid('status is available, pending or sold');
  },
  readBody: parseExactJson,
  readNewPet({ name, categoryId, status }) {
    return { name, categoryId, status } as NewPet;
  },
  isName: (value) => typeof value === 'string',
  isCategory: (value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  isStatus: (value) => STATUSES.includes(value),
  newId: (pets) => BigInt(pets.size + 1),
  pause: async () => undefined,
  keep: (pets, pet) => void pets.set(pet.id, pet),
  list(pets, { limit, status }) {
    return pets.filter((pet) => status === undefined || pet.status === status).slice(0, limit);
  },
  find: (pets, petId) => (/^[0-9]{1,19}$/.test(petId) ? pets.get(BigInt(petId)) : undefined),
  isRemoved: (now) => now >= REMOVAL_MS,
  show: (pet) => pet,
  created: (pet) => ({ status: 201, body: pet }),
  listed: (pets) => ({ status: 200, body: pets }),
  error: (status, message) => ({ status, body: { code: `e${status}`, message, status } }),
  reply: (reply) => reply,
};

type Scope = Parameters<typeof listenFor>[0];

/** Starts a plain service with these rules, which is closed with the test. */
export async function openPlain(t: Scope, rules: Partial<Rules> = {}): Promise<Target> {
  const port = await listenFor(t, createPlainServer(rules));
  return { baseUrl: `http://127.0.0.1:${port}/v1`, key: KEY };
}

/** Runs the checks against a plain service with these rules. Resolves with the outcomes. */
export async function outcomesOf(
  t: Scope,
  rules: Partial<Rules>,
  checks: readonly Check[],
): Promise<readonly Outcome[]> {
  const run = new Run(await openPlain(t, rules));
  for (const check of checks) await run.outcomeOf(check);
  return run.outcomes;
}

/** Creates a server whose API is below any path that ends in /v1. */
function createPlainServer(changes: Partial<Rules>): Server {
  const rules = { ...plainRules, ...changes };
  const pets: Pets = new Map();

  async function respond(request: IncomingMessage, text: string): Promise<Reply> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
    const [, path = '', petId] = /\/v1(\/pets)(?:\/([^/]+))?$/.exec(pathname) ?? [];
    if (!rules.hasKey(request.headers.authorization, request)) {
      return rules.error(401, 'The key is missing or wrong');
    }
    const operation = `${request.method} ${path}${petId === undefined ? '' : '/{petId}'}`;
    if (operation === 'GET /pets') return list(searchParams);
    if (operation === 'POST /pets') return create(text);
    if (operation === 'GET /pets/{petId}') return get(petId!);
    return rules.error(404, 'There is nothing here');
  }

  function list(query: URLSearchParams): Reply {
    const limit = rules.readLimit(query.get('limit'));
    const status = rules.readStatus(query.get('status'));
    const page = Number(query.get('page') ?? '0');
    const asked = { limit, isDefault: !query.has('limit'), status, page };
    return rules.listed(rules.list([...pets.values()], asked).map(rules.show));
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

  return createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', async () => {
      const refuse = (error: Error): Reply => rules.error(400, error.message);
      const reply = rules.reply(await respond(request, text).catch(refuse), request);
      const date = new Date(rules.now()).toUTCString();
      response.setHeader('Content-Type', reply.type ?? 'application/json').setHeader('Date', date);
      if (reply.link !== undefined) response.setHeader('Link', reply.link);
      if (reply.retryAfter !== undefined) response.setHeader('Retry-After', reply.retryAfter);
      response.writeHead(reply.status);
      response.end(typeof reply.body === 'string' ? reply.body : stringifyExactJson(reply.body));
    });
  });
}
