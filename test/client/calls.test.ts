/**
 * The client on a fetch with scripted responses, and a clock that does not wait.
 *
 * Calls: what each one sends, what it refuses to send, and what it reads. Retries, time limits and
 * aborts: what is retried, when, and what ends a call.
 */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { afterEach, mock, test } from 'node:test';
import { inspect } from 'node:util';
import {
  type ClientOptions,
  createClient,
  type PetPage,
  type PetStoreClient,
  PetStoreError,
} from '../../src/extras/client/client.ts';

const BASE_URL = 'http://pets.example/v1';
const API_KEY = 'secret-Key-1';

/** The time at the start of a test. */
const START: number = Date.parse('2026-11-21T12:00:00Z');

interface SentRequest {
  readonly url: string;
  readonly init: RequestInit;
}

/** Returns the response to one request, or rejects as fetch does. */
type Step = (request: SentRequest) => Response | Promise<Response>;

/** Returns a client whose requests take these steps in order. One more request fails. */
function scriptedClient(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const sent: SentRequest[] = [];
  const clock = mockClock();
  async function scripted(this: unknown, ...[url, init = {}]: Parameters<typeof fetch>) {
    assert.equal(this, undefined, 'A browser refuses to call fetch as a method');
    assert.ok(typeof url === 'string');
    const request = { url, init };
    const step = steps[sent.length];
    // For the client one request too many is a network failure, but the test counts it.
    sent.push(request);
    if (step === undefined) throw new Error(`Request ${sent.length} was not expected: ${url}`);
    return step(request);
  }
  const defaults = { baseUrl: BASE_URL, apiKey: API_KEY, timeoutMs: TIMEOUT_MS, fetch: scripted };
  return { client: createClient({ ...defaults, ...options }), sent, clock };
}

type Fields = Readonly<Record<string, string>>;

function answers(status: number, body: string, headers: Fields = {}): Step {
  return () => new Response(body, { status, headers });
}

function answersError(status: number, code: string, headers: Fields = {}): Step {
  return answers(status, JSON.stringify({ code, message: `It is ${code}`, status }), headers);
}

const breaks: Step = () => Promise.reject(new TypeError('fetch failed'));

/** Never responds, but rejects when the request is aborted, as fetch does. */
const hangs: Step = ({ init }) =>
  new Promise((_resolve, reject) => {
    init.signal!.addEventListener('abort', () => reject(init.signal!.reason));
  });

/** A fetch without the signal, which some environments refuse. */
const hangsDeaf: Step = () => new Promise(() => undefined);

const PET_TEXT = '{"id":1,"name":"Rex","categoryId":7}';

const UPTIME_MS = 1e9;

/** Timers of up to 60 s are waits, which pass immediately. Longer timers are time limits. */
const LONGEST_WAIT_MS = 60_000;
/** The time limit of a client, unless its test has another. */
const TIMEOUT_MS: number = LONGEST_WAIT_MS + 10_000;

/** Replaces the clock until the test ends, or the next client is made. */
function mockClock() {
  let now = UPTIME_MS;
  const running = new Map<() => void, number>();
  const clock = {
    /** The milliseconds of each wait before a retry. */
    waits: [] as number[],
    /** If false, a wait does not pass. */
    passes: true,
    /** The running timers: a wait that does not pass, or a time limit. */
    running: (): readonly number[] => [...running.values()],
    /** Lets the time limit pass. */
    fireTimeLimit(): void {
      for (const [callback, ms] of running) if (ms > LONGEST_WAIT_MS) callback();
    },
  };
  mock.restoreAll();
  mock.method(URL, 'canParse', () => assert.fail('Safari 16 does not have it'));
  mock.method(crypto, 'randomUUID', () => assert.fail('A page without TLS does not have it'));
  // The time of day is set forward during each wait.
  mock.method(Date, 'now', () => START + 1000 * (now - UPTIME_MS));
  mock.method(performance, 'now', () => now);
  mock.method(Math, 'random', () => 0.5);
  // A timer is known by its callback.
  mock.method(globalThis, 'clearTimeout', (timer: () => void) => running.delete(timer));
  mock.method(globalThis, 'setTimeout', (callback: () => void, ms: number) => {
    const isWait = ms <= LONGEST_WAIT_MS;
    if (isWait) clock.waits.push(ms);
    if (isWait && clock.passes) {
      now += ms;
      queueMicrotask(callback);
    } else running.set(callback, ms);
    return callback;
  });
  return clock;
}

afterEach(() => mock.restoreAll());

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
  ['fetch must be a function, not "fetch"', { fetch: 'fetch' }],
  ['createClient may have baseUrl, apiKey, timeoutMs, retries, fetch, and no retry', { retry: 5 }],
  ['and no signal', { signal: new AbortController().signal }],
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
  const notASignal = new TypeError('signal must be an AbortSignal, not an object');
  await assert.rejects(client.getPet(1, { signal: {} as AbortSignal }), notASignal);
  const options = 'signal, timeoutMs, retries, idempotencyKey';
  await assert.rejects(client.createPet(REX, { idempotencykey: 'k' } as never), {
    name: 'TypeError',
    message: `The options of createPet may have ${options}, and no idempotencykey`,
  });
  const message = 'A query may have limit, status, after, and no statu';
  await assert.rejects(client.listPets({ statu: 'sold' } as never), { name: 'TypeError', message });
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
  ...['', '<!doctype html>', '{"id":1,"name":"Rex"', '['.repeat(100_000)].map(
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
  // A development server's proxy sends such a 500 for a response that was lost.
  const proxied = scriptedClient([answers(500, 'Internal Server Error')]).client;
  const message = /no Error body; whether the pet was added is not known$/;
  await assert.rejects(proxied.createPet(REX), { code: 'unexpected_status', message });
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

const PAGE: Step = answers(200, `[${PET_TEXT}]`);
const REX_1 = { id: 1n, name: 'Rex', categoryId: 7n };

/** Returns a step whose response does not end, or ends in the middle. */
function streams(start: (body: ReadableStreamDefaultController, init: RequestInit) => void): Step {
  return ({ init }) => new Response(new ReadableStream({ start: (body) => start(body, init) }));
}

const breaksInBody: Step = streams((body) => {
  body.enqueue(new TextEncoder().encode('[{"id":1,'));
  body.error(new TypeError('terminated'));
});

const endless: Step = streams((body, { signal }) => {
  signal!.addEventListener('abort', () => body.error(signal!.reason));
});

type Kind = 'GET' | 'POST' | 'POST with a key';
const KINDS: readonly Kind[] = ['GET', 'POST', 'POST with a key'];

/** Sends a request of this kind, with the default of two retries. */
function sendOne(client: PetStoreClient, kind: Kind): Promise<unknown> {
  if (kind === 'GET') return client.listPets();
  const options = kind === 'POST' ? {} : { idempotencyKey: 'order-4711' };
  return client.createPet(REX, options);
}

/** The kinds that are safe to repeat, whether or not the service executed the request. */
const SAFE: readonly Kind[] = ['GET', 'POST with a key'];

const NO_BACKEND = '<h1>Try later</h1>';
const OTHER_STATUS = '{"code":"unavailable","message":"","status":502}';

/** What a request got, the code of the error, and which kinds of requests the client retries. */
const RETRIED: readonly (readonly [what: string, Step, code: string, readonly Kind[]])[] = [
  ['no response', breaks, 'network_failure', SAFE],
  ['half a response', breaksInBody, 'network_failure', SAFE],
  ["a proxy's 502", answers(502, ''), 'unexpected_status', SAFE],
  ["a proxy's 503", answers(503, NO_BACKEND), 'unexpected_status', SAFE],
  ["a proxy's 504", answers(504, 'null'), 'unexpected_status', SAFE],
  ["a proxy's 503 in JSON", answersError(503, 'no_backend'), 'no_backend', SAFE],
  ['a 502 with our code', answersError(502, 'unavailable'), 'unavailable', SAFE],
  ['a 503 with another status in its body', answers(503, OTHER_STATUS), 'unexpected_status', SAFE],
  ["the service's 503", answersError(503, 'unavailable'), 'unavailable', KINDS],
  ['a 500', answersError(500, 'internal_error'), 'internal_error', ['POST with a key']],
  ['a 500 in doubt', answersError(500, 'outcome_unknown'), 'outcome_unknown', ['POST with a key']],
  ...[400, 401, 404, 408, 410, 413, 415, 422].map(
    (status) => [`a ${status}`, answersError(status, 'x'), 'x', []] as const,
  ),
  ['a 429', answers(429, ''), 'unexpected_status', []],
  ['a 200 that is not JSON', answers(200, '<h1>Hello</h1>'), '', []],
];

for (const [what, step, code, retried] of RETRIED) {
  for (const kind of KINDS) {
    const isRetried = retried.includes(kind);
    test(`A ${kind} that got ${what} is ${isRetried ? 'retried twice' : 'not retried'}`, async () => {
      const failing = scriptedClient([step, step, step]);
      const expected = code === '' ? { name: 'PetStoreError' } : { name: 'PetStoreError', code };
      await assert.rejects(sendOne(failing.client, kind), expected);
      assert.equal(failing.sent.length, isRetried ? 3 : 1);
      if (!isRetried) return;
      const { client, sent, clock } = scriptedClient([step, step, kind === 'GET' ? PAGE : CREATED]);
      const value = await sendOne(client, kind);
      assert.deepEqual(kind === 'GET' ? (value as PetPage).pets : [value], [REX_1]);
      assert.equal(clock.waits.length, 2);
      assert.equal(new Set(sent.map(({ init }) => `${keySent({ init })} ${init.body}`)).size, 1);
    });
  }
}

/** Idempotency keys, and the values of Idempotency-Key. */
const KEYS: readonly (readonly [key: string | false | undefined, value: string | undefined])[] = [
  [undefined, undefined],
  [false, undefined],
  ['a"b\\', 'a"b\\'],
  ['"a', '"\\"a"'],
  ['"a\\"', '"\\"a\\\\\\""'],
  ['x'.repeat(255), 'x'.repeat(255)],
];

test('An idempotency key is sent exactly, made for `true`, or refused before anything is sent', async () => {
  const { client, sent } = scriptedClient([...KEYS.map(() => CREATED), breaks, CREATED, CREATED]);
  for (const [idempotencyKey] of KEYS) await client.createPet(REX, { idempotencyKey });
  const values = KEYS.map(([, value]) => value);
  assert.deepEqual(sent.map(keySent), values);
  for (const key of ['', 'two words', 'é', 'x'.repeat(256), 7]) {
    await assert.rejects(client.createPet(REX, { idempotencyKey: key as string }), TypeError);
  }
  for (let call = 0; call < 2; call += 1) await client.createPet(REX, { idempotencyKey: true });
  const [first, retried, second] = sent.slice(KEYS.length).map(keySent);
  assert.equal(first, retried);
  assert.notEqual(first, second);
  // 128 random bits.
  for (const key of [first, second]) assert.match(key ?? '', /^[0-9a-f]{32}$/);
});

function keySent({ init }: { readonly init: RequestInit }): string | undefined {
  return (init.headers as Record<string, string>)['Idempotency-Key'];
}

/** Returns what Node's error of a system call has. */
function systemError(syscall: string): object {
  return { syscall, message: `${syscall} failed` };
}

function failsFor(cause: unknown): Step {
  return () => Promise.reject(new TypeError('fetch failed', { cause }));
}

/** Causes of fetch's error, the reason in the message, and true if nothing was sent. */
const CAUSES: readonly (readonly [cause: unknown, reason: string, isBefore?: boolean])[] = [
  [systemError('getaddrinfo'), 'getaddrinfo failed', true],
  [{ errors: ['connect', 'getaddrinfo'].map(systemError) }, 'connect failed', true],
  [{ code: 'UND_ERR_CONNECT_TIMEOUT', message: 'Timeout' }, 'Timeout', true],
  [
    { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', message: 'self-signed certificate' },
    'self-signed certificate',
    true,
  ],
  [
    { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', message: 'unable to verify' },
    'unable to verify',
    true,
  ],
  [{ message: 'bad port' }, 'bad port', true],
  // The server asks for a certificate after the request was sent.
  [{ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', message: 'alert' }, 'alert'],
  [{ message: `Bearer ${API_KEY} is wrong` }, 'Bearer [API key] is wrong'],
  [systemError('read'), 'read failed'],
  [{ errors: ['connect', 'read'].map(systemError) }, 'connect failed'],
  [{ errors: [] }, 'fetch failed'],
  [{ errors: 'connect' }, 'fetch failed'],
  ['connect', 'fetch failed'],
  [null, 'fetch failed'],
];

test('An error of fetch leaves a create in doubt, unless no connection was opened', async () => {
  const inDoubt = 'whether the pet was added is not known';
  for (const [cause, reason, isBefore = false] of CAUSES) {
    const { client } = scriptedClient([failsFor(cause)]);
    const failure = isBefore
      ? `cannot reach the service: ${reason}; no pet was added`
      : `got no complete response: ${reason}; ${inDoubt}`;
    await assert.rejects(client.createPet(REX), {
      code: 'network_failure',
      message: `createPet at http://pets.example ${failure}`,
    });
  }
  const inBun = (): never => {
    throw Object.assign(new Error('Unable to connect'), { code: 'ConnectionRefused' });
  };
  await assert.rejects(scriptedClient([inBun]).client.createPet(REX), {
    message:
      'createPet at http://pets.example cannot reach the service: Unable to connect; no pet was added',
  });
});

test('The last error of a create says whether an attempt before may have added the pet', async () => {
  const unreached = failsFor(systemError('connect'));
  const unavailable = answersError(503, 'unavailable');
  for (const last of [unavailable, unreached, answersError(401, 'x'), answersError(404, 'x')]) {
    for (const lost of [breaks, answers(504, ''), answersError(500, 'outcome_unknown')]) {
      const { client } = scriptedClient([lost, unavailable, last]);
      const adding = client.createPet(REX, { idempotencyKey: 'k' });
      await assert.rejects(adding, { message: /; whether the pet was added is not known$/ });
    }
    const { client } = scriptedClient([unavailable, unreached, last]);
    const error: unknown = await client
      .createPet(REX, { idempotencyKey: 'k' })
      .catch((thrown) => thrown);
    assert.doesNotMatch(String(error), /is not known/);
  }
});

test('A browser’s error names CORS, unless the page has the origin of the service', async (t) => {
  const global = globalThis as { location?: object };
  t.after(() => delete global.location);
  for (const [origin, hint] of [
    [
      'http://shop.example',
      ', or the page is from an origin that the service does not allow (CORS)',
    ],
    ['http://pets.example', ''],
  ] as const) {
    global.location = { origin };
    const browser = scriptedClient([breaks], { retries: 0 }).client;
    const message = `listPets at http://pets.example got no complete response: fetch failed${hint}`;
    await assert.rejects(browser.listPets(), { code: 'network_failure', message });
  }
});

test('A request that fetch itself refuses is not tried again, and the error says why', async (t) => {
  const { AbortController: own } = globalThis;
  t.after(() => (globalThis.AbortController = own));
  // As a DOM for tests does: its signals are of another class.
  Object.assign(globalThis, { AbortController: OtherController });
  const fails = (): never => assert.fail('Expected signal to be an instance of AbortSignal');
  const { client, sent } = scriptedClient([fails, CREATED]);
  await assert.rejects(client.createPet(REX, { idempotencyKey: true }), {
    code: 'network_failure',
    message:
      'createPet at http://pets.example cannot be sent: ' +
      'Expected signal to be an instance of AbortSignal; no pet was added',
  });
  assert.equal(sent.length, 1);
});

class OtherController {
  readonly signal = Object.assign(new EventTarget(), { throwIfAborted: () => undefined });
  abort(): void {}
}

test('Each call uses the fetch of its moment, if the client has none of its own', async () => {
  const client = createClient({ baseUrl: BASE_URL, apiKey: API_KEY });
  const later = mock.method(globalThis, 'fetch', async () => new Response('[]'));
  await client.listPets();
  assert.equal(later.mock.callCount(), 1);
});

test('The option retries is for the client or one call; waits grow to 5 s, half of each random', async () => {
  const off = scriptedClient([breaks, breaks, PAGE], { retries: 0 });
  await assert.rejects(off.client.listPets(), { code: 'network_failure' });
  await off.client.listPets({}, { retries: 1 });
  assert.equal(off.sent.length, 3);
  const { client, clock } = scriptedClient([...Array<Step>(8).fill(breaks), PAGE], { retries: 8 });
  await client.listPets();
  assert.deepEqual(clock.waits, [150, 300, 600, 1200, 2400, 3750, 3750, 3750]);
});

const at = (ms: number): string => new Date(START + ms).toUTCString();

/** Values of Retry-After, by the time that they ask for. */
const RETRY_AFTER: readonly (readonly [askedMs: number, ...fields: string[]])[] = [
  [2000, '2'],
  [3000, at(3000)],
  [4000, 'Saturday, 21-Nov-26 12:00:04 GMT'],
  [30_000, '30'],
  [0, '0', '-1', '1.5', '2030-01-01T00:00:00Z', 'soon', '', at(0), at(-3000)],
  [0, 'Sat, 99 Nov 2026 12:00:03 GMT'],
  [Infinity, '31', '99999999999999999999999999', at(31_000), at(1e9)],
];

test('The client waits as Retry-After asks, up to 30 s, and half a backoff longer', async () => {
  for (const [askedMs, ...fields] of RETRY_AFTER) {
    for (const field of fields) {
      const step = answersError(503, 'unavailable', { 'Retry-After': field });
      const { client, clock } = scriptedClient([step, PAGE]);
      const listing = client.listPets();
      if (askedMs === Infinity) await assert.rejects(listing, { code: 'unavailable' });
      else await listing;
      assert.deepEqual(clock.waits, askedMs === Infinity ? [] : [askedMs + 150], field);
    }
  }
  // The clock of the service is a minute behind.
  const fields = { Date: at(-60_000), 'Retry-After': at(-58_000) };
  const { client, clock } = scriptedClient([answersError(503, 'unavailable', fields), PAGE]);
  await client.listPets();
  assert.deepEqual(clock.waits, [2150]);
});

/** Moments of a call: its step, and the timers that run then. */
const MOMENTS: readonly (readonly [when: string, step: Step, running: readonly number[]])[] = [
  ['before a response', hangs, [TIMEOUT_MS]],
  ['before a response of a fetch without a signal', hangsDeaf, [TIMEOUT_MS]],
  ['during a response', endless, [TIMEOUT_MS]],
  ['during a wait', breaks, [TIMEOUT_MS, 150]],
];

const TIMEOUT = { name: 'PetStoreError', code: 'timeout', status: undefined };

for (const [when, step, running] of MOMENTS) {
  for (const end of ['The time limit', 'An abort']) {
    test(`${end} ${when} ends the call, without a retry`, async () => {
      const { client, sent, clock } = scriptedClient([step]);
      clock.passes = false;
      const controller = new AbortController();
      const listing = client.listPets({}, { signal: controller.signal });
      await new Promise(setImmediate);
      assert.deepEqual(clock.running(), running);
      const reason = new Error('Never mind');
      if (end === 'An abort') controller.abort(reason);
      else clock.fireTimeLimit();
      await assert.rejects(listing, end === 'An abort' ? reason : TIMEOUT);
      assert.equal(sent.length, 1);
      assert.deepEqual(clock.running(), []);
    });
  }
}

test('A wait that would exceed the time limit does not begin: the call rejects with the failure', async () => {
  const step = answersError(503, 'unavailable', { 'Retry-After': '30' });
  const { client, clock } = scriptedClient([step, step, step], { retries: 9 });
  await assert.rejects(client.listPets(), { code: 'unavailable' });
  assert.deepEqual(clock.waits, [30_150, 30_300]);
  assert.deepEqual(clock.running(), []);
});

test('The time limit is 30 s, can be infinite, and can be set for one call', async () => {
  const byDefault = scriptedClient([hangs], { timeoutMs: undefined }).client;
  await assert.rejects(byDefault.listPets(), { code: 'timeout', message: /than 30000 ms$/ });
  const { client, clock } = scriptedClient([hangs, hangs, hangs]);
  void client.listPets({}, { timeoutMs: Infinity });
  assert.deepEqual(clock.running(), []);
  void client.listPets({}, { timeoutMs: 2 ** 31 - 1 });
  // A longer timer would fire immediately.
  void client.listPets({}, { timeoutMs: 2 ** 31 });
  assert.deepEqual(clock.running(), [2 ** 31 - 1]);
});

test('An abort before a call prevents it, and between two pages it ends the iteration', async () => {
  const { client, sent, clock } = scriptedClient([page('</v1/pets?after=1>; rel="next"')]);
  const reason = new Error('Never mind');
  await assert.rejects(client.getPet(1n, { signal: AbortSignal.abort(reason) }), reason);
  assert.deepEqual([sent.length, clock.running()], [0, []]);
  const controller = new AbortController();
  const pets = client.allPets({}, { signal: controller.signal });
  assert.deepEqual((await pets.next()).value, REX_1);
  controller.abort(reason);
  await assert.rejects(pets.next(), reason);
  assert.equal(sent.length, 1);
});

test('A signal has one listener for all calls, and ends those in progress', async () => {
  const { client, sent } = scriptedClient([PAGE, ...Array<Step>(12).fill(hangs)]);
  const [controller, reason] = [new AbortController(), new Error('Never mind')];
  const { signal } = controller;
  await client.listPets({}, { signal });
  const calls = Array.from({ length: 12 }, () => client.listPets({}, { signal }));
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  controller.abort(reason);
  for (const call of await Promise.allSettled(calls)) {
    assert.deepEqual(call, { status: 'rejected', reason });
  }
  assert.equal(sent.length, 13);
});
