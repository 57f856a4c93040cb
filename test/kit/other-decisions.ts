/**
 * Two valid services that decide every gap of the specification differently from this project, and
 * from each other.
 *
 * The first: ids are beyond 2^53 and far apart, the newest pet comes first, `limit` is clamped and
 * an unknown status ignored, pages are numbered, categories are checked, names are short, a missing
 * status is `available`, unknown fields are refused, and a Pet and an Error have more fields.
 *
 * The second: ids are negative and unordered, lists are unordered and without pages, an unknown
 * status matches no pet, integers are written as `7.0`, a petId that is not a number is 400, and a
 * body of more than 500 bytes is 413.
 *
 * Another service makes the same decisions as the plain one, and only writes them in other forms.
 */

import type { IncomingMessage } from 'node:http';
import { stringifyExactJson } from '../../src/core/base/exact-json.ts';
import {
  Invalid,
  plainRules,
  STATUSES,
  type NewPet,
  type Pet,
  type Reply,
  type Rules,
} from './plain-service.ts';

const FIELDS = ['name', 'categoryId', 'status'];

export const otherDecisions: Partial<Rules> = {
  readLimit(text) {
    const limit = Number(text ?? '20');
    return Number.isInteger(limit) ? Math.min(Math.max(limit, 1), 100) : 20;
  },
  readStatus: (text) => (STATUSES.includes(text) ? (text ?? undefined) : undefined),
  readNewPet(members) {
    const unknown = Object.keys(members).find((name) => !FIELDS.includes(name));
    if (unknown !== undefined) throw new Invalid(`${unknown} is not known`);
    return { status: 'available', ...members } as unknown as NewPet;
  },
  isName: (value) => typeof value === 'string' && /^[A-Za-z ]{1,15}$/.test(value),
  // Ten old categories exist, and some with very large numbers.
  isCategory: (value) =>
    typeof value === 'bigint' &&
    ((value >= 0n && value < 10n) || (value > 2n ** 53n && value < 2n ** 60n)),
  newId: (pets) => 2n ** 53n + BigInt(pets.size + 1) * 7919n,
  list: (pets, query) => pageOf([...pets].reverse(), query),
  show: (pet) => ({ status: pet.status, links: { self: { id: 1n } }, ...pet }),
  error: (status, message) => ({
    status,
    body: { status, help: '/help', message, code: `E-${status}`, id: 7n },
    fields: { 'Content-Type': 'application/json; charset=utf-8' },
  }),
  reply: linked,
};

export const pageOf: Rules['list'] = (pets, query) => {
  const start = query.page * query.limit;
  return plainRules.list(pets, { ...query, limit: start + query.limit }).slice(start);
};

/** Adds a Link to the next page if the page is full. */
export function linked(reply: Reply, { url = '', method }: IncomingMessage): Reply {
  if (method !== 'GET' || !Array.isArray(reply.body)) return reply;
  const { searchParams } = new URL(url, 'http://host');
  const limit = Number(searchParams.get('limit') ?? '20');
  return reply.body.length < limit ? reply : { ...reply, fields: { Link: linkAfter(url) } };
}

/** Returns a Link to the page after the one with this target. */
export function linkAfter(target: string): string {
  const { pathname, searchParams } = new URL(target, 'http://host');
  searchParams.set('page', String(Number(searchParams.get('page') ?? '0') + 1));
  return `<${pathname}?${searchParams}>; title="a, b; rel=x"; rel="next"`;
}

export const thirdDecisions: Partial<Rules> = {
  readStatus: (text) => text ?? undefined,
  readBody(text) {
    if (text.length > 500) throw new Invalid('The body is too long');
    return plainRules.readBody(text);
  },
  newId: (pets) => BigInt.asIntN(62, -BigInt(pets.size + 1) * 0x9e3779b97f4a7c15n),
  list: (pets, query) => plainRules.list([...pets].sort(byHash), query),
  find(pets, petId) {
    if (!/^-?[0-9]{1,19}$/.test(petId)) throw new Invalid('A petId is a number');
    return pets.get(BigInt(petId));
  },
  error: (status, message) => {
    const isLong = message === 'The body is too long';
    return plainRules.error(isLong ? 413 : status, message);
  },
  reply(reply) {
    const text = stringifyExactJson(reply.body);
    return { ...reply, body: text.replace(/"(id|categoryId)":(-?[0-9]+)/g, '"$1":$2.0') };
  },
};

/** A stable order that is neither by id nor by creation. */
function byHash(one: Pet, other: Pet): number {
  const hash = ({ id }: Pet): bigint => BigInt.asUintN(16, id * 40503n);
  return Number(hash(one) - hash(other)) || (one.id < other.id ? -1 : 1);
}

/**
 * The plain service in other forms, which no check may take for a fault or another decision: JSON
 * on several lines, HTTP/1.0, a Link whose rel has no quotes, and pets beforehand.
 */
export const otherForms: Partial<Rules> = {
  firstPets: () =>
    new Map(
      Array.from({ length: 420 }, (_, index): [bigint, Pet] => {
        const status = [undefined, 'available', 'pending', 'sold'][index % 4];
        const id = BigInt(index + 1);
        return [id, { id, name: `Older ${index}`, categoryId: -id, status }];
      }),
    ),
  list: pageOf,
  reply(right, request) {
    const { body, fields, ...reply } = linked(right, request);
    const { Link, ...others } = fields ?? {};
    const link = Link === undefined ? {} : { Link: Link.replace('"next"', 'next') };
    const text = body && pretty(stringifyExactJson(body));
    return { ...reply, body: text, fields: { ...others, ...link } };
  },
  end(response, text) {
    const fields = Object.entries(response.getHeaders()).map((field) => field.join(': '));
    const lines = [`HTTP/1.0 ${response.statusCode} X`, 'Connection: close', ...fields, '', ''];
    const isBare = response.req.method === 'HEAD' || response.statusCode === 204;
    response.socket?.end(lines.join('\r\n') + (isBare ? '' : text));
  },
};

/** Returns JSON with a line for each value, outside of strings. */
function pretty(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|[[{,:]/g, (token) =>
    token.startsWith('"') ? token : `${token}\r\n  `,
  );
}
