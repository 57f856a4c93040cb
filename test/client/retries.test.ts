/** Retries, time limits and aborts: what is retried, when, and what ends a call. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { type PetPage, type PetStoreClient } from '../../src/client/client.ts';
import {
  answers,
  answersError,
  breaks,
  hangs,
  PET_TEXT,
  scriptedClient,
  START,
  TIMEOUT_MS,
  type Step,
} from './scripted-fetch.ts';

const PAGE: Step = answers(200, `[${PET_TEXT}]`);
const CREATED: Step = answers(201, PET_TEXT);
const REX = { id: 1n, name: 'Rex', categoryId: 7n };

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
  return client.createPet({ name: 'Rex', categoryId: 7 }, options);
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
      assert.deepEqual(kind === 'GET' ? (value as PetPage).pets : [value], [REX]);
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
  const rex = { name: 'Rex', categoryId: 7 };
  const { client, sent } = scriptedClient([...KEYS.map(() => CREATED), breaks, CREATED, CREATED]);
  for (const [idempotencyKey] of KEYS) await client.createPet(rex, { idempotencyKey });
  const values = KEYS.map(([, value]) => value);
  assert.deepEqual(sent.map(keySent), values);
  for (const key of ['', 'two words', 'é', 'x'.repeat(256), 7]) {
    await assert.rejects(client.createPet(rex, { idempotencyKey: key as string }), TypeError);
  }
  for (let call = 0; call < 2; call += 1) await client.createPet(rex, { idempotencyKey: true });
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

/** Causes of fetch's error, and why no connection could be opened, if that is certain. */
const CAUSES: readonly (readonly [cause: unknown, reason?: string])[] = [
  [systemError('getaddrinfo'), 'getaddrinfo failed'],
  [{ errors: ['connect', 'getaddrinfo'].map(systemError) }, 'connect failed'],
  [systemError('read')],
  [{ errors: ['connect', 'read'].map(systemError) }],
  [{ errors: [] }],
  [{ errors: 'connect' }],
  ['connect'],
  [null],
];

test('An error of fetch leaves a create in doubt, unless no connection was opened, then or before', async () => {
  const inDoubt = 'whether the pet was added is not known';
  for (const [cause, reason] of CAUSES) {
    const { client } = scriptedClient([failsFor(cause)]);
    const failure =
      reason === undefined
        ? `got no complete response; ${inDoubt}`
        : `cannot reach the service: ${reason}; no pet was added`;
    await assert.rejects(client.createPet({ name: 'Rex', categoryId: 7 }), {
      code: 'network_failure',
      message: `createPet at http://pets.example ${failure}`,
    });
  }
  const refused = failsFor(systemError('connect'));
  const { client } = scriptedClient([breaks, refused, refused]);
  const adding = client.createPet({ name: 'Rex', categoryId: 7 }, { idempotencyKey: 'k' });
  await assert.rejects(adding, { message: new RegExp(`reach .*: connect failed; ${inDoubt}$`) });
  // An error without a cause is a browser's.
  const browser = scriptedClient([breaks], { retries: 0 }).client;
  await assert.rejects(browser.listPets(), { code: 'network_failure', message: /\(CORS\)$/ });
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
});

/** Moments of a call: its step, and the timers that run then. */
const MOMENTS: readonly (readonly [when: string, step: Step, running: readonly number[]])[] = [
  ['before a response', hangs, [TIMEOUT_MS]],
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
  const link = { Link: '</v1/pets?after=1>; rel="next"' };
  const { client, sent, clock } = scriptedClient([answers(200, `[${PET_TEXT}]`, link)]);
  const reason = new Error('Never mind');
  await assert.rejects(client.getPet(1n, { signal: AbortSignal.abort(reason) }), reason);
  assert.deepEqual([sent.length, clock.running()], [0, []]);
  const controller = new AbortController();
  const pets = client.allPets({}, { signal: controller.signal });
  assert.deepEqual((await pets.next()).value, REX);
  controller.abort(reason);
  await assert.rejects(pets.next(), reason);
  assert.equal(sent.length, 1);
});

test('A signal that several calls share has no listeners after them', async () => {
  const { client } = scriptedClient([PAGE, PAGE, breaks, PAGE]);
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i += 1) await client.listPets({}, { signal });
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});
