/** Retries, time limits and aborts: what is sent again, when, and what ends it. */

import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, test } from 'node:test';
import { PetStoreError, type ClientOptions } from '../../src/client/client.ts';
import {
  answers,
  answersError,
  breaks,
  hangs,
  LONGEST_WAIT_MS,
  PET_TEXT,
  scriptedClient,
  START,
  type ScriptedClient,
  type Step,
} from './scripted-fetch.ts';

const TIMEOUT_MS = LONGEST_WAIT_MS + 10_000;
const PAGE: Step = answers(200, `[${PET_TEXT}]`);
const CREATED: Step = answers(201, PET_TEXT);
const REX = { id: 1n, name: 'Rex', categoryId: 7n };

function scripted(steps: readonly Step[], options: Partial<ClientOptions> = {}): ScriptedClient {
  return scriptedClient(steps, { timeoutMs: TIMEOUT_MS, ...options });
}

/** An answer that breaks off in the middle of its body. */
const breaksInBody: Step = () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('[{"id":1,'));
      controller.error(new TypeError('terminated'));
    },
  });
  return new Response(body, { status: 200 });
};

const PASSING: readonly (readonly [what: string, step: Step, code: string])[] = [
  ['no answer', breaks, 'network_failure'],
  ['half an answer', breaksInBody, 'network_failure'],
  ["a proxy's 502", answers(502, '<h1>Bad Gateway</h1>'), 'unexpected_status'],
  ["a proxy's 503", answers(503, ''), 'unexpected_status'],
  ["the service's 503", answersError(503, 'unavailable'), 'unavailable'],
  ["a proxy's 504", answers(504, 'null'), 'unexpected_status'],
];

for (const [what, step, code] of PASSING) {
  test(`A GET that got ${what} is sent again, twice at most`, async () => {
    const { client, sent, clock } = scripted([step, step, PAGE]);
    assert.deepEqual((await client.listPets()).pets, [REX]);
    assert.equal(sent.length, 3);
    assert.equal(clock.waits.length, 2);
    const hopeless = scripted([step, step, step]);
    await assert.rejects(hopeless.client.getPet(1n), { name: 'PetStoreError', code });
    assert.equal(hopeless.sent.length, 3);
  });
}

const LASTING: readonly (readonly [what: string, step: Step])[] = [
  ['400', answersError(400, 'invalid_parameter')],
  ['401', answersError(401, 'unauthorized')],
  ['404', answersError(404, 'not_found')],
  ['408', answersError(408, 'request_timeout')],
  ['410', answersError(410, 'operation_removed')],
  ['429', answers(429, '')],
  ['500', answersError(500, 'internal_error')],
  ['200 that is no JSON', answers(200, '<h1>Hello</h1>')],
];

for (const [what, step] of LASTING) {
  test(`A GET that got a ${what} is not sent again`, async () => {
    const { client, sent } = scripted([step]);
    await assert.rejects(client.listPets(), PetStoreError);
    assert.equal(sent.length, 1);
  });
}

test('A POST is sent again when the service says that nothing was added', async () => {
  const refused = answersError(503, 'unavailable', { 'Retry-After': '1' });
  const { client, sent, clock } = scripted([refused, refused, CREATED]);
  assert.deepEqual(await client.createPet({ name: 'Rex', categoryId: 7 }), REX);
  assert.equal(new Set(sent.map(({ init }) => init.body)).size, 1);
  assert.ok(clock.waits.every((ms) => ms > 1000));
});

const OTHER_STATUS = '{"code":"unavailable","message":"","status":502}';

const DOUBTFUL: readonly (readonly [what: string, step: Step])[] = [
  ['no answer', breaks],
  ['half an answer', breaksInBody],
  ["a proxy's 502", answers(502, '')],
  ["a proxy's 503", answers(503, '<h1>Try later</h1>', { 'Retry-After': '1' })],
  ["a proxy's 503 in JSON", answersError(503, 'no_backend')],
  ["a proxy's 504", answers(504, '')],
  ['a 502 with our code', answersError(502, 'unavailable')],
  ['a 503 whose body has another status', answers(503, OTHER_STATUS)],
  ['a 500', answersError(500, 'internal_error')],
];

for (const [what, step] of DOUBTFUL) {
  test(`A POST that got ${what} is not sent again, for the pet may have been added`, async () => {
    const { client, sent } = scripted([step]);
    const adding = client.createPet({ name: 'Rex', categoryId: 7 }, { retries: 5 });
    await assert.rejects(adding, PetStoreError);
    assert.equal(sent.length, 1);
  });
}

const SAFE_WITH_KEY: typeof DOUBTFUL = [
  ...DOUBTFUL,
  ["the service's 503", answersError(503, 'unavailable')],
  ['a 500 that tells of doubt', answersError(500, 'outcome_unknown')],
];

for (const [what, step] of SAFE_WITH_KEY) {
  test(`A POST with a key that got ${what} is sent again, with the same key`, async () => {
    const { client, sent } = scripted([step, step, CREATED]);
    const options = { idempotencyKey: 'order-4711' };
    assert.deepEqual(await client.createPet({ name: 'Rex', categoryId: 7 }, options), REX);
    assert.deepEqual(sent.map(keySent), ['order-4711', 'order-4711', 'order-4711']);
    assert.equal(new Set(sent.map(({ init }) => init.body)).size, 1);
  });
}

for (const status of [400, 401, 413, 415, 422]) {
  test(`A POST with a key that got ${status} is not sent again`, async () => {
    const { client, sent } = scripted([answersError(status, 'x')]);
    const adding = client.createPet({ name: 'Rex', categoryId: 7 }, { idempotencyKey: 'k' });
    await assert.rejects(adding, PetStoreError);
    assert.equal(sent.length, 1);
  });
}

test('The client makes a key where it is asked to: one for a call, another for the next', async () => {
  const { client, sent } = scripted([breaks, CREATED, breaks, CREATED]);
  for (let call = 0; call < 2; call += 1) {
    await client.createPet({ name: 'Rex', categoryId: 7 }, { idempotencyKey: true });
  }
  const keys = sent.map(keySent);
  assert.equal(keys[0], keys[1]);
  assert.equal(keys[2], keys[3]);
  assert.notEqual(keys[0], keys[2]);
  for (const key of keys) assert.match(key ?? '', /^[0-9a-f-]{36}$/);
});

test('Without an idempotency key none is sent, and a GET has none', async () => {
  const { client, sent } = scripted([CREATED, CREATED, PAGE]);
  await client.createPet({ name: 'Rex', categoryId: 7 });
  await client.createPet({ name: 'Rex', categoryId: 7 }, { idempotencyKey: false });
  await client.listPets();
  assert.deepEqual(sent.map(keySent), [undefined, undefined, undefined]);
});

test('A key is sent as it is, except that one that begins with a quote is sent in quotes', async () => {
  const cases = [
    ['a"b\\', 'a"b\\'],
    ['"a', '"\\"a"'],
    ['"a\\"', '"\\"a\\\\\\""'],
  ] as const;
  for (const [idempotencyKey, value] of cases) {
    const { client, sent } = scripted([CREATED]);
    await client.createPet({ name: 'Rex', categoryId: 7 }, { idempotencyKey });
    assert.deepEqual(sent.map(keySent), [value]);
  }
});

for (const key of ['', 'two words', 'é', 'x'.repeat(256), 7 as unknown as string]) {
  test(`The key ${JSON.stringify(key).slice(0, 20)} is refused, and nothing is sent`, async () => {
    const { client, sent } = scripted([]);
    const adding = client.createPet({ name: 'Rex', categoryId: 7 }, { idempotencyKey: key });
    await assert.rejects(adding, TypeError);
    assert.equal(sent.length, 0);
  });
}

function keySent({ init }: ScriptedClient['sent'][number]): string | undefined {
  return (init.headers as Record<string, string>)['Idempotency-Key'];
}

test('A POST without an answer says what is not known, and a GET does not', async () => {
  const { client } = scripted([breaks, breaks], { retries: 0 });
  const adding = client.createPet({ name: 'Rex', categoryId: 7 });
  await assert.rejects(adding, { message: /^createPet at http:.*whether the pet was added/ });
  await assert.rejects(client.listPets(), { message: /^listPets at http:\/\/pets.example got no/ });
});

const CAUSES: readonly (readonly [what: string, cause: unknown, reason: string | undefined])[] = [
  ['a refused connection', systemError('connect', 'a'), 'a'],
  ['an unknown host', systemError('getaddrinfo', 'b'), 'b'],
  ['two refused addresses', { errors: ['c', 'd'].map((m) => systemError('connect', m)) }, 'c'],
  ['a reset', systemError('read', 'e'), undefined],
  [
    'a reset beside a refusal',
    { errors: ['connect', 'read'].map((call) => systemError(call, call)) },
    undefined,
  ],
  ['no address', { errors: [] }, undefined],
  ['errors that are no list', { errors: 'connect' }, undefined],
  ['a text', 'connect', undefined],
  ['null', null, undefined],
];

function systemError(syscall: string, message: string): Error {
  return Object.assign(new Error(message), { syscall });
}

function failsFor(cause: unknown): Step {
  return () => Promise.reject(new TypeError('fetch failed', { cause }));
}

for (const [what, cause, reason] of CAUSES) {
  const tells = reason === undefined ? 'is in doubt' : 'says that no pet was added';
  test(`A POST that failed for ${what} ${tells}`, async () => {
    const { client } = scripted([failsFor(cause)]);
    const at = 'createPet at http://pets.example';
    const message =
      reason === undefined
        ? `${at} got no whole answer; whether the pet was added is not known`
        : `${at} cannot reach the service: ${reason}; no pet was added`;
    await assert.rejects(client.createPet({ name: 'Rex', categoryId: 7 }), {
      code: 'network_failure',
      message,
    });
  });
}

test('A refused connection after a request that was sent leaves the doubt', async () => {
  const refused = failsFor(systemError('connect', 'refused'));
  const { client } = scripted([breaks, refused, refused]);
  const adding = client.createPet({ name: 'Rex', categoryId: 7 }, { idempotencyKey: 'k' });
  const message = /cannot reach the service: refused; whether the pet was added is not known$/;
  await assert.rejects(adding, { message });
});

test('retries is for the client or for one call, and 0 turns them off', async () => {
  const off = scripted([breaks, breaks, PAGE], { retries: 0 });
  await assert.rejects(off.client.listPets(), { code: 'network_failure' });
  await off.client.listPets({}, { retries: 1 });
  assert.equal(off.sent.length, 3);
  const many = scripted([breaks, breaks, breaks, breaks, PAGE], { retries: 4 });
  await many.client.listPets();
});

test('The waits grow, to 5 s at most, and half of each is chance', async () => {
  const { client, clock } = scripted([...Array<Step>(8).fill(breaks), PAGE], { retries: 8 });
  await client.listPets();
  assert.deepEqual(clock.waits, [150, 300, 600, 1200, 2400, 3750, 3750, 3750]);
});

describe('Retry-After', () => {
  const at = (ms: number): string => new Date(START + ms).toUTCString();
  const FIELDS: readonly (readonly [field: string, askedMs: number])[] = [
    ['0', 0],
    ['2', 2000],
    ['30', 30_000],
    [at(3000), 3000],
    [at(0), 0],
    [at(-3000), 0],
    ['Saturday, 21-Nov-26 12:00:04 GMT', 4000],
    ['-1', 0],
    ['1.5', 0],
    ['2030-01-01T00:00:00Z', 0],
    ['soon', 0],
    ['', 0],
    ['Sat, 99 Nov 2026 12:00:03 GMT', 0],
  ];
  for (const [field, askedMs] of FIELDS) {
    test(`'${field}' is ${askedMs} ms more than the backoff`, async () => {
      const step = answersError(503, 'unavailable', { 'Retry-After': field });
      const { client, clock } = scripted([step, PAGE]);
      await client.listPets();
      assert.deepEqual(clock.waits, [askedMs + 150]);
    });
  }

  for (const field of ['31', '99999999999999999999999999', at(31_000), at(1e9)]) {
    test(`'${field}' is too long to wait for: the failure comes at once`, async () => {
      const step = answersError(503, 'unavailable', { 'Retry-After': field });
      const { client, clock } = scripted([step]);
      await assert.rejects(client.listPets(), { code: 'unavailable', status: 503 });
      assert.deepEqual(clock.waits, []);
    });
  }
});

describe('The time limit', () => {
  test('ends a call without an answer', async () => {
    const { client, clock } = scripted([hangs]);
    const listing = client.listPets();
    clock.fireTimeLimit();
    await assert.rejects(listing, { name: 'PetStoreError', code: 'timeout', status: undefined });
    assert.deepEqual(clock.running(), []);
  });

  test('ends an answer that does not end', async () => {
    const endless: Step = ({ init }) => {
      const start = (controller: ReadableStreamDefaultController): void => {
        init.signal!.addEventListener('abort', () => controller.error(init.signal!.reason));
      };
      return new Response(new ReadableStream({ start }), { status: 200 });
    };
    const { client, clock } = scripted([endless]);
    const listing = client.listPets();
    await new Promise(setImmediate);
    clock.fireTimeLimit();
    await assert.rejects(listing, { code: 'timeout' });
  });

  test('is that of the whole call, the waits included', async () => {
    const { client, clock, sent } = scripted([breaks]);
    clock.passes = false;
    const listing = client.listPets();
    await new Promise(setImmediate);
    assert.deepEqual(clock.running(), [TIMEOUT_MS, 150]);
    clock.fireTimeLimit();
    await assert.rejects(listing, { code: 'timeout' });
    assert.equal(sent.length, 1);
    assert.deepEqual(clock.running(), []);
  });

  test('that would pass in a wait ends the call at once, with the failure itself', async () => {
    const step = answersError(503, 'unavailable', { 'Retry-After': '30' });
    const { client, clock } = scripted([step, step, step], { retries: 9 });
    await assert.rejects(client.listPets(), { code: 'unavailable' });
    assert.deepEqual(clock.waits, [30_150, 30_300]);
    assert.deepEqual(clock.running(), []);
  });

  test('may be none, or that of one call', async () => {
    const { client, clock } = scripted([hangs, hangs, hangs]);
    const signal = AbortSignal.abort();
    const list = (timeoutMs: number): Promise<unknown> => client.listPets({}, { timeoutMs });
    void list(Infinity);
    assert.deepEqual(clock.running(), []);
    void list(TIMEOUT_MS + 1);
    assert.deepEqual(clock.running(), [TIMEOUT_MS + 1]);
    await assert.rejects(client.listPets({}, { signal }));
    assert.deepEqual(clock.running(), [TIMEOUT_MS + 1]);
  });
});

describe('An abort', () => {
  test('before the call sends nothing', async () => {
    const { client, sent } = scripted([]);
    const reason = new Error('Never mind');
    await assert.rejects(client.getPet(1n, { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(sent.length, 0);
  });

  test('during the call ends it with the reason, and nothing is sent again', async () => {
    const { client, sent, clock } = scripted([hangs]);
    const controller = new AbortController();
    const listing = client.listPets({}, { signal: controller.signal });
    controller.abort();
    await assert.rejects(listing, { name: 'AbortError' });
    assert.equal(sent.length, 1);
    assert.deepEqual(clock.running(), []);
  });

  test('during a wait ends it at once', async () => {
    const { client, clock } = scripted([breaks]);
    clock.passes = false;
    const controller = new AbortController();
    const listing = client.listPets({}, { signal: controller.signal });
    await new Promise(setImmediate);
    assert.deepEqual(clock.running(), [TIMEOUT_MS, 150]);
    controller.abort(new Error('Never mind'));
    await assert.rejects(listing, { message: 'Never mind' });
    assert.deepEqual(clock.running(), []);
  });

  test('between two pages ends the list', async () => {
    const link = { Link: '</v1/pets?after=1>; rel="next"' };
    const { client, sent } = scripted([answers(200, `[${PET_TEXT}]`, link)]);
    const controller = new AbortController();
    const pets = client.allPets({}, { signal: controller.signal });
    assert.deepEqual((await pets.next()).value, REX);
    controller.abort(new Error('Enough'));
    await assert.rejects(pets.next(), { message: 'Enough' });
    assert.equal(sent.length, 1);
  });

  test('of one signal that many calls share leaves nothing behind on it', async () => {
    const { client } = scripted([PAGE, PAGE, breaks, PAGE]);
    const signal = new AbortController().signal;
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(signal, args);
    };
    for (let i = 0; i < 3; i += 1) await client.listPets({}, { signal });
    assert.equal(listeners, 0);
  });
});

test('A failure of the network has its cause, and the key is nowhere in it', async () => {
  const { client } = scripted([breaks], { retries: 0, apiKey: 'k-123456' });
  await assert.rejects(client.listPets(), (error: PetStoreError) => {
    assert.equal(error.code, 'network_failure');
    assert.equal(error.status, undefined);
    assert.match(String(error.cause), /fetch failed/);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes('k-123456'));
    return true;
  });
});
