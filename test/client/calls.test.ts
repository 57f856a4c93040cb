/** Calls of the client: what each one sends, what it refuses to send, and what it reads. */

import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { test } from 'node:test';
import {
  createClient,
  PetStoreError,
  type ClientOptions,
  type PetStoreClient,
} from '../../src/client/client.ts';
import {
  answers,
  answersError,
  API_KEY,
  BASE_URL,
  breaks,
  PET_TEXT,
  scriptedClient,
  type Step,
} from './scripted-fetch.ts';

const LIST = answers(200, '[]');
const CREATED = answers(201, PET_TEXT);
const INT64_MAX = 2n ** 63n - 1n;
const REX = { name: 'Rex', categoryId: 7 };

/** Base URLs, and the URL of the pets. */
const BASE_URLS: readonly (readonly [baseUrl: string | URL, pets: string])[] = [
  ['https://pets.example/v1/', 'https://pets.example/v1/pets'],
  ['https://pets.example:8443/shop/v1//', 'https://pets.example:8443/shop/v1/pets'],
  ['http://[::1]:8080', 'http://[::1]:8080/pets'],
  [new URL('HTTP://PETS.example:80/v1'), 'http://pets.example/v1/pets'],
];

test('The pets are below the base URL, and a later change of its object has no effect', async () => {
  for (const [baseUrl, pets] of BASE_URLS) {
    const { client, sent } = scriptedClient([LIST, CREATED, answers(200, PET_TEXT)], { baseUrl });
    if (baseUrl instanceof URL) baseUrl.host = 'evil.example';
    await client.listPets();
    await client.createPet(REX);
    await client.getPet(1);
    const urls = sent.map(({ url }) => url);
    assert.deepEqual(urls, [pets, pets, `${pets}/1`]);
  }
});

/** Options that are refused, by a part of the message. */
const BAD_OPTIONS: readonly (readonly [part: string, ...options: object[]])[] = [
  ['createClient needs its options: { baseUrl, apiKey }'],
  [
    'baseUrl must be an absolute http or https URL without user name, password, query and fragment',
    ...['/v1', `http://pets.example:x${API_KEY}/v1`, 'ftp://a/v1', 'http://me@pets.example/v1']
      .concat(`http://:${API_KEY}@pets.example/v1`, 'http://a/v1?', 'http://a/v1#')
      .map((baseUrl) => ({ baseUrl })),
  ],
  [
    'visible ASCII',
    ...[undefined, '', `${API_KEY} `, `${API_KEY}é`, 123, [API_KEY]].map((apiKey) => ({ apiKey })),
  ],
  ['timeoutMs must be a number from 1 on, not 0', { timeoutMs: 0 }],
  ['not "1000"', { timeoutMs: '1000' }],
  ['not NaN', { timeoutMs: NaN }, { retries: NaN }],
  ['retries must be a number from 0 on, not -1', { retries: -1 }],
];

test('Invalid options are refused, and the error does not contain the API key', () => {
  for (const [part, ...given] of BAD_OPTIONS) {
    const all = given.map((options) => ({ baseUrl: BASE_URL, apiKey: API_KEY, ...options }));
    for (const options of given.length === 0 ? [undefined, null, BASE_URL] : all) {
      assert.throws(
        () => createClient(options as ClientOptions),
        (error) => {
          assert.ok(error instanceof TypeError && error.message.includes(part), String(error));
          return !inspect(error).includes(API_KEY);
        },
      );
    }
  }
});

/** Calls, and what is sent below the base URL. */
const CALLS: readonly (readonly [sent: string, call: (to: PetStoreClient) => Promise<unknown>])[] =
  [
    ['GET /pets', (to) => to.listPets({ limit: undefined, status: undefined, after: undefined })],
    ['GET /pets?limit=5', (to) => to.listPets({ limit: 5 })],
    ['GET /pets?after=9223372036854775807', (to) => to.listPets({ after: INT64_MAX })],
    ['GET /pets?status=a%26limit%3D1', (to) => to.listPets({ status: 'a&limit=1' as 'sold' })],
    ['GET /pets?after=1', (to) => to.listPets(`${BASE_URL}/pets?after=1`)],
    ['GET /pets?limit=100&status=sold', (to) => to.allPets({ status: 'sold' }).next()],
    ['GET /pets?limit=5', (to) => to.allPets({ limit: 5 }).next()],
    [
      'POST /pets {"name":"","categoryId":9007199254740991}',
      (to) => to.createPet({ name: '', categoryId: 2 ** 53 - 1, status: undefined }),
    ],
    [
      'POST /pets {"name":"\\"\\ud800","categoryId":-9223372036854775808,"status":"sold"}',
      (to) => to.createPet({ name: '"\ud800', categoryId: -INT64_MAX - 1n, status: 'sold' }),
    ],
    [
      'POST /pets {"name":"x","categoryId":0}',
      (to) => to.createPet({ ...{ id: 5n, extra: 1n }, name: 'x', categoryId: -0 }),
    ],
  ];

test('A call sends its arguments exactly, with the API key', async () => {
  for (const [expected, call] of CALLS) {
    const isCreate = expected.startsWith('POST');
    const { client, sent } = scriptedClient([isCreate ? CREATED : LIST]);
    await call(client);
    const { url, init } = sent[0]!;
    const body = init.body === null ? '' : ` ${init.body as string}`;
    assert.equal(`${init.method} ${url.replace(BASE_URL, '')}${body}`, expected);
    const type = isCreate ? { 'Content-Type': 'application/json' } : {};
    const fields = { Authorization: `Bearer ${API_KEY}`, Accept: 'application/json', ...type };
    assert.deepEqual(init.headers, fields);
    assert.equal(init.redirect, 'manual');
  }
});

test('Invalid arguments are refused before anything is sent', async () => {
  const { client, sent } = scriptedClient([]);
  for (const value of [2 ** 53, 1.5, '1', null, INT64_MAX + 1n, -INT64_MAX - 2n]) {
    const int64 = value as bigint;
    const error = typeof value === 'bigint' ? RangeError : TypeError;
    await assert.rejects(client.getPet(int64), error);
    await assert.rejects(client.createPet({ name: 'Rex', categoryId: int64 }), error);
    await assert.rejects(client.listPets({ after: int64 }), error);
  }
  const newPet = { ...REX, name: 7 as unknown as string };
  await assert.rejects(client.createPet(newPet), new TypeError('name must be a string'));
  await assert.rejects(client.listPets({}, { timeoutMs: -1 }), TypeError);
  await assert.rejects(client.getPet(1, { retries: -0.5 }), TypeError);
  assert.equal(sent.length, 0);
});

const PETS: readonly (readonly [text: string, pet: object])[] = [
  [
    '{"status":"sold","categoryId":-9223372036854775808,"name":"\\ud800","id":9223372036854775807}',
    { id: INT64_MAX, name: '\ud800', categoryId: -INT64_MAX - 1n, status: 'sold' },
  ],
  [
    ' {"id":1.0,"name":"","categoryId":1e2,"new":[1],"__proto__":{"status":"sold"}} ',
    { id: 1n, name: '', categoryId: 100n },
  ],
];

test('The client reads a pet exactly, and drops unknown fields', async () => {
  for (const [text, pet] of PETS) {
    const steps = [answers(200, text), answers(201, text), answers(200, `[${text},${text}]`)];
    const { client } = scriptedClient(steps);
    assert.deepEqual(await client.getPet(1), pet);
    assert.deepEqual(await client.createPet(REX), pet);
    assert.deepEqual(await client.listPets(), { pets: [pet, pet], next: undefined });
  }
});

/** Responses to getPet, and the code and the message of the error, or a part of it. */
const ERRORS: readonly (readonly [status: number, body: string, code: string, part: string])[] = [
  ...['', '<!doctype html>', '{"id":1,"name":"Rex"', '['.repeat(1_000_000)].map(
    (text) => [200, text, 'invalid_answer', 'The response is not JSON'] as const,
  ),
  ...[
    ['null', 'it is not an object'],
    [`[${PET_TEXT}]`, 'it is not an object'],
    ['{"id":"1","name":"Rex","categoryId":7}', 'id must be a 64-bit integer'],
    ['{"id":9223372036854775808,"name":"Rex","categoryId":7}', 'id must be a 64-bit integer'],
    ['{"__proto__":{"id":1},"name":"Rex","categoryId":7}', 'id must be a 64-bit integer'],
    ['{"id":1,"name":5,"categoryId":7}', 'name must be a string'],
    ['{"id":1,"name":"Rex","categoryId":null}', 'categoryId must be a 64-bit integer'],
    ['{"id":1,"name":"Rex","categoryId":7,"status":"lost"}', 'status must be one of available'],
    ['{"id":1,"name":"Rex","categoryId":7,"status":null}', 'status must be one of available'],
  ].map(([text, part]) => [200, text!, 'invalid_answer', part!] as const),
  [404, '{"code":"not_found","message":"None","status":404}', 'not_found', '^None$'],
  [404, '{"code":"x","message":"None","status":404}', 'x', '^None; check the base URL'],
  [405, '', 'unexpected_status', 'no Error body; check the base URL: it ends in /v1'],
  [418, '{"message":"M","status":418.0,"code":"a_new_code","more":1}', 'a_new_code', 'M'],
  ...[
    '{"code":"not_found","message":"None","status":400}',
    '{"code":"not_found","message":"None","status":"404"}',
    ...['{"code":"not_found","status":404}', '{"code":404,"message":"None","status":404}'],
    ...['[]', '<h1>Forbidden</h1>', ''],
  ].map((body) => [404, body, 'unexpected_status', 'has the status 404 and no Error'] as const),
  [201, PET_TEXT, 'unexpected_status', 'has the status 201'],
  [307, '', 'unexpected_status', 'redirect'],
];

test('A wrong response or an error is a PetStoreError, which says what is wrong', async () => {
  for (const [status, body, code, part] of ERRORS) {
    const { client } = scriptedClient([answers(status, body)]);
    const error = { name: 'PetStoreError', code, status, message: new RegExp(part) };
    await assert.rejects(client.getPet(1), error, body.slice(0, 60));
    if (code !== 'invalid_answer') continue;
    const list = `[${PET_TEXT},${body}]`;
    const other = scriptedClient([answers(201, body), answers(200, list)]).client;
    await assert.rejects(other.createPet(REX), { code, status: 201 });
    await assert.rejects(other.listPets(), { code });
  }
  const { client } = scriptedClient([answers(200, PET_TEXT), () => Response.error()]);
  await assert.rejects(client.listPets(), { message: 'The response is not an array' });
  // A browser hides the status of a redirect.
  await assert.rejects(client.listPets(), { status: undefined, message: /redirect/ });
});

test('No error contains the API key, even if the service sends it back', async () => {
  const echo = `Authorization: Bearer ${API_KEY}`;
  const link = { Link: `<https://evil.example/${API_KEY}?${API_KEY}>; rel="next"` };
  const steps = [
    answers(400, `<pre>${echo}</pre>`),
    answers(200, `<pre>${echo}</pre>`),
    answers(200, `[{"id":"${API_KEY}"}]`),
    answers(200, `[{"${API_KEY}":1}]`),
    answers(200, '[]', link),
    answers(200, '[]', { Link: API_KEY }),
    breaks,
  ];
  const { client } = scriptedClient(steps, { retries: 0, timeoutMs: Infinity });
  for (const step of steps) {
    await assert.rejects(client.listPets(), (thrown) => {
      assert.ok(thrown instanceof PetStoreError);
      assert.ok(!inspect(thrown, { depth: 9, showHidden: true }).includes(API_KEY));
      return step !== breaks || /fetch failed/.test(String(thrown.cause));
    });
  }
});

/** API keys, the Error that a service sends, and what the client shows of it. */
const KEPT: readonly (readonly [key: string, code: string, message: string, shown: string])[] = [
  ['id', 'invalid_body', 'id is invalid', 'invalid_body: [API key] is invalid'],
  ['invalid_body', 'invalid_body', 'No invalid_body', 'invalid_body: No [API key]'],
  ['parameter', 'invalid_parameter', 'Two parameters', 'invalid_parameter: Two parameters'],
  ['x', 'x-x', 'xx, x x_x', '[API key]-[API key]: xx, [API key] [API key]_[API key]'],
  ['47', 'c', '47 of 4711', 'c: [API key] of 4711'],
  ['a.b$1', 'a.b$1', 'axb a.b$1', '[API key]: axb [API key]'],
  [API_KEY, `E${API_KEY}`, `Bearer%20${API_KEY}`, 'E[API key]: Bearer%20[API key]'],
];

test('The API key is replaced in the Error of a service, but not a part of a word', async () => {
  for (const [apiKey, code, message, shown] of KEPT) {
    const step = answers(400, JSON.stringify({ code, message, status: 400 }));
    const { client } = scriptedClient([step], { apiKey });
    const error = (await client.listPets().catch((thrown: unknown) => thrown)) as PetStoreError;
    assert.equal(`${error.code}: ${error.message}`, shown);
  }
});

const page = (link: string): Step => answers(200, `[${PET_TEXT}]`, { Link: link });

/** Targets of the Link to the next page, and where they lead below the base URL. */
const NEXT: Readonly<Record<string, string>> = {
  '/v1/pets?after=1': '/pets?after=1',
  '?after=1': '/pets?after=1',
  '//pets.example/v1/pets?after=1': '/pets?after=1',
  'http://PETS.example:80/v1/pets?after=1': '/pets?after=1',
  '/v1/more/pets': '/more/pets',
};
const ELSEWHERE: readonly string[] = [
  ...['https://evil.example/v1/pets', '//evil.example/v1/pets', 'https://pets.example/v1/pets'],
  ...['http://pets.example:81/v1/pets', 'http://pets.example.evil.example/v1/pets'],
  ...['http://pets.example@evil.example/v1/pets', 'http://me:pw@pets.example/v1/pets'],
  ...['http://sub.pets.example/v1/pets', '\\\\evil.example/v1/pets', '/v2/pets', '/v10/pets'],
  ...['/v1/../v2/pets', '/v1/%2e%2e/v2/pets', '/v1', '/', 'data:application/json,[]'],
  ...['javascript:alert(1)', 'blob:http://pets.example/v1/pets', 'file:///v1/pets'],
];

test('A Link leads to the next page below the base URL; elsewhere the API key is not sent', async () => {
  for (const [target, path] of Object.entries(NEXT)) {
    const { client, sent } = scriptedClient([page(`<${target}>; rel="next"`), LIST]);
    const { next } = await client.listPets({ limit: 1 });
    assert.equal(next, BASE_URL + path);
    assert.deepEqual(await client.listPets(next), { pets: [], next: undefined });
    assert.equal(sent[1]!.url, next);
  }
  for (const target of ELSEWHERE) {
    const { client, sent } = scriptedClient([page(`<${target}>; rel="next"`)]);
    const expected = { code: 'invalid_answer', message: /not below http:/ };
    await assert.rejects(client.allPets().next(), expected, target);
    for (const url of [target, new URL(target, BASE_URL).href]) {
      await assert.rejects(client.listPets(url), TypeError);
      await assert.rejects(client.allPets(url).next(), TypeError);
    }
    assert.equal(sent.length, 1);
  }
});

test('An invalid Link is an error, and one with other relations only the end of the list', async () => {
  const expected = { code: 'invalid_answer', message: /Link of the response is invalid/ };
  for (const field of ['</v1/pets?after=1; rel="next"', 'next', '<http://[>; rel="next"']) {
    await assert.rejects(scriptedClient([page(field)]).client.listPets(), expected, field);
  }
  const { client } = scriptedClient([page('</v1/pets>; rel="first", </docs>; rel="help"')]);
  assert.equal((await client.listPets()).next, undefined);
});

const CIRCLE = page('</v1/pets?after=0>; rel="next"');
const EMPTY = answers(200, '[]', { Link: '</v1/pets?after=0>; rel="next"' });

test('allPets yields the pets before a Link in a circle, an empty page or a failure', async () => {
  for (const [second, expected] of [
    [CIRCLE, { message: /do not ascend/ }],
    [EMPTY, { message: /An empty page has a next page$/ }],
    [answersError(401, 'unauthorized'), { code: 'unauthorized' }],
  ] as const) {
    const pets = scriptedClient([CIRCLE, second]).client.allPets();
    assert.equal((await pets.next()).value?.id, 1n);
    await assert.rejects(pets.next(), { name: 'PetStoreError', ...expected });
  }
});
