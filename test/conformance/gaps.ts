/**
 * The gaps of the interface: each thing that it leaves open, and what this service does there.
 *
 * The rule behind them all: refuse exactly what the interface declares invalid, and nothing more;
 * never change what a client sent. The checks follow the README's table of gaps, row by row; what
 * needs a clock or a limit of its own is not among them.
 */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { fieldsOf, idsOf, REX, type Answer, type Client } from './client.ts';
import { assertError, assertOnlyError, STATUS_OF_CODE, type Code } from './errors.ts';
import { STATUSES } from './expectations.ts';

const { decision, decisionEach } = checksIn('gaps');

const NO_LIMIT = [
  ...['limit=', 'limit', 'limit=abc', 'limit=1.5', 'limit=5.0', 'limit=1e1', 'limit=0x10'],
  ...['limit=+5', 'limit=%2B5', 'limit=%205', 'limit=5%20', 'limit=5%0A', 'limit=-5'],
  ...['limit=0', 'limit=-0', 'limit=00', 'limit=101', 'limit=1,2', 'limit=NaN', 'limit=Infinity'],
  ...['limit=%D9%A5', 'limit=5_0', 'limit=1000000000000000000000000000005', 'l%69mit=0'],
  ...['limit=5&limit=6', 'limit=5&limit=5', 'limit=5&limit=', 'limi%74=5&limit=5'],
];
const THREE = ['limit=3', 'limit=003', 'limit=%33', '&limit=3&', 'l%69mit=3'];

const limit: readonly Check[] = [
  decisionEach('limit that is none, or twice: 400, not clamped', NO_LIMIT, async (to, query) => {
    assert.match(assertError(await to.get(`/pets?${query}`), 'invalid_parameter'), /^limit /);
  }),

  decisionEach('limit: plain decimal digits count as an integer', THREE, async (client, query) => {
    const { id } = await client.add({ name: '1', categoryId: 1 });
    for (const name of ['2', '3', '4']) await client.add({ name, categoryId: 1 });
    const list = await client.get(`/pets?after=${id - 1n}&${query}`);
    assert.deepEqual(idsOf(list), [id, id + 1n, id + 2n]);
  }),
];

const NO_FILTER = [
  ...['status=', 'status', 'status=lost', 'status=Sold', 'status=SOLD', 'status=%20sold'],
  ...['status=sold+', 'status=sold,pending', 'status=null', 'status=%22sold%22', 'status=%00'],
  ...['status=sold&status=sold', 'status=sold&status=pending', 'status=sold&st%61tus=pending'],
];

const status: readonly Check[] = [
  decisionEach('status unknown, empty, or given twice: 400', NO_FILTER, async (client, query) => {
    const message = assertError(await client.get(`/pets?${query}`), 'invalid_parameter');
    assert.match(message, /^status /);
  }),
];

const IGNORED_QUERIES = [
  ...['x=1', 'Limit=0', 'LIMIT=0', 'limit[]=0', 'status[]=x', 'page=2', 'offset=1'],
  ...['=', '=0', '&&', 'x', 'x=1&x=2', '?limit=0', 'a=b=c', '%20limit=0', '__proto__=1'],
];

const otherParameters: readonly Check[] = [
  decisionEach('other query parameters: ignored', IGNORED_QUERIES, async (client, query) => {
    const { id, answer } = await client.add(REX);
    const found = await client.get(`/pets?after=${id - 1n}&${query}`);
    assert.equal(found.text, `[${answer.text}]`);
  }),

  decision('query parameters of operations that take none: ignored', async (client) => {
    const query = '?limit=0&status=lost&after=x';
    const added = await client.send('POST', `/pets${query}`, {}, REX);
    assert.equal(added.status, 201);
    const found = await client.get(`/pets/${fieldsOf(added)['id']}${query}`);
    assert.equal(found.text, added.text);
  }),
];

const order: readonly Check[] = [
  decision('order of the list: ascending id', async (client) => {
    const names = ['c', 'a', 'b', 'a'];
    const pets = await Promise.all(names.map((name) => client.add({ name, categoryId: 9 })));
    const sorted = pets.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1));
    assert.deepEqual(idsOf(await client.listFrom(sorted[0]!)), sorted);
  }),
];

/** The address in the answer's Link to the next page, below the base address. */
function nextPath(answer: Answer): string | undefined {
  const link = answer.headers.get('Link');
  if (link === null) return undefined;
  const match = /^<\/v1(\/pets\?[^<>\s]*)>; rel="next"$/.exec(link);
  assert.ok(match !== null, `a link to the next page, not ${link}`);
  return match[1]!;
}

/** Follows the links from one page to the last. */
async function pages(client: Client, path: string): Promise<readonly (readonly unknown[])[]> {
  const found: (readonly unknown[])[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const answer = await client.get(next);
    assert.equal(answer.status, 200);
    // The body stays a plain array.
    found.push(idsOf(answer));
    next = nextPath(answer);
  }
  return found;
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
    all.slice(i * size, (i + 1) * size),
  );
}

/** Adds so many pets; every second one is sold. */
async function addMany(client: Client, count: number): Promise<readonly bigint[]> {
  const ids: bigint[] = [];
  for (let i = 0; i < count; i += 1) {
    const pet = { name: `Conformance ${i}`, categoryId: i };
    ids.push((await client.add(i % 2 === 0 ? { ...pet, status: 'sold' } : pet)).id);
  }
  return ids;
}

const NO_AFTER = [
  ...['', 'x', '1.0', '1e2', '+1', '%2B1', '%201', '0x1', '9223372036854775808'],
  ...['-9223372036854775809', '9'.repeat(30), '1&after=2', '-'],
];

const pagination: readonly Check[] = [
  decision('pagination: Link rel="next" keeps limit and status', async (client) => {
    const ids = await addMany(client, 46);
    const start = `/pets?after=${ids[0]! - 1n}`;
    assert.deepEqual(await pages(client, start), chunks(ids, 20));
    assert.deepEqual(await pages(client, `${start}&limit=7`), chunks(ids, 7));
    const sold = ids.filter((_id, i) => i % 2 === 0);
    const path = `/pets?status=sold&limit=4&after=${ids[0]! - 1n}`;
    assert.deepEqual(await pages(client, path), chunks(sold, 4));
    const next = new URL(nextPath(await client.get(path)) ?? '', 'http://host');
    assert.equal(next.searchParams.get('limit'), '4');
    assert.equal(next.searchParams.get('status'), 'sold');
    assert.equal(next.searchParams.get('after'), String(sold[3]));
    assert.match(next.search, /&after=[0-9]+$/);
  }),

  decision('pagination: no link when no more pets match', async (client) => {
    const ids = await addMany(client, 6);
    const exact = await client.get(`/pets?after=${ids[0]! - 1n}&limit=6`);
    assert.equal(idsOf(exact).length, 6);
    assert.equal(exact.headers.get('Link'), null);
    // One more pet follows, which the filter leaves out.
    const sold = await client.get(`/pets?after=${ids[0]}&limit=2&status=sold`);
    assert.deepEqual(idsOf(sold), [ids[2], ids[4]]);
    assert.equal(sold.headers.get('Link'), null);
  }),

  decision('pagination: HEAD has the same link', async (client) => {
    const ids = await addMany(client, 3);
    const path = `/pets?after=${ids[0]! - 1n}&limit=2`;
    const head = await client.send('HEAD', path);
    assert.equal(head.headers.get('Link'), (await client.get(path)).headers.get('Link'));
    assert.ok(nextPath(head) !== undefined, 'a link to the next page');
  }),

  decision('pagination: after gives only pets with a greater id', async (client) => {
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

  decisionEach('pagination: an after that is no int64 is 400', NO_AFTER, async (client, after) => {
    const message = assertError(await client.get(`/pets?after=${after}`), 'invalid_parameter');
    assert.match(message, /^after /);
  }),
];

const NAMES: readonly [what: string, json: string][] = [
  ['the empty one', '""'],
  ['a space', '" "'],
  ['NUL as an escape', '"a\\u0000b"'],
  ['NUL alone', '"\\u0000"'],
  ['a lone high surrogate', '"\\ud800"'],
  ['a lone low surrogate', '"x\\uDFFFy"'],
  ['surrogates in the wrong order', '"\\udc00\\ud800"'],
  ['a pair of surrogates as escapes', '"\\uD83D\\uDE00"'],
  ['a 4-byte character', '"😀𐍈\u{10ffff}"'],
  ['3-byte and 2-byte characters', '"ÿ€\ufffd\u2028\u2029\ufeff"'],
  ['every short escape', '"\\"\\\\\\/\\b\\f\\n\\r\\t"'],
  ['characters that need no escape, escaped', '"\\u0052\\u0065\\u0078"'],
  ['a letter and a combining accent, not composed', '"e\u0301"'],
  ['DEL and C1 controls', '"\u007f\u0080\u009f"'],
  ['digits beyond a double', `"${'1234567890'.repeat(10)}"`],
  ['what looks like a number', '"1e400"'],
  ['what looks like JSON', '"{\\"id\\":5,\\"name\\":9007199254740993}"'],
  ['what looks like a pet', '"\\",\\"categoryId\\":9,\\"id\\":0}"'],
  ['the name of a prototype', '"__proto__"'],
  ['white space around', '"\\n Rex\\t "'],
  ['60,000 letters', `"${'n'.repeat(60_000)}"`],
  ['60,000 bytes of 4-byte characters', `"${'😀'.repeat(15_000)}"`],
  ['10,000 escapes', `"${'\\u0000'.repeat(10_000)}"`],
];

const names: readonly Check[] = [
  decisionEach('limits on name: none, it comes back exact', NAMES, async (client, [, json]) => {
    const { id, pet, answer } = await client.add(`{"name":${json},"categoryId":1}`);
    const name = JSON.parse(json) as string;
    assert.equal(pet['name'], name);
    assert.equal(fieldsOf(await client.get(`/pets/${id}`))['name'], name);
    assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
  }),
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
  ['-1.0', '-1'],
  ['10000000000000000000e-1', '1000000000000000000'],
  ['0.9007199254740993e16', '9007199254740993'],
  ['9007199254740991', '9007199254740991'],
  ['9007199254740992', '9007199254740992'],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  ['9007199254740993.0', '9007199254740993'],
  ['9223372036854775807', '9223372036854775807'],
  ['9223372036854775807.000', '9223372036854775807'],
  ['9.223372036854775807e18', '9223372036854775807'],
  ['9223372036854775806', '9223372036854775806'],
  ['-9223372036854775807', '-9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['-92233720368547758080e-1', '-9223372036854775808'],
  [`1.${'0'.repeat(1000)}`, '1'],
  [`1${'0'.repeat(1000)}e-1000`, '1'],
  [`0.${'0'.repeat(1000)}7e1001`, '7'],
];
const NO_INT64 = [
  ...['1.5', '-1.5', '"1"', '1e-1', '0.1', '5e-324', '1e400', '-1e400', '1e999999999999'],
  ...['1e-999999999999', '4503599627370497.5', '9007199254740993.5', '9223372036854775808'],
  ...['-9223372036854775809', '9223372036854775807.5', '-9223372036854775808.5', '1e19'],
  ...['9223372036854775808.0', '18446744073709551616', '92233720368547758070e-2', '10e-2'],
  ...[`1${'0'.repeat(1000)}`, `1.${'0'.repeat(1000)}1`, `1e${'9'.repeat(1000)}`],
];
const NO_NUMBER = ['01', '+1', '.5', '1.', '1e', '1e+', '0x1', '-', 'NaN', '1_0', '-01'];

const int64: readonly Check[] = [
  decisionEach('int64: exact in and out', EXACT, async (to, [literal, value]) => {
    const { id, answer } = await to.add(`{"name":"Rex","categoryId":${literal}}`);
    // In the text, where it must stand in plain digits.
    assert.equal(/"categoryId":([^,}]*)/.exec(answer.text)?.[1], value);
    assert.equal((await to.get(`/pets/${id}`)).text, answer.text);
    assert.equal((await to.listFrom(id)).text, `[${answer.text}]`);
  }),

  decisionEach('int64: nothing is ever rounded, but 400', NO_INT64, async (client, literal) => {
    const answer = await client.post(`{"name":"Rex","categoryId":${literal}}`);
    assert.match(assertError(answer, 'invalid_body'), /^categoryId must be /);
  }),

  decisionEach('int64: what is no JSON number is 400', NO_NUMBER, async (client, literal) => {
    const answer = await client.post(`{"name":"Rex","categoryId":${literal}}`);
    assertError(answer, 'invalid_json');
  }),
];

const IGNORED_FIELDS = [
  ...['"x":1', '"x":null', '"x":{"name":5,"categoryId":"x","status":"lost"}', '"x":[{"id":[]}]'],
  ...['"id":5', '"id":"x"', '"id":null', '"id":-1', '"id":{"name":1}', '"Name":5', '"NAME":5'],
  ...['"":0', '"\\u0000":0', '"name ":5', '"categoryID":"x"', '"category_id":"x"', '"Status":0'],
  ...['"x":12345678901234567890123456789012345678901234567890', '"x":1e400', '"x":"\\ud800"'],
  ...['"__proto__":{"status":"sold"}', '"constructor":1', '"toString":1', '"valueOf":null'],
  ...['"x":1,"x":2', `"x":${'['.repeat(2000)}${']'.repeat(2000)}`],
];
const NO_SUPPLY = [
  '{"__proto__":{"name":"Rex","categoryId":1}}',
  '{"x":{"name":"Rex","categoryId":1}}',
  '{"x":[{"name":"Rex"}],"y":"\\"name\\":\\"Rex\\",\\"categoryId\\":1"}',
  '{"constructor":{"prototype":{"name":"Rex","categoryId":1}}}',
];

const unknownFields: readonly Check[] = [
  decisionEach('unknown fields, a sent id: ignored', IGNORED_FIELDS, async (client, field) => {
    const texts = [
      `{${field},"name":"Rex","categoryId":9007199254740993}`,
      `{"name":"Rex",${field},"categoryId":9007199254740993}`,
      `{"name":"Rex","categoryId":9007199254740993,${field}}`,
    ];
    for (const text of texts) {
      const { id, pet, answer } = await client.add(text);
      assert.deepEqual(pet, { id, name: 'Rex', categoryId: 9007199254740993n });
      assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
    }
  }),

  decision('a sent id is not the id that is given', async (client) => {
    const { id } = await client.add(REX);
    for (const sent of [id, id + 1000n, 0n]) {
      const next = await client.add(`{"id":${sent},"name":"Rex","categoryId":1}`);
      assert.notEqual(next.id, sent);
    }
  }),

  decisionEach('an unknown field supplies nothing', NO_SUPPLY, async (client, body) => {
    const message = assertError(await client.post(body), 'invalid_body');
    assert.equal(message, 'name is required; categoryId is required');
  }),

  decision('a key may be written with escapes: it is the same key', async (client) => {
    const text = '{"n\\u0061me":"Rex","\\u0063ategoryId":9,"\\u0073\\u0074atus":"sold"}';
    const { id, pet } = await client.add(text);
    assert.deepEqual(pet, { id, name: 'Rex', categoryId: 9n, status: 'sold' });
  }),

  decision('a status may be written with escapes, and matches the filter', async (client) => {
    const { id, pet } = await client.add('{"name":"R","categoryId":1,"status":"s\\u006fld"}');
    assert.equal(pet['status'], 'sold');
    assert.deepEqual(idsOf(await client.listFrom(id, '&status=sold')), [id]);
  }),
];

const omittedStatus: readonly Check[] = [
  decision('status omitted at creation: stays absent, and matches no filter', async (client) => {
    const { id, pet, answer } = await client.add({ name: 'Rex', categoryId: 1 });
    assert.deepEqual(Object.keys(pet).sort(), ['categoryId', 'id', 'name']);
    for (const filter of STATUSES) {
      assert.equal((await client.listFrom(id, `&status=${filter}`)).text, '[]');
    }
    assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
  }),
];

const REX_FIELDS = { name: 'Rex', categoryId: 1n };
const TWICE: readonly [text: string, fields: Readonly<Record<string, unknown>>][] = [
  ['{"name":"Tom","name":"Rex","categoryId":1}', REX_FIELDS],
  ['{"name":5,"name":"Rex","categoryId":1}', REX_FIELDS],
  ['{"name":"Tom","categoryId":1,"n\\u0061me":"Rex"}', REX_FIELDS],
  ['{"n\\u0061me":"Tom","categoryId":1,"name":"Rex"}', REX_FIELDS],
  ['{"name":"Rex","categoryId":"x","categoryId":2,"categoryId":1}', REX_FIELDS],
  [
    '{"name":"Rex","categoryId":1,"status":"lost","status":"sold"}',
    { ...REX_FIELDS, status: 'sold' },
  ],
  [
    '{"status":null,"name":"Rex","categoryId":1,"status":"sold"}',
    { ...REX_FIELDS, status: 'sold' },
  ],
];
const LAST_INVALID: readonly [text: string, message: RegExp][] = [
  ['{"name":"Rex","name":5,"categoryId":1}', /^name must be /],
  ['{"name":"Rex","categoryId":1,"categoryId":1.5}', /^categoryId must be /],
  ['{"name":"Rex","categoryId":1,"status":"sold","status":null}', /^status must be /],
  ['{"name":"Rex","categoryId":1,"status":"sold","st\\u0061tus":"lost"}', /^status must be /],
];

const keyTwice: readonly Check[] = [
  decisionEach('a key twice in an object: the last one wins', TWICE, async (to, [text, fields]) => {
    const { id, pet } = await to.add(text);
    assert.deepEqual(pet, { id, ...fields });
  }),

  decisionEach(
    'a key twice: the last one wins, when it is invalid too',
    LAST_INVALID,
    async (client, [text, expected]) => {
      assert.match(assertError(await client.post(text), 'invalid_body'), expected);
    },
  ),
];

const categories: readonly Check[] = [
  decisionEach(
    'categoryId: not checked against any category',
    ['-5', '0', '123456789012345678'],
    async (client, categoryId) => {
      await client.add(`{"name":"Rex","categoryId":${categoryId}}`);
    },
  ),
];

const newIds: readonly Check[] = [
  decision('new ids: one more than the greatest so far', async (client) => {
    const { id } = await client.add(REX);
    assert.equal((await client.add(REX)).id, id + 1n);
  }),

  decision('new ids: a refused pet takes none', async (client) => {
    const { id } = await client.add(REX);
    for (const body of ['{', '{}', '[]', '{"name":"Rex","categoryId":1,"status":""}']) {
      assert.equal((await client.post(body)).status, 400);
    }
    assert.equal((await client.add(REX)).id, id + 1n);
  }),

  decision('new ids: never given out twice, of pets added at once too', async (client) => {
    const { id } = await client.add(REX);
    const adding = Array.from({ length: 40 }, () => client.add(REX));
    const ids = (await Promise.all(adding)).map((added) => added.id);
    const expected = Array.from({ length: 40 }, (_, i) => id + BigInt(i) + 1n);
    assert.deepEqual(new Set(ids), new Set(expected));
  }),
];

const NO_PET_ID = [
  ...['x', '1x', '1.0', '1e0', '+1', '%2B1', '0x1', '--1', '-', '1,2', '1;a=b', 'null'],
  ...['%201', '1%20', '1%0A', '1%00', '%D9%A1', '%2E%2E%2F1', '1%2F', '%25'],
  ...['9223372036854775808', '-9223372036854775809', '1'.repeat(30), '9'.repeat(5000)],
];

const petIds: readonly Check[] = [
  decisionEach('petId that is no int64: 404, as any that is lost', NO_PET_ID, async (to, petId) => {
    await to.add(REX);
    assertError(await to.get(`/pets/${petId}`), 'not_found');
  }),
];

const CODES: readonly [code: Code, send: (client: Client) => Promise<Answer>][] = [
  ['malformed_request', (client) => client.get('/pets?a=%')],
  ['invalid_parameter', (client) => client.get('/pets?limit=x')],
  ['invalid_json', (client) => client.post('nonsense')],
  ['invalid_body', (client) => client.post('[]')],
  ['unauthorized', (client) => client.send('GET', '/pets', { Authorization: '' })],
  ['not_found', (client) => client.get('/pets/0')],
  ['unknown_path', (client) => client.get('/pet')],
  ['method_not_allowed', (client) => client.send('DELETE', '/pets')],
  ['body_too_large', (client) => client.post(`"${'x'.repeat(70_000)}"`)],
  ['unsupported_media_type', (client) => client.post('{}', { 'Content-Type': 'text/plain' })],
];

const codes: readonly Check[] = [
  decisionEach('values of code: one for each failure', CODES, async (client, [code, send]) => {
    assertError(await send(client), code);
    // In snake_case, and each belongs to one status of a failure.
    assert.match(code, /^[a-z]+(?:_[a-z]+)*$/);
    assert.ok(STATUS_OF_CODE[code] >= 400 && STATUS_OF_CODE[code] <= 599);
  }),
];

const errorDetail: readonly Check[] = [
  decision('error detail: message names every field at fault', async (client) => {
    const answer = await client.post({ name: 5, categoryId: 'seven', status: 'lost' });
    assert.equal(
      assertError(answer, 'invalid_body'),
      'name must be a string, not 5; categoryId must be an integer of 64 bits, not "seven"; ' +
        'status must be one of available, pending, sold, not "lost"',
    );
  }),

  decision('error detail: message names every parameter at fault', async (client) => {
    const answer = await client.get('/pets?status=lost&after=x&limit=0');
    const message = assertError(answer, 'invalid_parameter');
    assert.deepEqual(message.split('; ').sort(), [
      'after must be an integer from -9223372036854775808 to 9223372036854775807, not "x"',
      'limit must be an integer from 1 to 100, not "0"',
      'status must be one of available, pending, sold, not "lost"',
    ]);
  }),

  decision('error detail: message tells where a body stops being JSON', async (client) => {
    assert.match(assertError(await client.post('{"name":"Rex",}'), 'invalid_json'), /byte 14$/);
  }),
];

const removal: readonly Check[] = [
  decision('removal: until then Deprecation, Sunset and successor', async (client) => {
    const { id } = await client.add(REX);
    for (const { headers } of [
      await client.get(`/pets/${id}`),
      await client.send('HEAD', `/pets/${id}`),
      await client.get('/pets/0'),
    ]) {
      assert.equal(headers.get('Deprecation'), '@1795219200');
      assert.equal(headers.get('Sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT');
      assert.equal(headers.get('Link'), '</v1/pets>; rel="successor-version"');
    }
  }),

  decision('removal: no other operation is deprecated', async (client) => {
    const { answer } = await client.add(REX);
    for (const { headers } of [answer, await client.get('/pets')]) {
      assert.equal(headers.get('Deprecation'), null);
      assert.equal(headers.get('Sunset'), null);
    }
  }),
];

const NOT_PROVIDED = [
  ...['/store/orders', '/store', '/store/orders/1', '/categories', '/categories/1'],
  ...['/events', '/webhooks', '/pets/1/category'],
];

const notProvided: readonly Check[] = [
  decisionEach('GET /store/orders, categories, events: 404', NOT_PROVIDED, async (client, path) => {
    assertError(await client.get(path), 'unknown_path');
  }),
];

const rateLimits: readonly Check[] = [
  decision('rate limits: none', async (client) => {
    const getting = Array.from({ length: 200 }, () => client.get('/pets?limit=1'));
    const statuses = new Set((await Promise.all(getting)).map((answer) => answer.status));
    assert.deepEqual([...statuses], [200]);
  }),
];

const EMPTY_NAME = '{"name":"","categoryId":1}';
const CHUNK_SIZES: readonly [bytes: number, status: number][] = [
  [65_536, 201],
  [65_537, 413],
];

const requestSize: readonly Check[] = [
  decision('request size: a body of 64 KiB is taken', async (client) => {
    const name = 'n'.repeat(65_536 - EMPTY_NAME.length);
    const { pet } = await client.add(EMPTY_NAME.replace('""', `"${name}"`));
    assert.equal(pet['name'], name);
  }),

  decision('request size: a body of one byte more is 413', async (client) => {
    const name = 'n'.repeat(65_537 - EMPTY_NAME.length);
    const answer = await client.post(EMPTY_NAME.replace('""', `"${name}"`));
    assert.match(assertError(answer, 'body_too_large'), /65536 bytes/);
  }),

  decision('request size: in chunks the limit is the same, and exact', async (client) => {
    const { id } = await client.add(REX);
    for (const [size, expected] of CHUNK_SIZES) {
      const body = `${size.toString(16)}\r\n${REX.padEnd(size)}\r\n0\r\n\r\n`;
      const bytes = client.message('POST /v1/pets', ['Transfer-Encoding: chunked'], body);
      const answers = await client.exchange(bytes);
      if (expected === 413) assertOnlyError(answers, 'body_too_large');
      assert.deepEqual(
        answers.map((answer) => answer.status),
        [expected],
      );
    }
    assert.deepEqual(idsOf(await client.listFrom(id)), [id, id + 1n]);
  }),

  decision('request size: white space counts', async (client) => {
    assertError(await client.post(REX.padEnd(65_537)), 'body_too_large');
  }),
];

export const gaps: readonly Check[] = [
  ...limit,
  ...status,
  ...otherParameters,
  ...order,
  ...pagination,
  ...names,
  ...int64,
  ...unknownFields,
  ...omittedStatus,
  ...keyTwice,
  ...categories,
  ...newIds,
  ...petIds,
  ...codes,
  ...errorDetail,
  ...removal,
  ...notProvided,
  ...rateLimits,
  ...requestSize,
];
