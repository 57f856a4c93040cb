/**
 * Wrong services: the plain service with one rule replaced. The title of each has the id of the
 * check that must find the fault, and the fault. Other checks may find it, too.
 *
 * Each is a mistake that real services make.
 */

import { isUtf8 } from 'node:buffer';
import { leavingBodies } from './left-bodies.ts';
import { linkAfter, linked, pageOf, thirdDecisions } from './other-decisions.ts';
import type { Fields } from '../../src/extras/kit/test-client.ts';
import {
  Invalid,
  KEY,
  plainRules,
  RIGHT,
  type ListQuery,
  type NewPet,
  type Pet,
  type Reply,
  type Rules,
} from './plain-service.ts';

type Wrong = Partial<Rules>;

/** A service with a rule that is wrong for a single value, for which `result` is called. */
function except(name: keyof Rules, given: unknown, result: () => unknown): Wrong {
  const right = plainRules[name] as (...args: readonly unknown[]) => unknown;
  return { [name]: (...args: unknown[]) => (args[0] === given ? result() : right(...args)) };
}

/** A service that lists others of its pets. */
const listing = (choose: Rules['list']): Wrong => ({
  list: (pets, query) => list(choose(pets, query), query),
});

/** A service for which each NewPet has these members if it lacks them. */
const filled = (members: Fields): Wrong => ({
  readNewPet: (given) => plainRules.readNewPet({ ...members, ...given }),
});

/** A service that returns changed names. */
const name = (change: (name: string) => unknown): Wrong => ({
  show: (pet) => ({ ...pet, name: change(pet.name) }),
});

/** A service that returns a changed categoryId. */
const returned = (change: (categoryId: bigint) => bigint): Wrong => ({
  show: (pet) => ({ ...pet, categoryId: change(pet.categoryId) }),
});

/** A service that returns changed pets in lists only. */
const listedAs = (change: (pet: Pet) => Fields): Wrong => ({
  listed: (pets) => ({ status: 200, body: (pets as readonly Pet[]).map(change) }),
});

/** A service that needs no key for some request lines. */
const open = (lines: RegExp): Wrong => ({
  hasKey: (given, { method, url }) => lines.test(`${method} ${url}`) || given === RIGHT,
});

/** A service whose errors have another body. */
const errorBody = (change: (body: Fields) => unknown): Wrong => ({
  error: (code, message) => ({
    status: code,
    body: change({ code: `e${code}`, message, status: code }),
  }),
});

/** A service whose errors with one status have another one. */
const errorStatus = (from: number, to: number): Wrong => ({
  error: (code, text) => plainRules.error(code === from ? to : code, text),
});

/** A service that changes each Link to a next page. */
const linkedAs = (change: (link: string) => string): Wrong => ({
  list: pageOf,
  reply(right, request) {
    const reply = linked(right, request);
    const { Link } = reply.fields ?? {};
    return Link === undefined ? reply : { ...reply, fields: { Link: change(Link) } };
  },
});

/** A service that leaves out each eighth pet on some pages. */
const skipping = (isFaulty: (query: ListQuery) => boolean): Wrong => ({
  list: (pets, query) =>
    pageOf(isFaulty(query) ? pets.filter((_pet, index) => index % 8 !== 7) : pets, query),
  reply: linked,
});

/** A service that answers requests whose target has this form with an error. */
const asked = (form: RegExp, status: number): Wrong => ({
  reply: (right, { url = '' }) => (form.test(url) ? plainRules.error(status, 'No') : right),
});

/** A service that answers requests whose header field has this form with an error. */
const inField = (field: string, form: RegExp, status: number): Wrong => ({
  reply: (right, { headers }) =>
    form.test(String(headers[field] ?? '')) ? plainRules.error(status, 'No') : right,
});

const withoutChunks: Wrong = {
  decode: (bytes, { headers }) => (headers['content-length'] === undefined ? '' : `${bytes}`),
};

/** A service with a page of HTML for the errors of some requests. */
const html = (isHtml: (reply: Reply, url: string) => boolean): Wrong => ({
  reply: (right, { url = '' }) =>
    isHtml(right, url)
      ? { ...right, body: '<h1>Error</h1>', fields: { 'Content-Type': 'text/html' } }
      : right,
});

/** Returns a function whose promise resolves when it is called for the last of so many. */
function meeting(count: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === count) for (const goOn of waiting.splice(0)) goOn();
    });
}

/** Returns a rule that gives out ids in turn, up to the last one, however many pets are kept. */
function countUp(lastId = 2n ** 62n): Rules['newId'] {
  let id = 0n;
  return () => (id = (id % lastId) + 1n);
}

/** A service that stores another pet for a replay. */
const replaying = (replay: (first: Reply, stored: Pet) => Reply): Wrong => ({
  newId: countUp(),
  replayed(first, pets) {
    const stored = { ...(first.body as Pet), id: (first.body as Pet).id + 1000n };
    plainRules.keep(pets, stored);
    return replay(first, stored);
  },
});

const hasStatus = ({ status }: NewPet): boolean => status !== undefined;

function refuse(): never {
  throw new Invalid('It is refused');
}

/** The plain service returns 500 for a RangeError. */
function fail(): never {
  throw new RangeError('It fails');
}

/** More pets than a list can have: the checks that need so many need not add them. */
const firstPets: Rules['firstPets'] = () =>
  new Map(
    Array.from({ length: 110 }, (_, index) => BigInt(index + 1)).map((id) => [
      id,
      { id, name: 'Older', categoryId: 1n },
    ]),
  );

const { readLimit, list, isCategory, isStatus, readNewPet } = plainRules;
const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');

export const FAULTS: Readonly<Record<string, Wrong>> = {
  '4.1/limit-default a default of 10': { readLimit: (text) => readLimit(text ?? '10') },
  '8/default no default with a filter': {
    list: (pets, query) =>
      list(pets, query.isDefault && query.status !== undefined ? { ...query, limit: 100 } : query),
  },
  '4.1/limit-maximum at most 50 in a list': {
    firstPets,
    readLimit: (text) => Math.min(readLimit(text), 50),
  },
  '8/limit limit=100 refused': { firstPets, ...except('readLimit', '100', refuse) },
  '4.1/limit-minimum limit=1 refused': except('readLimit', '1', refuse),
  '4.1/limit limit ignored': { readLimit: () => 20 },
  '8/never-more limit=101 accepted': { firstPets, ...except('readLimit', '101', () => 101) },
  '8/never-more limit=1000 accepted': { firstPets, ...except('readLimit', '1000', () => 1000) },
  '8/never-more limit=0 is no limit': { firstPets, ...except('readLimit', '0', () => 1e9) },
  '4.1/filter the filter is ignored': { list: (pets, query) => pets.slice(0, query.limit) },
  '4.1/filter-limit the filter is ignored with a limit': {
    list: (pets, query) => list(pets, query.isDefault ? query : { ...query, status: undefined }),
  },
  '4.1/filter-limit limit counts before the filter': listing((pets, { limit }) =>
    pets.slice(0, limit),
  ),
  '3/status-filter the filter sold finds pending, too': {
    list: (pets, query) => {
      const isPending = (one: unknown): boolean => query.status === 'sold' && one === 'pending';
      return pets.filter((pet) => isPending(pet.status) || list([pet], query).length > 0);
    },
  },
  '4.1/complete the newest pet is not listed yet': listing((pets) => pets.slice(0, -1)),
  '4.1/complete pets without a status are not listed': listing((pets) => pets.filter(hasStatus)),
  '4.1/once the first pet is listed twice': listing((pets) => [...pets.slice(0, 1), ...pets]),
  '4.1/pages a page leaves out the pet after the page before': skipping(({ page }) => page > 0),
  '4.1/pages-filter a Link to the next page loses the filter': linkedAs((link) =>
    link.replace(/status=\w+&?/, ''),
  ),
  '4.1/pages-filter a page of a filtered list leaves out a pet': skipping(
    ({ page, status }) => page > 0 && status !== undefined,
  ),
  '4.1/pages-address a Link leads to the host behind the proxy': linkedAs((link) =>
    link.replace('<', '<http://backend:3000'),
  ),
  '4.1/pages-address a Link loses the prefix of the proxy': linkedAs((link) =>
    link.replace('/v1/', '/'),
  ),
  'decisions/last-page the last page has a Link': {
    list: pageOf,
    reply: (right, { url = '' }) =>
      Array.isArray(right.body) ? { ...right, fields: { Link: linkAfter(url) } } : right,
  },
  '4.1/list a list is 206': { listed: (pets) => ({ status: 206, body: pets }) },
  '4.1/empty an empty list is null': {
    listed: (pets) => ({ status: 200, body: pets.length === 0 ? null : pets }),
  },
  '2/pets-array a list is an object': { listed: (pets) => ({ status: 200, body: { pets } }) },
  '2/name-spaces a name is trimmed': name((text) => text.trim()),
  '2/name-lines CRLF in a name becomes LF': name((text) => text.replaceAll('\r\n', '\n')),
  '2/name-unicode a name is composed (NFC)': name((text) => text.normalize('NFC')),
  '2/name-unicode a name is decomposed (NFD)': name((text) => text.normalize('NFD')),
  '2/name-markup a name is escaped as HTML': name((text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
  ),
  '2/name-markup markup is removed from a name': name((text) => text.replace(/<[^>]*>/g, '')),
  '2/name-escapes a name is percent-decoded': name((text) => text.replaceAll('%20', ' ')),
  '2/name-plane a name loses characters beyond 16 bits': name((text) =>
    text.replace(/[\u{10000}-\u{10ffff}]/gu, '?'),
  ),
  '2/name-case a name gets a capital': name(([first = '', ...rest]) =>
    [first.toUpperCase(), ...rest].join(''),
  ),
  '2/name-300 a name is cut at 255': name((text) => text.slice(0, 255)),
  '2/name-1000 a name is cut at 999': name((text) => text.slice(0, 999)),
  '2/name-300 a name is cut at 100 in lists': listedAs((pet) => {
    return { ...pet, name: pet.name.slice(0, 100) };
  }),
  '2/name-number a name of digits is a number': name((text) =>
    /^[0-9]+$/.test(text) ? BigInt(text) : text,
  ),
  '2/category-zero categoryId 0 counts as missing': except('isCategory', 0n, () => false),
  '2/category-negative a negative categoryId is refused': {
    isCategory: (value) => (isCategory(value) ? (value as bigint) >= 0n : false),
  },
  '2/category-32-bits categoryId wraps at 32 bits': returned((id) => BigInt.asIntN(32, id)),
  '2/category-53-bits categoryId is rounded to a double': returned((id) => BigInt(Number(id))),
  '2/category-53-bits categoryId is rounded to a double in lists': listedAs((pet) => {
    return { ...pet, categoryId: BigInt(Number(pet.categoryId)) };
  }),
  '2/category-64-bits categoryId ends one below 2^63': returned((id) =>
    id === 2n ** 63n - 1n ? id - 1n : id,
  ),
  '2/category-beyond categoryId wraps beyond int64': {
    isCategory: (value) => (typeof value === 'bigint' ? true : Number.isInteger(value)),
  },
  '2/category-type categoryId may be a string': {
    readNewPet: ({ name, categoryId: id, status }) => {
      const categoryId = typeof id === 'string' && /^[0-9]+$/.test(id) ? BigInt(id) : id;
      return { name, categoryId, status } as NewPet;
    },
  },
  '2/category-required categoryId may be missing': filled({ categoryId: 0n }),
  '2/name-type name may be null': except('isName', null, () => true),
  '2/name-required name may be missing': filled({ name: '' }),
  '2/status-others any status will do': { isStatus: (value) => typeof value === 'string' },
  '2/status-values status pending is refused': except('isStatus', 'pending', () => false),
  '2/status-optional status is required': {
    readNewPet: (members) => (members['status'] === undefined ? refuse() : readNewPet(members)),
  },
  '2/pet-carries a status that was not set is null': {
    show: (pet) => ({ ...pet, status: pet.status ?? null }),
  },
  '2/status-null a status of null is accepted, and returned': except('isStatus', null, () => true),
  '3/status-set status is always available at first': {
    keep: (pets, pet) => plainRules.keep(pets, { ...pet, status: pet.status && 'available' }),
  },
  '2/id-unique the same id for every pet': { newId: () => 1n },
  "2/id-own a client's id is adopted": {
    newId: (pets, sent) => (typeof sent === 'bigint' ? sent : plainRules.newId(pets, sent)),
  },
  '2/id-concurrent pets that are added concurrently share an id': {
    pause: meeting(2),
  },
  'decisions/new-ids ids do not ascend': { newId: ({ size }) => BigInt(size + ((size * 3) % 7)) },
  'decisions/digits an id is written 1.0': { reply: thirdDecisions.reply! },
  '2/pet-fields an id is a string': { show: (pet) => ({ ...pet, id: String(pet.id) }) },
  '4.2/pet an acknowledged pet is not stored': { keep: () => undefined },
  '4.2/created creation is 200': { created: (pet) => ({ status: 200, body: pet }) },
  '4.2/pet the Pet of a creation has no id': {
    created: (pet) => plainRules.created({ ...(pet as Fields), id: undefined }),
  },
  '4.2/body-required a body is not needed': except('readBody', '', () => ({
    name: '',
    categoryId: 1n,
  })),
  '4.2/any-order whitespace around JSON is refused': {
    readBody: (text) => (text === text.trim() ? plainRules.readBody(text) : refuse()),
  },
  '4.2/charset application/json with a charset is 415': inField('content-type', /charset/, 415),
  '4.2/location a Location leads to the host behind the proxy': {
    created: (pet) => ({
      ...plainRules.created(pet),
      fields: { Location: 'http://backend:3000/v1/pets/1' },
    }),
  },
  '4.2/unreadable invalid UTF-8 is a failure': {
    decode: (bytes) => (isUtf8(bytes) ? bytes.toString() : fail()),
  },
  '4.2/unreadable 30,000 brackets are a failure': {
    readBody: (text) => (/^\[{9}/.test(text) ? fail() : plainRules.readBody(text)),
  },
  '4.1/status-any an unknown status is a failure': except('readStatus', 'lost', fail),
  '4.1/limit-any a NUL in a limit is a failure of the database': except('readLimit', '\0', fail),
  '4.1/limit-any a limit that is given twice is a failure': asked(/limit=1&limit=2/, 500),
  '4.1/other-any a query that is not UTF-8 is a failure': asked(/%ff/, 500),
  '4/decoded a query is not percent-decoded': asked(/%35/, 400),
  '4/decoded a petId is not percent-decoded': asked(/%3[0-9]/, 404),
  '4.2/name-any a lone surrogate in a name is a failure': {
    isName: (value) =>
      typeof value === 'string' && /\p{Surrogate}/u.test(value)
        ? fail()
        : typeof value === 'string',
  },
  '4.2/category-any a categoryId beyond a double is a failure': {
    isCategory: (value) => (value === Infinity ? fail() : isCategory(value)),
  },
  '4.2/status-any a list as a status is a failure': {
    isStatus: (value) => (Array.isArray(value) ? fail() : isStatus(value)),
  },
  '4.2/other-any an unknown member that is null is a failure': {
    readNewPet: (members) => (members['conformance'] === null ? fail() : readNewPet(members)),
  },
  '4.2/id-any an id of 5,000 digits is a failure': {
    newId: (pets, sent) =>
      `${String(sent)}`.length > 4300 ? fail() : plainRules.newId(pets, sent),
  },
  '5/any a wrong Authorization is a failure': {
    hasKey: (given = '') => (given.includes('\xff') ? fail() : given === RIGHT),
  },
  '4.2/type-any a Content-Type that cannot be read is a failure': inField(
    'content-type',
    /^;$/,
    500,
  ),
  '4.2/accept-any an Accept that cannot be read is a failure': inField('accept', /^"$/, 500),
  '4.2/retry-any a long idempotency key is a failure': inField('idempotency-key', /^.{256}/, 500),
  '4/rest a body in chunks is taken for the next request': {
    front: (port) => leavingBodies(port, (header) => /\ntransfer-encoding:/i.test(header)),
  },
  '2/name-empty an empty name comes back as null': name((text) => text || null),
  '4.2/no-number NaN is accepted': {
    readBody: (text) => plainRules.readBody(text.replace(/:NaN\b/, ':0')),
  },
  '4.2/charset Application/JSON is 415': inField('content-type', /^A/, 415),
  '4.2/in-chunks a body in chunks counts as empty': withoutChunks,
  '4.2/once each create stores two pets': {
    keep(pets, pet) {
      plainRules.keep(pets, pet);
      plainRules.keep(pets, { ...pet, id: pet.id + 1n });
    },
  },
  '4.2/stays each pet is forgotten when twenty others came, but not the first 130': {
    newId: countUp(),
    keep(pets, pet) {
      plainRules.keep(pets, pet);
      if (pet.id > 150n) pets.delete(pet.id - 20n);
    },
  },
  '4.2/stays ids begin again after 150, and replace older pets': { newId: countUp(150n) },
  '4.2/stays the lists lose the names when there are more than 200 pets': listing((pets) =>
    pets.map((pet) => (pets.length > 200 ? { ...pet, name: '' } : pet)),
  ),
  '4.2/stays the lists forget what is older than the newest 150': {
    list: (pets, query) => pageOf(pets.slice(-150), query),
    reply: linked,
  },
  'decisions/replay a replay stores another pet': replaying((first) => first),
  'decisions/no-utf8 invalid UTF-8 is replaced': { decode: (bytes) => bytes.toString() },
  'decisions/replay a key is ignored': replaying((first, body) => ({ ...first, body })),
  'http/chunked a chunked body is ignored': withoutChunks,
  'decisions/key-reused an idempotency key is used for another pet': { reused: (first) => first },
  '4.2/invalid an invalid body is 422': errorStatus(400, 422),
  '4.2/not-added a refused pet is added': {
    isStatus: () => true,
    created(pet) {
      const isKnown = isStatus((pet as Fields)['status'] ?? 'sold');
      return isKnown ? plainRules.created(pet) : plainRules.error(400, 'No such status');
    },
  },
  '4.3/found no pet is found': { find: () => undefined },
  '4.3/not-found a missing pet is 200': errorStatus(404, 200),
  '4.3/no-id a petId of letters is a failure of the database': {
    reply: (right, { url = '' }) =>
      /pets\/.*[^0-9]/.test(url) && right.status === 404
        ? plainRules.error(500, 'invalid input syntax for type bigint')
        : right,
  },
  '4.3/whole-id a petId is read up to the first letter': {
    find: (pets, petId) => plainRules.find(pets, /^[0-9]+/.exec(petId)?.[0] ?? ''),
  },
  '9/until-removal the removal came early': { isRemoved: () => true },
  '9/removal the removal never comes': { now: () => AFTER_REMOVAL_MS, isRemoved: () => false },
  '5/required no key is needed': open(/^/),
  '4.2/unauthorized POST needs no key': open(/^POST/),
  '4.1/unauthorized a list needs no key': open(/^GET .*pets(\?|$)/),
  '4.3/unauthorized a pet needs no key': open(/pets\//),
  '5/invalid a key may be longer': { hasKey: (given = '') => given.startsWith(RIGHT) },
  '5/invalid a key may be shorter': {
    hasKey: (given = '') => (/^Bearer .{3}/.test(given) ? RIGHT.startsWith(given) : false),
  },
  '5/key-case a key is compared without regard to case': {
    hasKey: (given = '') => given.toLowerCase() === RIGHT.toLowerCase(),
  },
  '5/invalid any scheme will do': { hasKey: (given = '') => given.endsWith(` ${KEY}`) },
  '7/status a missing key is 403': errorStatus(401, 403),
  '7/error errors are text': errorBody(({ message }) => message),
  '2/error-fields errors repeat no status': errorBody(({ status: _, ...rest }) => rest),
  '7/error the status in errors is a string': errorBody((body) => ({ ...body, status: '400' })),
  '7/error errors have no code': errorBody(({ code: _, ...rest }) => rest),
  '7/error-not-listed errors that the specification does not list are text': {
    error: (code, text) =>
      text.startsWith('limit') ? { status: code, body: text } : plainRules.error(code, text),
  },
  '7/error-elsewhere an unknown path is a page of HTML': html(
    ({ status: code }, url) => code === 404 && !url.includes('pets'),
  ),
  '7/error-elsewhere an unknown method is a page of HTML': html(({ status: code }) => code === 405),
  'decisions/error-members an Error has four members': errorBody((body) => ({ ...body, id: 7n })),
  'http/allow OPTIONS is 405': {
    options: (allow) => ({ ...plainRules.error(405, 'No'), fields: { Allow: allow } }),
  },
  'http/head HEAD is 405': {
    reply: (right, { method }) => (method === 'HEAD' ? { ...right, status: 405 } : right),
  },
  'http/head a response to HEAD has a body': {
    end: (response, text) =>
      void (response.req.method === 'HEAD'
        ? response.socket?.end(
            `HTTP/1.1 ${response.statusCode} X\r\nConnection: close\r\n\r\n${text}`,
          )
        : response.end(text)),
  },
  '4/json JSON is sent as text/plain': {
    reply: (right) => ({ ...right, fields: { 'Content-Type': 'text/plain' } }),
  },
  '4/error-json errors are sent as application/problem+json': {
    reply: (right) =>
      right.status < 400
        ? right
        : { ...right, fields: { 'Content-Type': 'application/problem+json' } },
  },
};

/** What the report must show of some faults, as the evidence. */
export const EVIDENCE: Readonly<Record<string, RegExp>> = {
  // Not the later response that the first one is compared with.
  '2/category-zero categoryId 0 counts as missing':
    /^(?![^]*"categoryId":1914638257)[^]*expected 0 accepted, as 1914638257 is[^]*"categoryId":0\D[^]*\n {2}received {2}status 400\n/,
  'http/head HEAD is 405': /\n {2}sent {6}HEAD \/v1\/pets\n/,
  // The page that should have the missing pet.
  '4.1/pages a page leaves out the pet after the page before':
    /received \[ 8 \][^]*\n {2}sent {6}GET \/v1\/pets\?limit=7&page=1\n/,
  // The second create, not one that is sent after it.
  'decisions/replay a key is ignored':
    /\n {2}sent {6}POST [^]*\n.*idempotency-key: [^]*Kit [a-z]{8}"/,
  'http/chunked a chunked body is ignored': /\n.*transfer-encoding: chunked\n/,
  // Each cause with its cases, in order.
  '7/error the status in errors is a string':
    /^.* 400, .*\n {2}in {8}missing fields, invalid values\n[^]*\n {2}the status.* 401, .*\n {2}in {8}list[^]* 404, /,
  '2/status-others any status will do': /\n {2}in {8}\{"status":"Available"\}, .*…\n/,
  // The case: pets without a status.
  '4.1/complete pets without a status are not listed': /\n {2}in {8}none\n/,
};
