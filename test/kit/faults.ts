/**
 * Wrong services: the plain service with one rule replaced, and the check that must find the fault.
 *
 * Each is a mistake that real services make. Other checks may find it, too.
 */

import { linked, pageOf } from './other-decisions.ts';
import type { Fields } from '../../src/kit/test-client.ts';
import { Invalid, plainRules, type Pet, type Rules } from './plain-service.ts';

export interface Fault {
  readonly what: string;
  readonly foundBy: string;
  readonly rules: Partial<Rules>;
}

const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');

/** A service that returns changed names. */
function names(change: (name: string) => string): Partial<Rules> {
  return { show: (pet) => ({ ...pet, name: change(pet.name) }) };
}

/** A service that returns a changed categoryId. */
function categories(change: (categoryId: bigint) => bigint): Partial<Rules> {
  return { show: (pet) => ({ ...pet, categoryId: change(pet.categoryId) }) };
}

const anyLimit = (text: string | null): number => Number(text ?? '20');

function fault(what: string, foundBy: string, rules: Partial<Rules>): Fault {
  return { what, foundBy, rules };
}

const limits: readonly Fault[] = [
  fault('a default of 10', '4.1/limit-default', {
    readLimit: (text) => plainRules.readLimit(text ?? '10'),
  }),
  fault('no default with a filter', '8/default', {
    list: (pets, limit, status, query) =>
      plainRules.list(
        pets,
        query.has('limit') || status === undefined ? limit : 100,
        status,
        query,
      ),
  }),
  fault('at most 50 in a list', '4.1/limit-maximum', {
    readLimit: (text) => Math.min(plainRules.readLimit(text), 50),
  }),
  fault('limit=100 refused', '8/limit', {
    readLimit(text) {
      if (text === '100') throw new Invalid('limit is below 100');
      return plainRules.readLimit(text);
    },
  }),
  fault('limit=1 refused', '4.1/limit-minimum', {
    readLimit(text) {
      if (text === '1') throw new Invalid('limit is above 1');
      return plainRules.readLimit(text);
    },
  }),
  fault('limit ignored', '4.1/limit', { readLimit: () => 20 }),
  fault('limit=101 accepted', '8/never-more', {
    readLimit: (text) => (text === '101' ? 101 : plainRules.readLimit(text)),
  }),
  fault('limit=1000 accepted', '8/never-more', {
    readLimit: (text) => (text === '101' ? 100 : anyLimit(text)),
  }),
  fault('limit=0 is no limit', '8/never-more', {
    readLimit: (text) => (text === '0' ? 1e9 : plainRules.readLimit(text)),
  }),
];

const lists: readonly Fault[] = [
  fault('the filter is ignored', '4.1/filter', {
    list: (pets, limit) => pets.slice(0, limit),
  }),
  fault('the filter is ignored with a limit', '4.1/filter-limit', {
    list: (pets, limit, status, query) =>
      plainRules.list(pets, limit, query.has('limit') ? undefined : status, query),
  }),
  fault('limit counts before the filter', '4.1/filter-limit', {
    list: (pets, limit, status, query) => plainRules.list(pets.slice(0, limit), 100, status, query),
  }),
  fault('the filter sold finds pending, too', '3/status-filter', {
    list: (pets, limit, status) =>
      pets
        .filter(
          (pet) =>
            status === undefined ||
            [status, status === 'sold' ? 'pending' : ''].includes(pet.status ?? '-'),
        )
        .slice(0, limit),
  }),
  fault('the newest pet is not listed yet', '4.1/complete', {
    list: (pets, limit, status, query) => plainRules.list(pets.slice(0, -1), limit, status, query),
  }),
  fault('pets without a status are not listed', '4.1/complete', {
    list: (pets, limit, status) =>
      pets
        .filter((pet) => pet.status !== undefined && (status ?? pet.status) === pet.status)
        .slice(0, limit),
  }),
  fault('the first pet is listed twice', '4.1/once', {
    list: (pets, limit, status, query) =>
      plainRules.list([...pets.slice(0, 1), ...pets], limit, status, query),
  }),
  fault('a page leaves out the pet after the page before', '4.1/pages', {
    list: (pets, limit, status, query) =>
      pageOf(
        pets.filter((_pet, index) => !query.has('page') || index % 8 !== 7),
        limit,
        status,
        query,
      ),
    reply: linked,
  }),
  fault('a Link to the next page loses the filter', '4.1/pages-filter', {
    list: pageOf,
    reply(reply, request) {
      const { link, ...rest } = linked(reply, request);
      return link === undefined ? rest : { ...rest, link: link.replace(/status=\w+&?/, '') };
    },
  }),
  fault('an empty list is null', '4.1/empty', {
    listed: (pets) => ({ status: 200, body: pets.length === 0 ? null : pets }),
  }),
  fault('an empty list is 404', '4.1/empty', {
    listed: (pets) =>
      pets.length === 0 ? plainRules.error(404, 'There are no pets') : plainRules.listed(pets),
  }),
  fault('a list is an object', '2/pets-array', {
    listed: (pets) => ({ status: 200, body: { pets } }),
  }),
];

type Change<T, R = T> = readonly [what: string, foundBy: string, change: (value: T) => R];

const NAMES: readonly Change<string>[] = [
  ['a name is trimmed', '2/name-spaces', (name) => name.trim()],
  ['CRLF in a name becomes LF', '2/name-lines', (name) => name.replaceAll('\r\n', '\n')],
  ['a name is composed (NFC)', '2/name-unicode', (name) => name.normalize('NFC')],
  ['a name is decomposed (NFD)', '2/name-unicode', (name) => name.normalize('NFD')],
  [
    'a name is escaped as HTML',
    '2/name-markup',
    (name) => name.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
  ],
  ['markup is removed from a name', '2/name-markup', (name) => name.replace(/<[^>]*>/g, '')],
  ['a name is percent-decoded', '2/name-escapes', (name) => name.replaceAll('%20', ' ')],
  [
    'a name loses characters beyond 16 bits',
    '2/name-plane',
    (name) => name.replace(/[\u{10000}-\u{10ffff}]/gu, '?'),
  ],
  ['a name gets a capital', '2/name-case', (name) => name.charAt(0).toUpperCase() + name.slice(1)],
  ['a name is cut at 255', '2/name-300', (name) => name.slice(0, 255)],
  ['a name is cut at 999', '2/name-1000', (name) => name.slice(0, 999)],
];

const CATEGORIES: readonly Change<bigint>[] = [
  ['categoryId wraps at 32 bits', '2/category-32-bits', (id) => BigInt.asIntN(32, id)],
  ['categoryId is rounded to a double', '2/category-53-bits', (id) => BigInt(Number(id))],
  [
    'categoryId ends one below 2^63',
    '2/category-64-bits',
    (id) => (id === 2n ** 63n - 1n ? id - 1n : id),
  ],
];

const fields: readonly Fault[] = [
  ...NAMES.map(([what, foundBy, change]) => fault(what, foundBy, names(change))),
  fault('a name of digits is a number', '2/name-number', {
    show: (pet) => ({ ...pet, name: /^[0-9]+$/.test(pet.name) ? BigInt(pet.name) : pet.name }),
  }),
  fault('categoryId 0 counts as missing', '2/category-zero', {
    isCategory: (value) => value !== 0n && plainRules.isCategory(value),
  }),
  fault('a negative categoryId is refused', '2/category-negative', {
    isCategory: (value) => plainRules.isCategory(value) && (value as bigint) >= 0n,
  }),
  fault('categoryId has 32 bits, and refuses more', '2/category-32-bits', {
    isCategory: (value) => typeof value === 'bigint' && BigInt.asIntN(32, value) === value,
  }),
  ...CATEGORIES.map(([what, foundBy, change]) => fault(what, foundBy, categories(change))),
  fault('categoryId wraps beyond int64', '2/category-beyond', {
    isCategory: (value) => typeof value === 'bigint' || Number.isInteger(value),
  }),
  fault('categoryId may be a string', '2/category-type', {
    readNewPet: ({ name, categoryId, status }) =>
      ({
        name,
        categoryId:
          typeof categoryId === 'string' && /^[0-9]+$/.test(categoryId)
            ? BigInt(categoryId)
            : categoryId,
        status,
      }) as Pet,
  }),
  fault('categoryId may be missing', '2/category-required', {
    readNewPet: ({ name, categoryId = 0n, status }) => ({ name, categoryId, status }) as Pet,
  }),
  fault('name may be missing', '2/name-required', {
    readNewPet: ({ name = '', categoryId, status }) => ({ name, categoryId, status }) as Pet,
  }),
  fault('any status will do', '2/status-others', {
    isStatus: (value) => typeof value === 'string',
  }),
  fault('status pending is refused', '2/status-values', {
    isStatus: (value) => value !== 'pending' && plainRules.isStatus(value),
  }),
  fault('status is required', '2/status-optional', {
    readNewPet(members) {
      if (members['status'] === undefined) throw new Invalid('status is required');
      return plainRules.readNewPet(members);
    },
  }),
  fault('a status that was not set is null', '2/pet-carries', {
    show: (pet) => ({ ...pet, status: pet.status ?? null }),
  }),
  fault('status is always available at first', '3/status-set', {
    keep: (pets, pet) => void pets.set(pet.id, { ...pet, status: pet.status && 'available' }),
  }),
];

const ids: readonly Fault[] = [
  fault('the same id for every pet', '2/id-unique', { newId: () => 1n }),
  fault("a client's id is adopted", '2/id-own', {
    newId: (pets, sent) => (typeof sent === 'bigint' ? sent : plainRules.newId(pets, sent)),
  }),
  fault('pets that are added concurrently share an id', '2/id-concurrent', {
    pause: () => new Promise((resolve) => setTimeout(resolve, 1)),
  }),
  fault('an id is a string', '2/pet-fields', { show: (pet) => ({ ...pet, id: String(pet.id) }) }),
  fault('an acknowledged pet is not stored', '4.2/pet', { keep: () => undefined }),
];

const operations: readonly Fault[] = [
  fault('creation is 200', '4.2/created', { created: (pet) => ({ status: 200, body: pet }) }),
  fault('the Pet of a creation has no id', '4.2/pet', {
    created: (pet) => ({ status: 201, body: { ...(pet as Pet), id: undefined } }),
  }),
  fault('a body is not needed', '4.2/body-required', {
    readBody: (text) => (text === '' ? { name: '', categoryId: 1n } : plainRules.readBody(text)),
  }),
  fault('whitespace around JSON is refused', '4.2/any-order', {
    readBody(text) {
      if (text !== text.trim()) throw new Invalid('The body begins with a space');
      return plainRules.readBody(text);
    },
  }),
  fault('an invalid body is 422', '4.2/invalid', {
    error: (status, message) => plainRules.error(status === 400 ? 422 : status, message),
  }),
  fault('a refused pet is added', '4.2/not-added', {
    isStatus: () => true,
    created(pet) {
      const isKnown = plainRules.isStatus((pet as Pet).status ?? 'sold');
      return isKnown ? plainRules.created(pet) : plainRules.error(400, 'No such status');
    },
  }),
  fault('no pet is found', '4.3/found', { find: () => undefined }),
  fault('a missing pet is 200', '4.3/not-found', {
    error: (status, message) =>
      status === 404 ? { status: 200, body: {} } : plainRules.error(status, message),
  }),
  fault('a petId of letters is a failure of the database', '4.3/no-id', {
    reply: (reply, { url = '' }) =>
      /pets\/.*[^0-9]/.test(url) && reply.status === 404
        ? plainRules.error(500, 'invalid input syntax for type bigint')
        : reply,
  }),
  fault('a petId is read up to the first letter', '4.3/whole-id', {
    find: (pets, petId) => plainRules.find(pets, /^[0-9]+/.exec(petId)?.[0] ?? ''),
  }),
  fault('the removal came early', '9/until-removal', { isRemoved: () => true }),
  fault('the removal never comes', '9/removal', {
    now: () => AFTER_REMOVAL_MS,
    isRemoved: () => false,
  }),
];

const withMethod =
  (method: string): Rules['hasKey'] =>
  (authorization, key, request) =>
    request.method === method || plainRules.hasKey(authorization, key, request);

const keys: readonly Fault[] = [
  fault('no key is needed', '5/required', { hasKey: () => true }),
  fault('POST needs no key', '4.2/unauthorized', { hasKey: withMethod('POST') }),
  fault('a list needs no key', '4.1/unauthorized', {
    hasKey: (authorization, key, request) =>
      /pets(\?|$)/.test(request.url ?? '') && request.method === 'GET'
        ? true
        : plainRules.hasKey(authorization, key, request),
  }),
  fault('a pet needs no key', '4.3/unauthorized', {
    hasKey: (authorization, key, request) =>
      /pets\//.test(request.url ?? '') || plainRules.hasKey(authorization, key, request),
  }),
  fault('a key may be longer', '5/invalid', {
    hasKey: (authorization, key) => (authorization ?? '').startsWith(`Bearer ${key}`),
  }),
  fault('a key may be shorter', '5/invalid', {
    hasKey: (authorization, key) =>
      /^Bearer .{3}/.test(authorization ?? '') && `Bearer ${key}`.startsWith(authorization ?? '-'),
  }),
  fault('a key is compared without regard to case', '5/key-case', {
    hasKey: (authorization, key) =>
      (authorization ?? '').toLowerCase() === `Bearer ${key}`.toLowerCase(),
  }),
  fault('any scheme will do', '5/invalid', {
    hasKey: (authorization, key) => (authorization ?? '').endsWith(` ${key}`),
  }),
  fault('a missing key is 403', '7/status', {
    error: (status, message) => plainRules.error(status === 401 ? 403 : status, message),
  }),
];

/** A service whose errors have another body. */
function errors(change: (body: Fields) => unknown): Partial<Rules> {
  return {
    error(status, message) {
      const reply = plainRules.error(status, message);
      return { ...reply, body: change(reply.body as Fields) };
    },
  };
}

const ERRORS: readonly Change<Fields, unknown>[] = [
  ['errors are text', '7/error', ({ message }) => message],
  ['errors repeat no status', '2/error-fields', ({ status: _, ...rest }) => rest],
  [
    'the status in errors is a string',
    '7/error',
    (body) => ({ ...body, status: `${body['status']}` }),
  ],
  ['errors have no code', '7/error', ({ code: _, ...rest }) => rest],
  ['errors are inside an object error', '7/error', (error) => ({ error })],
];

const bodies: readonly Fault[] = [
  ...ERRORS.map(([what, foundBy, change]) => fault(what, foundBy, errors(change))),
  fault('errors that the specification does not list are text', '7/error-not-listed', {
    error: (status, message) =>
      message.startsWith('limit') ? { status, body: message } : plainRules.error(status, message),
  }),
  fault('JSON is sent as text/plain', '4/json', {
    reply: (reply) => ({ ...reply, type: 'text/plain' }),
  }),
  fault('errors are sent as application/problem+json', '4/error-json', {
    reply: (reply) => (reply.status < 400 ? reply : { ...reply, type: 'application/problem+json' }),
  }),
];

export const FAULTS: readonly Fault[] = [
  ...[limits, lists, fields, ids, operations, keys, bodies].flat(),
];
