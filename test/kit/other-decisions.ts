/**
 * A right service that decides every gap of the interface otherwise than this project.
 *
 * Ids are beyond 2^53 and far apart, the newest pet comes first, `limit` is clamped and an unknown
 * status ignored, pages are numbered, categories are checked, names are short, a missing status is `available`, unknown
 * fields are refused, and a Pet and an Error have more fields than they must.
 */

import type { IncomingMessage } from 'node:http';
import {
  Invalid,
  plainRules,
  STATUSES,
  type NewPet,
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
  isName: (value) => typeof value === 'string' && /^[ -~]{1,60}$/.test(value),
  // There are ten of old, and some with very large numbers.
  isCategory: (value) =>
    typeof value === 'bigint' &&
    ((value >= 0n && value < 10n) || (value > 2n ** 53n && value < 2n ** 60n)),
  newId: (pets) => 2n ** 53n + BigInt(pets.size + 1) * 7919n,
  list: (pets, limit, status, query) => pageOf([...pets].reverse(), limit, status, query),
  show: (pet) => ({ status: pet.status, links: { self: { id: 1n } }, ...pet }),
  error: (status, message) => ({
    status,
    body: { status, help: '/help', message, code: `E-${status}`, id: 7n },
    type: 'application/json; charset=utf-8',
  }),
  reply: linked,
};

/** The page that the query names: from 0 on. */
export const pageOf: Rules['list'] = (pets, limit, status, query) => {
  const start = Number(query.get('page') ?? '0') * limit;
  return plainRules.list(pets, 1e9, status, query).slice(start, start + limit);
};

/** A full page has a Link to the next. */
export function linked(reply: Reply, { url = '', method }: IncomingMessage): Reply {
  if (method !== 'GET' || !Array.isArray(reply.body)) return reply;
  const { pathname, searchParams } = new URL(url, 'http://host');
  const limit = Number(searchParams.get('limit') ?? '20');
  if (reply.body.length < limit) return reply;
  searchParams.set('page', String(Number(searchParams.get('page') ?? '0') + 1));
  return { ...reply, link: `<${pathname}?${searchParams}>; rel="next"` };
}
