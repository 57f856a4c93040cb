/**
 * What the interface leaves open, and what this project decided there.
 *
 * The rule behind it all: refuse exactly what the interface declares invalid, and nothing more;
 * never change what a client sent. What needs a clock or a limit of its own is not among these.
 */

import assert from 'node:assert/strict';
import { decision, NotObserved, type Check } from '../check.ts';
import {
  fieldsOf,
  idsOf,
  REX,
  type Client,
  type HeaderFields,
  type ServiceResponse,
} from '../client.ts';
import { assertError, atOnce, nameOf, refusal } from '../codes.ts';
import { assertStatus, isRefused, STATUSES } from '../expect.ts';

const NO_LIMIT = [
  ...['limit=', 'limit', 'limit=abc', 'limit=1.5', 'limit=5.0', 'limit=1e1', 'limit=0x10'],
  ...['limit=+5', 'limit=%2B5', 'limit=%205', 'limit=5%20', 'limit=5%0A', 'limit=-5'],
  ...['limit=0', 'limit=-0', 'limit=00', 'limit=101', 'limit=1,2', 'limit=NaN', 'limit=Infinity'],
  ...['limit=%D9%A5', 'limit=5_0', 'limit=1000000000000000000000000000005', 'l%69mit=0'],
  ...['limit=5&limit=6', 'limit=5&limit=5', 'limit=5&limit=', 'limi%74=5&limit=5'],
];
const NO_FILTER = [
  ...['status=', 'status', 'status=lost', 'status=Sold', 'status=SOLD', 'status=%20sold'],
  ...['status=sold+', 'status=sold,pending', 'status=null', 'status=%22sold%22', 'status=%00'],
  ...['status=sold&status=sold', 'status=sold&status=pending', 'status=sold&st%61tus=pending'],
];
const NO_AFTER = [
  ...['', 'x', '1.0', '1e2', '+1', '%2B1', '%201', '0x1', '9223372036854775808'],
  ...['-9223372036854775809', '9'.repeat(30), '1&after=2', '-'],
];
const IGNORED = [
  ...['x=1', 'Limit=0', 'limit[]=0', 'status[]=x', 'page=2', 'offset=1', '=', '=0', '&&', 'x'],
  ...['x=1&x=2', '?limit=0', 'a=b=c', '%20limit=0', '__proto__=1', 'limit=003', 'limit=%33'],
];
const NO_PET_ID = [
  ...['x', '1x', '1.0', '1e0', '+1', '%2B1', '0x1', '--1', '-', '1,2', '1;a=b', 'null'],
  ...['%201', '1%20', '1%0A', '1%00', '%D9%A1', '%2E%2E%2F1', '1%2F', '%25', '0', '-1'],
  ...['9223372036854775808', '-9223372036854775809', '1'.repeat(30), '9'.repeat(5000)],
];
const NOT_PROVIDED = [
  ...['/store/orders', '/store', '/store/orders/1', '/categories', '/categories/1'],
  ...['/events', '/webhooks', '/pets/1/category', '/nothing'],
];
const NO_KEYS = ['', 'x'.repeat(300), 'a b', 'é'];

const getQuery = (client: Client, query: string): Promise<ServiceResponse> =>
  client.get(`/pets?${query}`);

const refusals: readonly Check[] = [
  refusal({
    name: 'limit',
    sentence: 'limit that is none, or twice: 400, not clamped',
    code: 'invalid_parameter',
    cases: NO_LIMIT,
    send: getQuery,
    message: /^limit /,
  }),
  refusal({
    name: 'status',
    sentence: 'status unknown, empty, or given twice: 400',
    code: 'invalid_parameter',
    cases: NO_FILTER,
    send: getQuery,
    message: /^status /,
  }),
  refusal({
    name: 'after',
    sentence: 'pagination: an after that is no int64 is 400',
    code: 'invalid_parameter',
    cases: NO_AFTER,
    send: (client, after) => client.get(`/pets?after=${after}`),
    message: /^after /,
  }),
  refusal({
    name: 'pet-id',
    sentence: 'petId that is no int64: 404, as any that is lost',
    code: 'not_found',
    cases: NO_PET_ID,
    send: (client, petId) => client.get(`/pets/${petId}`),
  }),
  refusal({
    name: 'not-provided',
    sentence: 'GET /store/orders, categories, events: 404',
    code: 'unknown_path',
    cases: NOT_PROVIDED,
    send: (client, path) => client.get(path),
  }),
  refusal({
    name: 'idempotency-key',
    sentence: 'Idempotency-Key that is no key: 400',
    code: 'invalid_idempotency_key',
    cases: NO_KEYS,
    send: (client, key) => client.post(REX, { 'Idempotency-Key': key }),
  }),
].flat();

const lists: readonly Check[] = [
  decision('other-parameters', 'other query parameters: ignored', async (client) => {
    await client.havePets(3);
    const expected = (await client.get('/pets')).text;
    for (const query of IGNORED) {
      const response = await client.get(`/pets?${query}`);
      assert.equal(response.status, 200, `${query}: the status`);
      if (!query.startsWith('limit=')) assert.equal(response.text, expected, query);
      else assert.equal(idsOf(response).length, 3, `${query}: the number of pets in the list`);
    }
    const query = '?limit=0&status=lost&after=x';
    const added = await client.send('POST', `/pets${query}`, {}, REX);
    assert.equal(added.status, 201, 'the status of a POST with a query');
    const found = await client.get(`/pets/${String(fieldsOf(added)['id'])}${query}`);
    assert.equal(found.text, added.text, 'the pet, got with a query');
  }),

  decision('order', 'order of the list: ascending id', async (client) => {
    const names = ['c', 'a', 'b', 'a'];
    await Promise.all(names.map((name) => client.add({ name, categoryId: 9 })));
    const ids = idsOf(await client.get('/pets?limit=100')) as readonly bigint[];
    assert.deepEqual(
      ids,
      [...ids].sort((a, b) => (a < b ? -1 : 1)),
      'the ids in the list',
    );
  }),

  decision('page-links', 'pagination: Link rel="next" keeps limit and status', async (client) => {
    const ids = await addMany(client, 46);
    const start = `/pets?after=${ids[0]! - 1n}`;
    assert.deepEqual(await pages(client, start), chunks(ids, 20));
    assert.deepEqual(await pages(client, `${start}&limit=7`), chunks(ids, 7));
    const sold = ids.filter((_id, i) => i % 2 === 0);
    const path = `/pets?status=sold&limit=4&after=${ids[0]! - 1n}`;
    assert.deepEqual(await pages(client, path), chunks(sold, 4));
    const next = new URL(linkOf(await client.get(path)) ?? '', 'http://host').searchParams;
    const kept = ['limit', 'status', 'after'].map((name) => next.get(name));
    assert.deepEqual(kept, ['4', 'sold', String(sold[3])], 'the query of the link');
    const head = await client.send('HEAD', path);
    assert.equal(linkOf(head), linkOf(await client.get(path)), 'the link in the answer to HEAD');
  }),

  decision('last-page', 'pagination: no link when no more pets match', async (client) => {
    const ids = await addMany(client, 6);
    const exact = await client.get(`/pets?after=${ids[0]! - 1n}&limit=6`);
    assert.deepEqual([idsOf(exact).length, linkOf(exact)], [6, undefined]);
    // One more pet follows, which the filter leaves out.
    const sold = await client.get(`/pets?after=${ids[0]}&limit=2&status=sold`);
    assert.deepEqual([idsOf(sold), linkOf(sold)], [[ids[2], ids[4]], undefined]);
  }),

  decision('greater-ids', 'pagination: after gives only pets with a greater id', async (client) => {
    const ids = await addMany(client, 2);
    assert.deepEqual(idsOf(await client.get(`/pets?after=${ids[0]}`)), [ids[1]]);
    for (const after of [ids[1], 2n ** 63n - 1n]) {
      assert.equal((await client.get(`/pets?after=${after}`)).text, '[]');
    }
    const all = await client.get('/pets');
    for (const after of ['0', '-0', '-1', '-9223372036854775808']) {
      assert.equal((await client.get(`/pets?after=${after}`)).text, all.text);
    }
  }),
];

/** The address in the response's Link to the next page, below the base address. */
function linkOf(response: ServiceResponse): string | undefined {
  const link = response.headers.get('Link');
  if (link === null) return undefined;
  const match = /^<\/v1(\/pets\?[^<>\s]*)>; rel="next"$/.exec(link);
  assert.ok(match !== null, `expected a link to the next page, not ${link}`);
  return match[1]!;
}

/** Follows the links from one page to the last. */
async function pages(client: Client, path: string): Promise<readonly (readonly unknown[])[]> {
  const found: (readonly unknown[])[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const response = await client.get(next);
    assertStatus(response, 200, next);
    found.push(idsOf(response));
    next = linkOf(response);
  }
  return found;
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => i * size);
  return starts.map((start) => all.slice(start, start + size));
}

/** Adds so many pets; every second one is sold. */
async function addMany(client: Client, count: number): Promise<readonly bigint[]> {
  const ids: bigint[] = [];
  for (let i = 0; i < count; i += 1) {
    const status = i % 2 === 0 ? 'sold' : undefined;
    ids.push((await client.add(client.newPet({ name: `Conformance ${i}`, status }))).id);
  }
  return ids;
}

/** JSON strings: each is a name, and comes back with the same value. */
const NAMES: readonly [what: string, json: string][] = [
  ['the empty one', '""'],
  ['a space', '" "'],
  ['NUL as an escape', '"a\\u0000b"'],
  ['a lone high surrogate', '"\\ud800"'],
  ['a lone low surrogate', '"x\\uDFFFy"'],
  ['surrogates in the wrong order', '"\\udc00\\ud800"'],
  ['a pair of surrogates as escapes', '"\\uD83D\\uDE00"'],
  ['3-byte and 2-byte characters', '"ÿ€\ufffd\u2028\u2029\ufeff"'],
  ['every short escape', '"\\"\\\\\\/\\b\\f\\n\\r\\t"'],
  ['characters that need no escape, escaped', '"\\u0052\\u0065\\u0078"'],
  ['DEL and C1 controls', '"\u007f\u0080\u009f"'],
  ['what looks like a pet', '"\\",\\"categoryId\\":9,\\"id\\":0}"'],
  ['the name of a prototype', '"__proto__"'],
  ['60,000 letters', `"${'n'.repeat(60_000)}"`],
  ['60,000 bytes of 4-byte characters', `"${'😀'.repeat(15_000)}"`],
  ['10,000 escapes', `"${'\\u0000'.repeat(10_000)}"`],
];

const EXACT: readonly [literal: string, value: string][] = [
  ['1.0', '1'],
  ['1e2', '100'],
  ['1E+2', '100'],
  ['100e-2', '1'],
  ['12.50e1', '125'],
  ['-0', '0'],
  ['-0.0e-5', '0'],
  ['0e999999999999', '0'],
  ['0.000e-999999999999', '0'],
  ['10000000000000000000e-1', '1000000000000000000'],
  ['0.9007199254740993e16', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  ['9223372036854775807.000', '9223372036854775807'],
  ['9.223372036854775807e18', '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['-92233720368547758080e-1', '-9223372036854775808'],
  [`1.${'0'.repeat(1000)}`, '1'],
  [`1${'0'.repeat(1000)}e-1000`, '1'],
  [`0.${'0'.repeat(1000)}7e1001`, '7'],
];

const UNKNOWN_FIELDS = [
  ...['"x":1', '"x":null', '"x":{"name":5,"categoryId":"x","status":"lost"}', '"x":[{"id":[]}]'],
  ...['"id":5', '"id":"x"', '"id":null', '"id":-1', '"id":{"name":1}', '"Name":5', '"NAME":5'],
  ...['"":0', '"\\u0000":0', '"name ":5', '"categoryID":"x"', '"category_id":"x"', '"Status":0'],
  ...['"x":12345678901234567890123456789012345678901234567890', '"x":1e400', '"x":"\\ud800"'],
  ...['"__proto__":{"status":"sold"}', '"constructor":1', '"toString":1', '"valueOf":null'],
  ...['"x":1,"x":2', `"x":${'['.repeat(2000)}${']'.repeat(2000)}`],
];

/** Each has the fields name Rex and categoryId 1, and no others but a status of sold. */
const SAME: readonly [text: string, status?: string][] = [
  ['{"name":"Tom","name":"Rex","categoryId":1}'],
  ['{"name":5,"name":"Rex","categoryId":1}'],
  ['{"name":"Tom","categoryId":1,"n\\u0061me":"Rex"}'],
  ['{"n\\u0061me":"Tom","categoryId":1,"name":"Rex"}'],
  ['{"name":"Rex","categoryId":"x","categoryId":2,"categoryId":1}'],
  ['{"name":"Rex","categoryId":1,"status":"lost","status":"sold"}', 'sold'],
  ['{"status":null,"name":"Rex","categoryId":1,"status":"sold"}', 'sold'],
  ['{"n\\u0061me":"Rex","\\u0063ategoryId":1,"\\u0073tatus":"s\\u006fld"}', 'sold'],
  ['\r\n\t {"status" : "sold",\n"categoryId":\t1 , "name":"Rex"\r} \n', 'sold'],
];

/** Adds a pet, and fails unless create and get answer it with the same bytes. */
async function addSame(client: Client, text: string): ReturnType<Client['add']> {
  const added = await client.add(text);
  const found = await client.get(`/pets/${added.id}`);
  assert.equal(found.text, added.response.text, `${nameOf(text)}: the pet, got by its id`);
  return added;
}

const pets: readonly Check[] = [
  decision('names', 'limits on name: none, it comes back exact', (client) =>
    atOnce(client, NAMES, async (own, [what, json]) => {
      const { pet } = await addSame(own, `{"name":${json},"categoryId":1}`);
      assert.equal(pet['name'], JSON.parse(json), `${what}: the name`);
    }),
  ),

  decision('int64', 'int64: exact in and out', (client) =>
    atOnce(client, EXACT, async (own, [literal, value]) => {
      const { response } = await addSame(own, `{"name":"Rex","categoryId":${literal}}`);
      // In the text, where it must stand in plain digits.
      assert.equal(/"categoryId":([^,}]*)/.exec(response.text)?.[1], value, nameOf(literal));
    }),
  ),

  decision('unknown-fields', 'unknown fields, a sent id: ignored', (client) =>
    atOnce(client, UNKNOWN_FIELDS, async (own, field) => {
      const [name, category] = ['"name":"Rex"', '"categoryId":9007199254740993'];
      for (const members of [
        [field, name, category],
        [name, field, category],
        [name, category, field],
      ]) {
        const { id, pet } = await own.add(`{${members.join()}}`);
        assert.deepEqual(pet, { id, name: 'Rex', categoryId: 9007199254740993n }, nameOf(field));
      }
    }),
  ),

  decision('same-fields', 'a key twice, or written with escapes: the last one wins', (client) =>
    atOnce(client, SAME, async (own, [text, status]) => {
      const { id, pet } = await addSame(own, text);
      const expected = { id, name: 'Rex', categoryId: 1n };
      assert.deepEqual(pet, status === undefined ? expected : { ...expected, status }, text);
    }),
  ),

  decision(
    'status-omitted',
    'status omitted at creation: stays absent, and matches no filter',
    async (client) => {
      const { id, pet, response } = await client.add(REX);
      assert.deepEqual(Object.keys(pet).sort(), ['categoryId', 'id', 'name']);
      for (const status of STATUSES) {
        assert.equal((await client.get(`/pets?after=${id - 1n}&status=${status}`)).text, '[]');
      }
      assert.equal((await client.get(`/pets?after=${id - 1n}`)).text, `[${response.text}]`);
    },
  ),

  decision('categories', 'categoryId: not checked against any category', async (client) => {
    for (const categoryId of [-5n, 0n, 123456789012345678n]) {
      await client.add(client.newPet({ categoryId }));
    }
  }),

  decision('new-ids', 'new ids: one more than the greatest so far', async (client) => {
    const { id } = await client.add(REX);
    assert.equal((await client.add(REX)).id, id + 1n, 'the next id');
    const added = await Promise.all(Array.from({ length: 40 }, () => client.add(REX)));
    const expected = Array.from({ length: 40 }, (_, i) => id + BigInt(i) + 2n);
    assert.deepEqual(new Set(added.map((one) => one.id)), new Set(expected), 'ids of 40 at once');
  }),

  decision('rate', 'rate limits: none', async (client) => {
    const getting = Array.from({ length: 200 }, () => client.get('/pets?limit=1'));
    const statuses = new Set((await Promise.all(getting)).map(({ status }) => status));
    assert.deepEqual([...statuses], [200], 'the statuses of 200 requests at once');
  }),

  decision('no-change', 'Transitions are not shown, so no method changes a pet', async (client) => {
    const { id, response } = await client.add(client.newPet({ status: 'available' }));
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answered = await client.send(method, `/pets/${id}`, {}, '{"status":"sold"}');
      assert.ok(isRefused(answered.status), `${method}: expected a status 4xx`);
    }
    assert.equal((await client.get(`/pets/${id}`)).text, response.text);
  }),
];

const LARGEST = 65_536;

const sizes: readonly Check[] = [
  decision('size', 'request size: a body of 64 KiB is taken', async (client) => {
    const name = 'n'.repeat(LARGEST - '{"name":"","categoryId":1}'.length);
    assert.equal((await client.add({ name, categoryId: 1 })).pet['name'], name);
    const chunk = `${LARGEST.toString(16)}\r\n${REX.padEnd(LARGEST)}\r\n0\r\n\r\n`;
    const bytes = client.message('POST /v1/pets', ['Transfer-Encoding: chunked'], chunk);
    assert.equal((await client.exchange(bytes))[0]?.status, 201, 'the status of one chunk');
  }),
  ...refusal({
    name: 'size-beyond',
    sentence: 'request size: a body of one byte more is 413',
    code: 'body_too_large',
    cases: [`"${'n'.repeat(LARGEST - 1)}"`, REX.padEnd(LARGEST + 1)],
    send: (client, body) => client.post(body),
    message: /65536 bytes/,
  }),
];

const removal: readonly Check[] = [
  decision('removal', 'removal: until then Deprecation, Sunset and successor', async (client) => {
    const { id, response } = await client.add(REX);
    const fields = ({ headers }: ServiceResponse): readonly unknown[] =>
      ['Deprecation', 'Sunset', 'Link'].map((name) => headers.get(name));
    const day = 'Thu, 05 Dec 2030 00:00:00 GMT';
    const expected = ['@1795219200', day, '</v1/pets>; rel="successor-version"'];
    for (const path of [`/pets/${id}`, '/pets/0']) {
      for (const method of ['GET', 'HEAD']) {
        assert.deepEqual(fields(await client.send(method, path)), expected, `${method} ${path}`);
      }
    }
    assert.deepEqual(fields(response).slice(0, 2), [null, null], 'the other operations');
  }),
];

/** No other run has sent it. */
function newKey(): HeaderFields {
  return { 'Idempotency-Key': `conformance-${Date.now()}-${Math.random()}` };
}

/** A store may remember no keys; then its service refuses them all. */
async function postOnce(client: Client, headers: HeaderFields): Promise<ServiceResponse> {
  const response = await client.post(REX, headers);
  if (isRefused(response.status)) throw new NotObserved('the service takes no Idempotency-Key');
  return response;
}

const idempotency: readonly Check[] = [
  decision(
    'replay',
    'Idempotency-Key: the same request twice adds one pet, and says so',
    async (client) => {
      const headers = newKey();
      const first = await postOnce(client, headers);
      const second = await client.post(REX, headers);
      assert.deepEqual([first.status, second.status], [201, 201], 'the statuses');
      assert.equal(second.text, first.text, 'the pet of the second answer');
      const replayed = [first, second].map((one) => one.headers.get('Idempotent-Replayed'));
      assert.deepEqual(replayed, [null, 'true'], 'Idempotent-Replayed');
    },
  ),
  decision('replay-other', 'Idempotency-Key: with another pet it is 422', async (client) => {
    const headers = newKey();
    await postOnce(client, headers);
    const response = await client.post(client.newPet({ name: 'Conformance other' }), headers);
    assertError(response, 'idempotency_key_reused');
  }),
];

/** The messages, of which a client's developer is to learn all that is wrong at once. */
const MESSAGES: readonly [send: (client: Client) => Promise<ServiceResponse>, message: RegExp][] = [
  [(to) => to.post('{}'), /^name is required; categoryId is required$/],
  [(to) => to.post('{"Name":"Rex","categoryid":7}'), /^name is required; categoryId is required$/],
  [(to) => to.post('{"__proto__":{"name":"Rex","categoryId":1}}'), /^name .*; categoryId .*$/],
  [(to) => to.post('{"name":"Rex"}'), /^categoryId [^;]*$/],
  [(to) => to.post('{"categoryId":1}'), /^name [^;]*$/],
  [
    (to) => to.post('{"name":5,"categoryId":"seven","status":"lost"}'),
    /^name must be a string, not 5; categoryId must be an integer of 64 bits, not "seven"; status must be one of available, pending, sold, not "lost"$/,
  ],
  [(to) => to.post('{"name":"Rex","categoryId":1,"status":null}'), /^status .* not null$/],
  [(to) => to.post('{"name":"Rex",}'), /byte 14$/],
  [(to) => to.get('/pets?limit=0'), /^limit must be an integer from 1 to 100, not "0"$/],
  [(to) => to.get('/pets?status=lost&after=x&limit=0'), /^(?=.*limit)(?=.*after).*status must/],
  [(to) => to.get(`/pets/${2n ** 63n - 1n}`), /"9223372036854775807"/],
  [(to) => to.get(`/pets/${'x'.repeat(5000)}`), /^.{0,400}$/],
  [(to) => to.get(`/pets?status=${'x'.repeat(5000)}`), /^.{0,400}$/],
];

const messages: readonly Check[] = [
  decision('messages', 'error detail: message names every field at fault', async (client) => {
    for (const [send, message] of MESSAGES) {
      assert.match(String(fieldsOf(await send(client))['message']), message, 'the message');
    }
  }),
  decision('description', 'The interface description version is 1.0.0', async (client) => {
    const { text } = await client.sendBeside('GET', '/openapi.json', { Authorization: '' });
    const description = JSON.parse(text) as { openapi: string; info: { version: string } };
    assert.match(description.openapi, /^3\.1\./);
    assert.equal(description.info.version, '1.0.0');
  }),
];

export const decisions: readonly Check[] = [
  ...[refusals, lists, pets, sizes, removal, idempotency, messages].flat(),
];
