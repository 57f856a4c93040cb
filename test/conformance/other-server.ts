/**
 * Another pet store service, small and independent: it follows the interface, and has decided on
 * every gap otherwise than this project.
 *
 * Ids are beyond 2^53 and far apart, the newest pet comes first, `limit` is clamped, categories
 * are checked, names are short, a missing status is `available`, unknown fields are refused, and
 * what is sent is chunked. One fault can be switched on: then it is wrong in just that.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

export const FAULTS = [
  'a default of 10',
  'no more than 50 in a list',
  'the filter is ignored',
  'the filter is ignored beside a limit',
  'a list is an object',
  'integers go through a double',
  'the same id for every pet',
  'no pet is found',
  'any categoryId will do',
  'any status will do',
  'creation is 200',
  'POST needs no key',
  'a key may be longer',
  'errors are text',
  'errors repeat no status',
  'a missing pet is 200',
  'the removal came early',
  'the removal never comes',
  'JSON is sent as text/plain',
] as const;

export type Fault = (typeof FAULTS)[number];

export interface OtherServerOptions {
  readonly key: string;
  readonly fault?: Fault | undefined;
  /** What its clock shows, in milliseconds; its answers' Date says so. */
  readonly now?: () => number;
}

interface Pet {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: string;
}

type Fields = Readonly<Record<string, unknown>>;

interface Reply {
  readonly status: number;
  readonly body: string;
}

const REMOVED_MS = Date.parse('2030-12-05T00:00:00Z');
const STATUSES = ['available', 'pending', 'sold'];

/** Serves below any path that ends in /v1. */
export function createOtherListener(
  options: OtherServerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { key, fault, now = Date.now } = options;
  const pets: Pet[] = [];

  function answer(request: IncomingMessage, body: string): Reply {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
    const [, route = ''] = /\/v1(\/.*)$/.exec(pathname) ?? [];
    const operation = `${request.method} ${route.replace(/[^/]+$/, (last) =>
      route.startsWith('/pets/') ? '{petId}' : last,
    )}`;
    const isKeyNeeded = !(fault === 'POST needs no key' && request.method === 'POST');
    if (isKeyNeeded && !hasKey(request)) return error(401, 'The key is missing or wrong');
    if (operation === 'GET /pets') return list(searchParams);
    if (operation === 'POST /pets') return create(body);
    if (operation === 'GET /pets/{petId}') return get(route.slice('/pets/'.length));
    return error(403, 'There is nothing else');
  }

  function hasKey(request: IncomingMessage): boolean {
    const credential = request.headers.authorization ?? '';
    const isLonger = fault === 'a key may be longer' && credential.startsWith(`Bearer ${key}`);
    return credential === `Bearer ${key}` || isLonger;
  }

  function list(query: URLSearchParams): Reply {
    const most = fault === 'no more than 50 in a list' ? 50 : 100;
    const usual = fault === 'a default of 10' ? '10' : '20';
    const wanted = Number(query.get('limit') ?? usual);
    const limit = Number.isInteger(wanted) ? Math.min(Math.max(wanted, 1), most) : 20;
    const isIgnored =
      fault === 'the filter is ignored' ||
      (fault === 'the filter is ignored beside a limit' && query.has('limit'));
    const status = isIgnored ? null : query.get('status');
    const matching = pets.filter((pet) => status === null || pet.status === status);
    const text = `[${matching.reverse().slice(0, limit).map(encode).join(',')}]`;
    return { status: 200, body: fault === 'a list is an object' ? `{"pets":${text}}` : text };
  }

  function create(text: string): Reply {
    const pet = readPet(text);
    if (typeof pet === 'string') return error(400, pet);
    pets.push(pet);
    return { status: fault === 'creation is 200' ? 200 : 201, body: encode(pet) };
  }

  /** A pet with a new id, or what is wrong with the text. */
  function readPet(text: string): Pet | string {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return 'The body is no JSON';
    }
    if (typeof value !== 'object' || value === null) return 'The body is no object';
    const { name, categoryId: _, status = 'available', ...others } = value as Fields;
    if (Object.keys(others).length > 0) return 'There are fields that are not known';
    if (typeof name !== 'string' || !/^[ -~]{1,40}$/.test(name)) return 'The name is wrong';
    // The literal, since JSON.parse has rounded it already.
    const literal = /"categoryId"\s*:\s*(-?[0-9]+)(?=[\s,}])/.exec(text)?.[1];
    const exact = literal === undefined ? undefined : BigInt(literal);
    const isAny = fault === 'any categoryId will do';
    if (!isCategory(exact) && !isAny) return 'There is no such category';
    const isStatus = typeof status === 'string' && STATUSES.includes(status);
    if (!isStatus && fault !== 'any status will do') return 'The status is wrong';
    const category = fault === 'integers go through a double' ? BigInt(Number(exact)) : exact;
    const isSame = fault === 'the same id for every pet';
    const id = 2n ** 53n + BigInt(isSame ? 1 : nextId()) * 7919n;
    return { id, name, categoryId: category ?? 7n, status: String(status) };
  }

  let ids = 0;
  const nextId = (): number => (ids += 1);

  function get(petId: string): Reply {
    const removedMs = fault === 'the removal never comes' ? Infinity : REMOVED_MS;
    if (now() >= removedMs || fault === 'the removal came early') {
      return error(410, 'The operation is gone');
    }
    if (!/^[0-9]+$/.test(petId)) return error(400, 'The id is wrong');
    const wanted = fault === 'no pet is found' ? -1n : BigInt(petId);
    const found = pets.find(({ id }) => id === wanted);
    if (found !== undefined) return { status: 200, body: encode(found) };
    if (fault === 'a missing pet is 200') return { status: 200, body: '{}' };
    return error(404, 'No such pet');
  }

  function error(status: number, message: string): Reply {
    if (fault === 'errors are text') return { status, body: message };
    const repeated = fault === 'errors repeat no status' ? {} : { status };
    const body = JSON.stringify({ code: `E-${status}`, message, ...repeated, help: '/help' });
    return { status, body };
  }

  return (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const reply = answer(request, body);
      const type = fault === 'JSON is sent as text/plain' ? 'text/plain' : 'application/json';
      const date = new Date(now()).toUTCString();
      response.writeHead(reply.status, { 'Content-Type': `${type}; charset=utf-8`, Date: date });
      response.write(reply.body.slice(0, 10));
      response.end(reply.body.slice(10));
    });
  };
}

export function createOtherServer(options: OtherServerOptions): Server {
  return createServer(createOtherListener(options));
}

function encode({ id, name, categoryId, status }: Pet): string {
  const rest = `"name": ${JSON.stringify(name)}, "categoryId": ${categoryId}`;
  return `{ "status": ${JSON.stringify(status)}, "id": ${id}, ${rest}, "links": { "id": 1 } }`;
}

/** There are ten of old, and some with very large numbers. */
function isCategory(id: bigint | undefined): boolean {
  if (id === undefined || id < 0n) return false;
  return id < 10n || (id > 2n ** 53n && id < 2n ** 63n);
}
