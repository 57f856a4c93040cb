/**
 * How this project decided what SPEC.md leaves open, for services that adopt it.
 *
 * One principle decides all: refuse exactly what it declares invalid, and never change what a
 * client sent. A decision is judged by status and code, never by the words of a message. What only
 * this service does (`after`, its limits, its messages) is tested in `test/`.
 */

import assert from 'node:assert/strict';
import { stringifyExactJson } from '../../../core/base/exact-json.ts';
import { declare, each, NotObserved, type Check, type Level } from '../check.ts';
import {
  addInTurn,
  assertAddsOnly,
  assertEqual,
  assertErrorObject,
  assertPet,
  assertStatus,
  isRefused,
  listOf,
  pagesFrom,
  removalIn,
} from '../expect.ts';
import { fieldsOf, idsOf, type Send, type TestClient } from '../test-client.ts';

/** A decision about refused requests, by its status and its code. */
type Refusal = readonly [
  title: string,
  status: number,
  code: string,
  cases: readonly string[],
  send: Send,
];

/** Returns two checks of each refusal, so that a different code does not hide a wrong status. */
function declareRefusals(level: Level, refusals: readonly Refusal[]): readonly Check[] {
  return refusals.flatMap(([title, status, code, cases, send]) =>
    declare(level, {
      [`${title}: ${status}`]: each(cases, async (own, item) => {
        const response = await send(own, item);
        assertStatus(response, status);
        assertErrorObject(response);
      }),
      [`${title.replace(' ', '-code ')}: ${code}`]: each(cases, async (own, item) => {
        const response = await send(own, item);
        if (!isRefused(response.status)) throw new NotObserved('the service does not refuse it');
        const isRemoved = send === getPet && removalIn(response) !== 'to come';
        if (isRemoved) throw new NotObserved('that day is past');
        assertEqual(fieldsOf(response)['code'], code, 'the code');
      }),
    }),
  );
}

const REX = '{"name":"Conformance Rex","categoryId":1}';
const withCategory = (literal: string): string => `{"name":"Rex","categoryId":${literal}}`;
const getQuery: Send = (client, query) => client.get(`/pets?${query}`);
const getPet: Send = (client, petId) => client.get(`/pets/${petId}`);
const get: Send = (client, path) => client.get(path);
const post: Send = (client, body) => client.post(body);

const NO_LIMIT = [
  ...['limit=', 'limit', 'limit=abc', 'limit=1.5', 'limit=5.0', 'limit=1e1', 'limit=0x10'],
  ...['limit=+5', 'limit=%2B5', 'limit=%205', 'limit=5%20', 'limit=5%0A', 'limit=-5', 'limit=0'],
  ...['limit=-0', 'limit=00', 'limit=101', 'limit=1,2', 'limit=%D9%A5', 'l%69mit=0'],
  ...['limit=1000000000000000000000000000005', 'limit=5&limit=6', 'limit=5&limit'],
];
const NO_FILTER = [
  ...['status=', 'status', 'status=lost', 'status=Sold', 'status=%20sold', 'status=sold+'],
  ...['status=sold,pending', 'status=null', 'status=sold&status=sold', 'status=%00'],
];
const NO_PET_ID = [
  ...['x', '1x', '1.0', '1e0', '+1', '%2B1', '0x1', '--1', '-', '1,2', 'null', '%201', '1%20'],
  ...['1%0A', '1%00', '%D9%A1', '1%2F', '%25', '0', '-1', '9223372036854775808'],
];
const NOT_PROVIDED = ['/store/orders', '/store', '/categories', '/events', '/webhooks'];
const NO_JSON = [
  ...[' ', REX.slice(0, -1), `${REX}}`, `${REX}1`, `\ufeff${REX}`, `${REX.slice(0, -1)},}`],
  ...["{'name':'Rex','categoryId':1}", '{name:"Rex","categoryId":1}', 'name=Rex', '<pet/>'],
  '['.repeat(30_000),
  ...['01', '+1', '1.', '.5', '0x1', 'NaN', '"\t"', '"\\x41"', '[1,]', '1// x'].map(withCategory),
];
/** Characters are bytes. */
const NO_UTF8 = ['\xff', '\xc0\x80', '\xed\xa0\x80', '\xe2\x82'].map((name) => {
  return `{"name":"${name}","categoryId":1}`;
});
const NO_INTEGER = [
  ...['1.5', '1e-1', '5e-324', '1e400', '10e-2', '1e19', '9223372036854775808'],
  ...['4503599627370497.5', '9007199254740993.5', '9223372036854775807.5'],
];
const NO_PET = [
  ...['[]', '"x"', '5', 'null', 'true', `[${REX}]`, '{"name":"Rex","name":5,"categoryId":1}'],
  ...NO_INTEGER.map(withCategory),
];

const postBytes: Send = (client, bytes) => client.post(Buffer.from(bytes, 'latin1'));

/** Sends two bodies with the same new idempotency key. Resolves with both responses. */
async function postTwice(client: TestClient, body: string, firstBody = REX) {
  const headers = { 'Idempotency-Key': `conformance-${Date.now()}-${Math.random()}` };
  const first = await client.post(firstBody, headers);
  if (isRefused(first.status)) throw new NotObserved('the service refuses Idempotency-Key');
  return [first, await client.post(body, headers)] as const;
}

const postAgain: Send = async (client, body) => (await postTwice(client, body))[1];
const OTHER_PETS = [REX.replace('Rex', 'Mia'), REX.replace(':1}', ':2}')];

const refusals = declareRefusals('decisions', [
  ['limit limit invalid or given twice', 400, 'invalid_parameter', NO_LIMIT, getQuery],
  ['status status unknown or given twice', 400, 'invalid_parameter', NO_FILTER, getQuery],
  ['pet-id petId that is not an int64', 404, 'not_found', NO_PET_ID, getPet],
  ['not-provided GET /store/orders and the like', 404, 'unknown_path', NOT_PROVIDED, get],
  ['no-json A body that is not one JSON text', 400, 'invalid_json', NO_JSON, post],
  ['no-utf8 A body that is not UTF-8', 400, 'invalid_json', NO_UTF8, postBytes],
  [
    'key-reused An Idempotency-Key with another pet',
    422,
    'idempotency_key_reused',
    OTHER_PETS,
    postAgain,
  ],
  ['no-pet JSON that is not a NewPet, numbers exact', 400, 'invalid_body', NO_PET, post],
]);

/** Names as JSON strings. */
const NAMES: readonly [what: string, json: string][] = [
  ['the empty one', '""'],
  ['NUL as an escape', '"a\\u0000b"'],
  ['lone surrogates', '"\\ud800 \\udc00\\ud800"'],
  ['characters of two and three bytes', '"ÿ€\ufffd\u2028\u2029\ufeff"'],
  ['every short escape', '"\\"\\\\\\/\\b\\f\\n\\r\\t"'],
  ['the name of a prototype', '"__proto__"'],
  ['60,000 letters', `"${'n'.repeat(60_000)}"`],
];

const EXACT: readonly [literal: string, value: bigint][] = [
  ['1.0', 1n],
  ['1e2', 100n],
  ['100e-2', 1n],
  ['-0', 0n],
  ['0.9007199254740993e16', 9007199254740993n],
  ['9223372036854775807.000', 2n ** 63n - 1n],
  ['-92233720368547758080e-1', -(2n ** 63n)],
];

const UNKNOWN = ['"x":null', '"x":[{"id":[]}]', '"id":"x"', '"id":-1', '"Name":5', '"":0'];

/** Each is a valid NewPet with the name Rex and the category 1. */
const SAME: readonly string[] = [
  ...['{"name":5,"name":"Rex","categoryId":1}', '{"name":"Rex","categoryId":"x","categoryId":1}'],
  ...UNKNOWN.map((member) => `{${member},"name":"Rex","categoryId":1}`),
];

function assertField(headers: Headers, name: string, pattern: RegExp): void {
  const value = headers.get(name) ?? '';
  assert.match(value, pattern, `${name}: expected a match of ${pattern}, received '${value}'`);
}

const onPets = declare('decisions', {
  'other-parameters other query parameters: ignored': each(
    ['x=1', 'Limit=0', 'limit[]=0', 'status[]=x', '=', '&&', '%20limit=0'],
    async (own, query) => {
      await own.havePets(3);
      const expected = idsOf(await listOf(own));
      assertEqual(idsOf(await listOf(own, `?${query}`)), expected, 'the ids in the list');
    },
  ),

  'order order of the list: ascending id': async (client) => {
    await client.havePets(9);
    const ids = idsOf(await listOf(client, '?limit=100')) as readonly bigint[];
    const ascending = [...ids].sort((a, b) => (a < b ? -1 : 1));
    assertEqual(ids, ascending, 'the ids in the list');
  },

  'page-links pagination: Link rel="next" keeps limit and status': async (client) => {
    await client.havePets(9, 'sold');
    const lengths: number[] = [];
    for await (const page of pagesFrom(client, '/pets?status=sold&limit=4', 2)) {
      lengths.push(page.length);
    }
    assertEqual(lengths, [4, 4], 'the lengths of two pages');
  },

  'last-page pagination: the last page has no Link': async (client) => {
    let length = 100;
    for await (const pets of pagesFrom(client, '/pets?limit=100', 50)) {
      // A page that is not full is the last one.
      assertEqual(length, 100, 'the length of a page that has a Link to a next page');
      length = pets.length;
    }
    if (length === 100) throw new NotObserved('no list has room for all pets');
  },

  'names limits on name: none, and it comes back exactly': each(NAMES, async (own, [, json]) => {
    const { pet } = await own.add(`{"name":${json},"categoryId":1}`);
    assertEqual(pet['name'], JSON.parse(json), 'the name');
  }),
  'int64 int64: exact in and out, and each one is accepted as a categoryId': each(
    EXACT,
    async (own, [literal, value]) =>
      assertPet((await own.add(withCategory(literal))).pet, { categoryId: value }),
  ),
  'same-fields unknown fields: ignored; duplicate member: the last wins': each(
    SAME,
    async (own, body) => {
      const { id, pet } = await own.add(body);
      assertEqual(pet, { id, name: 'Rex', categoryId: 1n }, 'the Pet');
    },
  ),
  'status-omitted status omitted at creation: stays absent': async (client) => {
    const members = Object.keys((await client.add(REX)).pet).sort();
    assertEqual(members, ['categoryId', 'id', 'name'], 'the members of the Pet');
  },
  'new-ids new ids: greater than all before': async (client) => {
    const ids = await addInTurn(client, 5);
    const isAscending = ids.every((id, index) => index === 0 || id > ids[index - 1]!);
    assert.ok(isAscending, `expected ascending ids, not ${ids.join()}`);
  },
  'digits int64 in a response: only digits, as 1, not 1.0 or 1e0': async (client) => {
    const { response } = await client.add(REX);
    const [other] = /"(id|categoryId)"\s*:\s*-?[0-9]+[.eE][^,}]*/.exec(response.text) ?? [];
    assertEqual(other, undefined, 'an integer that is not digits');
  },
  'error-members an Error has three members': async (client) => {
    const members = Object.keys(fieldsOf(await client.post({}))).sort();
    assertEqual(members, ['code', 'message', 'status'], 'the members of the Error');
  },
  'removal removal: until then Deprecation, Sunset and successor': async (client) => {
    const response = await client.get(`/pets/${(await client.add(REX)).id}`);
    if (removalIn(response) !== 'to come') throw new NotObserved('that day is past');
    const { headers } = response;
    assertField(headers, 'Deprecation', /^@[0-9]+$/);
    assertEqual(Date.parse(headers.get('Sunset') ?? ''), Date.UTC(2030, 11, 5), 'Sunset');
    assertField(headers, 'Link', /rel="?successor-version/);
  },
  'replay Idempotency-Key: the same request twice adds one pet': (client) =>
    assertAddsOnly(client, async (name) => {
      const body = stringifyExactJson(client.newPet({ name, status: 'pending' }));
      const [first, second] = await postTwice(client, body, body);
      assertStatus(second, 201);
      const pet = fieldsOf(first);
      assertEqual(fieldsOf(second), pet, 'the pet of the second response');
      return [pet['id']];
    }),
});

// HTTP itself: authentication first, paths, methods, media types and header fields.

const WITHOUT_KEY = ['GET /nothing', 'GET /pets?limit=0', 'DELETE /pets', 'POST /pets {'];
const PATHS = ['', '/', '/pet', '/Pets', '/pets/', '//pets', '/pets/1/2', '/pets.json', '/pets%20'];
const BROKEN = ['/pets/%', '/pets/%zz', '/pets/%C3', '/pets/%C0%80', '/pets?a=%zz', '/pets?%=1'];
const METHODS = ['PUT /pets', 'PATCH /pets', 'DELETE /pets'];
const TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/jsonx'];

const askWithoutKey: Send = (client, line) => client.ask(line, { Authorization: '' });
const ask: Send = (client, line) => client.ask(line);
const postAs: Send = (client, type) => client.post(REX, { 'Content-Type': type });

const httpRefusals = declareRefusals('http', [
  ['no-key-first Authentication comes first', 401, 'unauthorized', WITHOUT_KEY, askWithoutKey],
  ['paths A path that does not match exactly', 404, 'unknown_path', PATHS, get],
  ['broken-encoding Broken percent-encoding', 400, 'malformed_request', BROKEN, get],
  ['method Another method', 405, 'method_not_allowed', METHODS, ask],
  ['other-type Another Content-Type', 415, 'unsupported_media_type', TYPES, postAs],
]);

const ALLOW: readonly [line: string, status: number, allow: string][] = [
  ['PUT /pets', 405, 'GET, HEAD, OPTIONS, POST'],
  ['OPTIONS /pets', 204, 'GET, HEAD, OPTIONS, POST'],
  ['DELETE /pets/1', 405, 'GET, HEAD, OPTIONS'],
];

const http = declare('http', {
  "scheme The scheme's name is case-insensitive": each(
    ['bearer', 'BEARER', 'bEaReR'],
    async (own, scheme) => {
      const Authorization = `${scheme} ${own.target.key}`;
      assertStatus(await own.send('GET', '/pets', { Authorization }), 200);
    },
  ),
  'challenge 401 carries WWW-Authenticate': async (client) => {
    const { headers } = await client.ask('GET /pets', { Authorization: '' });
    assertField(headers, 'WWW-Authenticate', /^Bearer\b/i);
  },
  'allow 405 and OPTIONS carry Allow': each(ALLOW, async (own, [line, status, expected]) => {
    const response = await own.ask(line);
    assertStatus(response, status);
    const allow = (response.headers.get('Allow') ?? '').split(/, */).sort().join(', ');
    assertEqual(allow, expected, 'Allow');
  }),
  'head HEAD wherever GET is': each(['/pets', '/pets?limit=1', '/pets/0'], async (own, path) => {
    const expected = (await own.get(path)).status;
    // HEAD comes last, since the last request is the evidence.
    const { status, text } = await own.head(path);
    assertEqual([status, text], [expected, ''], 'status and body');
  }),
  'chunked A body may be sent in chunks': async (client) =>
    assertStatus(await client.postInChunks(REX), 201),
  'location 201 carries Location, which leads to the pet': async (client) => {
    const { id, response } = await client.add(REX);
    const location = new URL(
      response.headers.get('Location') ?? '',
      `${client.target.baseUrl}/pets`,
    );
    assert.ok(location.pathname.endsWith(`/v1/pets/${id}`), 'expected a Location of the pet');
  },
});

export const decisions: readonly Check[] = [refusals, onPets, httpRefusals, http].flat();
