/**
 * Wrong services: the plain service with one rule replaced, and the check that must find the fault.
 *
 * Each is a mistake that real services make. Other checks may find it, too.
 */

import { isUtf8 } from 'node:buffer';
import { linkAfter, linked, pageOf, thirdDecisions } from './other-decisions.ts';
import type { Fields } from '../../src/kit/test-client.ts';
import {
  Invalid,
  KEY,
  plainRules,
  RIGHT,
  type NewPet,
  type Reply,
  type Rules,
} from './plain-service.ts';

export interface Fault {
  readonly what: string;
  readonly foundBy: string;
  readonly rules: Partial<Rules>;
}

type Declare<T> = (what: string, foundBy: string, change: T) => Fault;

const fault: Declare<Partial<Rules>> = (what, foundBy, rules) => ({ what, foundBy, rules });

/** Returns a function that declares faults of a single rule. */
function ofRule<K extends keyof Rules>(name: K): Declare<Rules[K]> {
  return (what, foundBy, rule) => fault(what, foundBy, { [name]: rule });
}

const limit = ofRule('readLimit');
const listing = ofRule('list');
const listed = ofRule('listed');
const category = ofRule('isCategory');
const status = ofRule('isStatus');
const fields = ofRule('readNewPet');
const body = ofRule('readBody');
const newId = ofRule('newId');
const keep = ofRule('keep');
const created = ofRule('created');
const find = ofRule('find');
const key = ofRule('hasKey');
const error = ofRule('error');
const reply = ofRule('reply');
const show = ofRule('show');

/** A service that returns changed names. */
const name: Declare<(name: string) => unknown> = (what, foundBy, change) =>
  show(what, foundBy, (pet) => ({ ...pet, name: change(pet.name) }));

/** A service that returns a changed categoryId. */
const returned: Declare<(categoryId: bigint) => bigint> = (what, foundBy, change) =>
  show(what, foundBy, (pet) => ({ ...pet, categoryId: change(pet.categoryId) }));

/** A service that needs no key for some request lines. */
const open: Declare<RegExp> = (what, foundBy, lines) =>
  key(what, foundBy, (given, request) =>
    lines.test(`${request.method} ${request.url}`) ? true : given === RIGHT,
  );

/** A service whose errors have another body. */
const errorBody: Declare<(body: Fields) => unknown> = (what, foundBy, change) =>
  error(what, foundBy, (code, message) => {
    const right = plainRules.error(code, message);
    return { ...right, body: change(right.body as Fields) };
  });

/** A service whose errors with one status have another one. */
const errorStatus = (what: string, foundBy: string, from: number, to: number): Fault =>
  error(what, foundBy, (code, text) => plainRules.error(code === from ? to : code, text));

/** Changes the Link of each page that has one. */
const linkedAs =
  (change: (link: string) => string): Rules['reply'] =>
  (right, request) => {
    const reply = linked(right, request);
    const { Link } = reply.fields ?? {};
    return Link === undefined ? reply : { ...reply, fields: { Link: change(Link) } };
  };

/** A service with a page of HTML for the errors of some requests. */
const html: Declare<(reply: Reply, url: string) => boolean> = (what, foundBy, isHtml) =>
  reply(what, foundBy, (right, { url = '' }) =>
    isHtml(right, url)
      ? { ...right, body: '<h1>Error</h1>', fields: { 'Content-Type': 'text/html' } }
      : right,
  );

function refuse(message: string): never {
  throw new Invalid(message);
}

/** The plain service returns 500 for a RangeError. */
function fail(): never {
  throw new RangeError('It fails');
}

const { readLimit, list, isCategory, isStatus, readNewPet } = plainRules;
const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');

export const FAULTS: readonly Fault[] = [
  limit('a default of 10', '4.1/limit-default', (text) => readLimit(text ?? '10')),
  listing('no default with a filter', '8/default', (pets, query) =>
    list(pets, query.isDefault && query.status !== undefined ? { ...query, limit: 100 } : query),
  ),
  limit('at most 50 in a list', '4.1/limit-maximum', (text) => Math.min(readLimit(text), 50)),
  limit('limit=100 refused', '8/limit', (text) =>
    text === '100' ? refuse('limit is below 100') : readLimit(text),
  ),
  limit('limit=1 refused', '4.1/limit-minimum', (text) =>
    text === '1' ? refuse('limit is above 1') : readLimit(text),
  ),
  limit('limit ignored', '4.1/limit', () => 20),
  limit('limit=101 accepted', '8/never-more', (text) => (text === '101' ? 101 : readLimit(text))),
  limit('limit=1000 accepted', '8/never-more', (text) => (text === '1000' ? 1e3 : readLimit(text))),
  limit('limit=0 is no limit', '8/never-more', (text) => (text === '0' ? 1e9 : readLimit(text))),

  listing('the filter is ignored', '4.1/filter', (pets, query) => pets.slice(0, query.limit)),
  listing('the filter is ignored with a limit', '4.1/filter-limit', (pets, query) =>
    list(pets, query.isDefault ? query : { ...query, status: undefined }),
  ),
  listing('limit counts before the filter', '4.1/filter-limit', (pets, query) =>
    list(pets.slice(0, query.limit), query),
  ),
  listing('the filter sold finds pending, too', '3/status-filter', (pets, query) => {
    const isPending = (one: unknown): boolean => query.status === 'sold' && one === 'pending';
    return pets.filter((pet) => isPending(pet.status) || list([pet], query).length > 0);
  }),
  listing('the newest pet is not listed yet', '4.1/complete', (pets, query) =>
    list(pets.slice(0, -1), query),
  ),
  listing('pets without a status are not listed', '4.1/complete', (pets, query) =>
    list(
      pets.filter((pet) => pet.status !== undefined),
      query,
    ),
  ),
  listing('the first pet is listed twice', '4.1/once', (pets, query) =>
    list([...pets.slice(0, 1), ...pets], query),
  ),
  fault('a page leaves out the pet after the page before', '4.1/pages', {
    list: (pets, query) => {
      const shown = pets.filter((_pet, index) => query.page === 0 || index % 8 !== 7);
      return pageOf(shown, query);
    },
    reply: linked,
  }),
  fault('a Link to the next page loses the filter', '4.1/pages-filter', {
    list: pageOf,
    reply: linkedAs((link) => link.replace(/status=\w+&?/, '')),
  }),
  fault('a Link leads to the host behind the proxy', '4.1/pages-address', {
    list: pageOf,
    reply: linkedAs((link) => link.replace('<', '<http://backend:3000')),
  }),
  fault('a Link loses the prefix of the proxy', '4.1/pages-address', {
    list: pageOf,
    reply: linkedAs((link) => link.replace('/v1/', '/')),
  }),
  fault('the last page has a Link', 'decisions/last-page', {
    list: pageOf,
    reply: (right, { url = '' }) =>
      Array.isArray(right.body) ? { ...right, fields: { Link: linkAfter(url) } } : right,
  }),
  listed('an empty list is null', '4.1/empty', (pets) => ({
    status: 200,
    body: pets.length === 0 ? null : pets,
  })),
  listed('an empty list is 404', '4.1/empty', (pets) =>
    pets.length === 0 ? plainRules.error(404, 'There are no pets') : plainRules.listed(pets),
  ),
  listed('a list is an object', '2/pets-array', (pets) => ({ status: 200, body: { pets } })),

  name('a name is trimmed', '2/name-spaces', (text) => text.trim()),
  name('CRLF in a name becomes LF', '2/name-lines', (text) => text.replaceAll('\r\n', '\n')),
  name('a name is composed (NFC)', '2/name-unicode', (text) => text.normalize('NFC')),
  name('a name is decomposed (NFD)', '2/name-unicode', (text) => text.normalize('NFD')),
  name('a name is escaped as HTML', '2/name-markup', (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
  ),
  name('markup is removed from a name', '2/name-markup', (text) => text.replace(/<[^>]*>/g, '')),
  name('a name is percent-decoded', '2/name-escapes', (text) => text.replaceAll('%20', ' ')),
  name('a name loses characters beyond 16 bits', '2/name-plane', (text) =>
    text.replace(/[\u{10000}-\u{10ffff}]/gu, '?'),
  ),
  name('a name gets a capital', '2/name-case', ([first = '', ...rest]) =>
    [first.toUpperCase(), ...rest].join(''),
  ),
  name('a name is cut at 255', '2/name-300', (text) => text.slice(0, 255)),
  name('a name is cut at 999', '2/name-1000', (text) => text.slice(0, 999)),
  name('a name of digits is a number', '2/name-number', (text) =>
    /^[0-9]+$/.test(text) ? BigInt(text) : text,
  ),
  category('categoryId 0 counts as missing', '2/category-zero', (value) =>
    value === 0n ? false : isCategory(value),
  ),
  category('a negative categoryId is refused', '2/category-negative', (value) =>
    isCategory(value) ? (value as bigint) >= 0n : false,
  ),
  category('categoryId has 32 bits, and refuses more', '2/category-32-bits', (value) =>
    typeof value === 'bigint' ? BigInt.asIntN(32, value) === value : false,
  ),
  returned('categoryId wraps at 32 bits', '2/category-32-bits', (id) => BigInt.asIntN(32, id)),
  returned('categoryId is rounded to a double', '2/category-53-bits', (id) => BigInt(Number(id))),
  returned('categoryId ends one below 2^63', '2/category-64-bits', (id) =>
    id === 2n ** 63n - 1n ? id - 1n : id,
  ),
  category('categoryId wraps beyond int64', '2/category-beyond', (value) =>
    typeof value === 'bigint' ? true : Number.isInteger(value),
  ),
  fields('categoryId may be a string', '2/category-type', ({ name, categoryId: id, status }) => {
    const categoryId = typeof id === 'string' && /^[0-9]+$/.test(id) ? BigInt(id) : id;
    return { name, categoryId, status } as NewPet;
  }),
  fields('categoryId may be missing', '2/category-required', (members) =>
    readNewPet({ categoryId: 0n, ...members }),
  ),
  fields('name may be missing', '2/name-required', (members) =>
    readNewPet({ name: '', ...members }),
  ),
  status('any status will do', '2/status-others', (value) => typeof value === 'string'),
  status('status pending is refused', '2/status-values', (value) =>
    value === 'pending' ? false : isStatus(value),
  ),
  fields('status is required', '2/status-optional', (members) =>
    members['status'] === undefined ? refuse('status is required') : readNewPet(members),
  ),
  show('a status that was not set is null', '2/pet-carries', (pet) => ({
    ...pet,
    status: pet.status ?? null,
  })),
  status('a status of null is accepted, and returned', '2/status-null', (value) =>
    value === null ? true : isStatus(value),
  ),
  keep('status is always available at first', '3/status-set', (pets, pet) =>
    plainRules.keep(pets, { ...pet, status: pet.status && 'available' }),
  ),

  newId('the same id for every pet', '2/id-unique', () => 1n),
  newId("a client's id is adopted", '2/id-own', (pets, sent) =>
    typeof sent === 'bigint' ? sent : plainRules.newId(pets, sent),
  ),
  fault('pets that are added concurrently share an id', '2/id-concurrent', {
    pause: () => new Promise((resolve) => setTimeout(resolve, 1)),
  }),
  newId('ids do not ascend', 'decisions/new-ids', ({ size }) => BigInt(size + ((size * 3) % 7))),
  fault('an id is written 1.0', 'decisions/digits', { reply: thirdDecisions.reply! }),
  show('an id is a string', '2/pet-fields', (pet) => ({ ...pet, id: String(pet.id) })),
  keep('an acknowledged pet is not stored', '4.2/pet', () => undefined),

  created('creation is 200', '4.2/created', (pet) => ({ status: 200, body: pet })),
  created('the Pet of a creation has no id', '4.2/pet', (pet) =>
    plainRules.created({ ...(pet as Fields), id: undefined }),
  ),
  body('a body is not needed', '4.2/body-required', (text) =>
    text === '' ? { name: '', categoryId: 1n } : plainRules.readBody(text),
  ),
  body('whitespace around JSON is refused', '4.2/any-order', (text) =>
    text === text.trim() ? plainRules.readBody(text) : refuse('The body begins with a space'),
  ),
  reply('application/json with a charset is 415', '4.2/charset', (right, { headers }) =>
    /charset/.test(headers['content-type'] ?? '') ? plainRules.error(415, 'No JSON') : right,
  ),
  created('a Location leads to the host behind the proxy', '4.2/location', (pet) => ({
    ...plainRules.created(pet),
    fields: { Location: 'http://backend:3000/v1/pets/1' },
  })),
  fault('invalid UTF-8 is a failure', '4.2/unreadable', {
    decode: (bytes) => (isUtf8(bytes) ? bytes.toString() : fail()),
  }),
  body('30,000 brackets are a failure', '4.2/unreadable', (text) =>
    /^\[{9}/.test(text) ? fail() : plainRules.readBody(text),
  ),
  fault('invalid UTF-8 is replaced', 'decisions/no-utf8', { decode: (bytes) => bytes.toString() }),
  fault('a chunked body is ignored', 'http/chunked', {
    decode: (bytes, { headers }) => (headers['content-length'] === undefined ? '' : `${bytes}`),
  }),
  fault('an idempotency key is used for another pet', 'decisions/key-reused', {
    reused: (first) => first,
  }),
  errorStatus('an invalid body is 422', '4.2/invalid', 400, 422),
  fault('a refused pet is added', '4.2/not-added', {
    isStatus: () => true,
    created(pet) {
      const isKnown = isStatus((pet as Fields)['status'] ?? 'sold');
      return isKnown ? plainRules.created(pet) : plainRules.error(400, 'No such status');
    },
  }),
  find('no pet is found', '4.3/found', () => undefined),
  errorStatus('a missing pet is 200', '4.3/not-found', 404, 200),
  reply('a petId of letters is a failure of the database', '4.3/no-id', (right, { url = '' }) =>
    /pets\/.*[^0-9]/.test(url) && right.status === 404
      ? plainRules.error(500, 'invalid input syntax for type bigint')
      : right,
  ),
  find('a petId is read up to the first letter', '4.3/whole-id', (pets, petId) =>
    plainRules.find(pets, /^[0-9]+/.exec(petId)?.[0] ?? ''),
  ),
  fault('the removal came early', '9/until-removal', { isRemoved: () => true }),
  fault('the removal never comes', '9/removal', {
    now: () => AFTER_REMOVAL_MS,
    isRemoved: () => false,
  }),

  open('no key is needed', '5/required', /^/),
  open('POST needs no key', '4.2/unauthorized', /^POST/),
  open('a list needs no key', '4.1/unauthorized', /^GET .*pets(\?|$)/),
  open('a pet needs no key', '4.3/unauthorized', /pets\//),
  key('a key may be longer', '5/invalid', (given = '') => given.startsWith(RIGHT)),
  key('a key may be shorter', '5/invalid', (given = '') =>
    /^Bearer .{3}/.test(given) ? RIGHT.startsWith(given) : false,
  ),
  key(
    'a key is compared without regard to case',
    '5/key-case',
    (given = '') => given.toLowerCase() === RIGHT.toLowerCase(),
  ),
  key('any scheme will do', '5/invalid', (given = '') => given.endsWith(` ${KEY}`)),
  errorStatus('a missing key is 403', '7/status', 401, 403),

  errorBody('errors are text', '7/error', ({ message }) => message),
  errorBody('errors repeat no status', '2/error-fields', ({ status: _, ...rest }) => rest),
  errorBody('the status in errors is a string', '7/error', (members) => ({
    ...members,
    status: `${members['status']}`,
  })),
  errorBody('errors have no code', '7/error', ({ code: _, ...rest }) => rest),
  error(
    'errors that the specification does not list are text',
    '7/error-not-listed',
    (code, text) =>
      text.startsWith('limit') ? { status: code, body: text } : plainRules.error(code, text),
  ),
  html(
    'an unknown path is a page of HTML',
    '7/error-elsewhere',
    ({ status: code }, url) => code === 404 && !url.includes('pets'),
  ),
  html(
    'an unknown method is a page of HTML',
    '7/error-elsewhere',
    ({ status: code }) => code === 405,
  ),
  errorBody('an Error has a fourth member', 'decisions/error-members', (members) => ({
    ...members,
    id: 7n,
  })),
  fault('OPTIONS is 405', 'http/allow', {
    options: (allow) => ({ ...plainRules.error(405, 'No'), fields: { Allow: allow } }),
  }),
  fault('a response to HEAD has a body', 'http/head', {
    end: (response, text) =>
      void (response.req.method === 'HEAD'
        ? response.socket?.end(
            `HTTP/1.1 ${response.statusCode} X\r\nConnection: close\r\n\r\n${text}`,
          )
        : response.end(text)),
  }),
  reply('JSON is sent as text/plain', '4/json', (right) => ({
    ...right,
    fields: { 'Content-Type': 'text/plain' },
  })),
  reply('errors are sent as application/problem+json', '4/error-json', (right) =>
    right.status < 400
      ? right
      : { ...right, fields: { 'Content-Type': 'application/problem+json' } },
  ),
];
