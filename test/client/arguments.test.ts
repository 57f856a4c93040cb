/** Options and arguments of the client: it sends them exactly, or refuses them. */

import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { test } from 'node:test';
import { createClient, type ClientOptions, type PetStoreClient } from '../../src/client/client.ts';
import { answers, API_KEY, BASE_URL, PET_TEXT, scriptedClient } from './scripted-fetch.ts';

const LIST = answers(200, '[]');
const CREATED = answers(201, PET_TEXT);
const FOUND = answers(200, PET_TEXT);

const BASE_URLS: readonly (readonly [baseUrl: string | URL, pets: string])[] = [
  ['http://pets.example/v1', 'http://pets.example/v1/pets'],
  ['https://pets.example/v1/', 'https://pets.example/v1/pets'],
  ['https://pets.example:8443/shop/v1//', 'https://pets.example:8443/shop/v1/pets'],
  ['http://[::1]:8080', 'http://[::1]:8080/pets'],
  [new URL('HTTP://PETS.example:80/v1'), 'http://pets.example/v1/pets'],
];

for (const [baseUrl, pets] of BASE_URLS) {
  test(`With the base URL ${String(baseUrl)} the pets are at ${pets}`, async () => {
    const { client, sent } = scriptedClient([LIST, CREATED, FOUND], { baseUrl });
    // A later change of the object has no effect.
    if (baseUrl instanceof URL) baseUrl.host = 'evil.example';
    await client.listPets();
    await client.createPet({ name: 'Rex', categoryId: 7 });
    await client.getPet(1);
    const urls = sent.map(({ url }) => url);
    assert.deepEqual(urls, [pets, pets, `${pets}/1`]);
  });
}

const BAD_OPTIONS: readonly (readonly [options: Partial<ClientOptions>, complaint: RegExp])[] = [
  [{ baseUrl: '/v1' }, /absolute/],
  [{ baseUrl: Symbol('v1') as unknown as string }, /absolute/],
  [{ baseUrl: 'file:///v1' }, /http: or https:, not file:/],
  [{ baseUrl: 'http://me@pets.example/v1' }, /user name or password/],
  [{ baseUrl: `http://:${API_KEY}@pets.example/v1` }, /user name or password/],
  [{ baseUrl: `http://pets.example:x${API_KEY}/v1` }, /absolute/],
  [{ baseUrl: 'http://pets.example/v1?' }, /query or fragment/],
  [{ baseUrl: 'http://pets.example/v1#' }, /query or fragment/],
  [{ apiKey: undefined as unknown as string }, /^apiKey is required$/],
  [{ apiKey: '' }, /visible ASCII/],
  [{ apiKey: `${API_KEY} ` }, /visible ASCII/],
  [{ apiKey: `${API_KEY}\r\nHost: evil.example` }, /visible ASCII/],
  [{ apiKey: `${API_KEY}é` }, /visible ASCII/],
  [{ timeoutMs: 0 }, /timeoutMs must be an integer from 1 to 2147483647 or Infinity, not 0$/],
  [{ timeoutMs: 1000.5 }, /timeoutMs .* not 1000.5$/],
  [{ timeoutMs: 2 ** 31 }, /timeoutMs .* not 2147483648$/],
  [{ timeoutMs: '1s' as unknown as number }, /timeoutMs .* not "1s"$/],
  [{ retries: -1 }, /retries must be an integer from 0 on, not -1$/],
  [{ retries: Infinity }, /retries .* not Infinity$/],
];

for (const [options, complaint] of BAD_OPTIONS) {
  test(`The options ${inspect(options)} are refused, and the error does not contain the API key`, () => {
    assert.throws(
      () => createClient({ baseUrl: BASE_URL, apiKey: API_KEY, ...options }),
      (error) => {
        assert.ok(error instanceof TypeError);
        assert.match(error.message, complaint);
        assert.ok(!inspect(error).includes(API_KEY));
        return true;
      },
    );
  });
}

test('Without options createClient says what it needs', () => {
  const create = createClient as (options?: unknown) => unknown;
  const message = 'createClient needs its options: { baseUrl, apiKey }';
  for (const options of [undefined, null, 'http://pets.example/v1']) {
    assert.throws(() => create(options), new TypeError(message));
  }
});

const INT64_MAX = 2n ** 63n - 1n;
const ODD_PET = { id: 5n, name: 'x', categoryId: -(2n ** 63n), extra: 1n };

/** Calls, and what is sent below the base URL. */
const CALLS: readonly (readonly [sent: string, call: (to: PetStoreClient) => Promise<unknown>])[] =
  [
    ['GET /pets', (to) => to.listPets()],
    ['GET /pets', (to) => to.listPets({ limit: undefined, status: undefined, after: undefined })],
    ['GET /pets?limit=5', (to) => to.listPets({ limit: 5 })],
    [
      'GET /pets?status=pending&after=9223372036854775807',
      (to) => to.listPets({ status: 'pending', after: INT64_MAX }),
    ],
    ['GET /pets?status=a%26limit%3D1', (to) => to.listPets({ status: 'a&limit=1' as 'sold' })],
    ['GET /pets?after=1', (to) => to.listPets(`${BASE_URL}/pets?after=1`)],
    [
      'GET /pets?limit=100&status=sold',
      (to) => to.allPets({ status: 'sold', limit: undefined }).next(),
    ],
    ['GET /pets?limit=5', (to) => to.allPets({ limit: 5 }).next()],
    [
      'POST /pets {"name":"Rex","categoryId":9007199254740991}',
      (to) => to.createPet({ name: 'Rex', categoryId: 2 ** 53 - 1 }),
    ],
    [
      'POST /pets {"name":"","categoryId":0}',
      (to) => to.createPet({ name: '', categoryId: -0, status: undefined }),
    ],
    [
      'POST /pets {"name":"\\"\\ud800","categoryId":9223372036854775807,"status":"sold"}',
      (to) => to.createPet({ name: '"\ud800', categoryId: INT64_MAX, status: 'sold' }),
    ],
    ['POST /pets {"name":"x","categoryId":-9223372036854775808}', (to) => to.createPet(ODD_PET)],
  ];

for (const [expected, call] of CALLS) {
  test(`${String(call)} sends ${expected}, with the API key`, async () => {
    const isCreate = expected.startsWith('POST');
    const { client, sent } = scriptedClient([isCreate ? CREATED : LIST]);
    await call(client);
    const { url, init } = sent[0]!;
    const body = init.body === null ? '' : ` ${init.body as string}`;
    assert.equal(`${init.method} ${url.slice(BASE_URL.length)}${body}`, expected);
    const type = isCreate ? { 'Content-Type': 'application/json' } : {};
    const fields = { Authorization: `Bearer ${API_KEY}`, Accept: 'application/json', ...type };
    assert.deepEqual([url.startsWith(BASE_URL), init.headers], [true, fields]);
  });
}

for (const value of [2 ** 53, 1.5, '1', undefined, null, 2n ** 63n, -(2n ** 63n) - 1n]) {
  test(`The integer ${inspect(value)} is refused before anything is sent`, async () => {
    const { client } = scriptedClient([]);
    const int64 = value as bigint;
    const error = typeof value === 'bigint' ? RangeError : TypeError;
    await assert.rejects(client.getPet(int64), error);
    await assert.rejects(client.createPet({ name: 'Rex', categoryId: int64 }), error);
    if (value !== undefined) await assert.rejects(client.listPets({ after: int64 }), error);
  });
}

test('Other invalid arguments are refused before anything is sent', async () => {
  const { client } = scriptedClient([]);
  const message = 'id must be a bigint or a safe integer, not "1"';
  await assert.rejects(client.getPet('1' as unknown as bigint), new TypeError(message));
  const newPet = { name: 7 as unknown as string, categoryId: 7 };
  await assert.rejects(client.createPet(newPet), new TypeError('name must be a string'));
  await assert.rejects(client.listPets({}, { timeoutMs: -1 }), TypeError);
  await assert.rejects(client.getPet(1, { retries: 0.5 }), TypeError);
});
