/** A fetch with scripted responses, and a clock that does not wait. */

import assert from 'node:assert/strict';
import { afterEach, mock } from 'node:test';
import { createClient, type ClientOptions } from '../../src/client/client.ts';

export const BASE_URL = 'http://pets.example/v1';
export const API_KEY = 'secret-Key-1';

/** The time at the start of a test. */
export const START: number = Date.parse('2026-11-21T12:00:00Z');

export interface SentRequest {
  readonly url: string;
  readonly init: RequestInit;
}

/** Returns the response to one request, or rejects as fetch does. */
export type Step = (request: SentRequest) => Response | Promise<Response>;

/** Returns a client whose requests take these steps in order. One more request fails. */
export function scriptedClient(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
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

export function answers(status: number, body: string, headers: Fields = {}): Step {
  return () => new Response(body, { status, headers });
}

export function answersError(status: number, code: string, headers: Fields = {}): Step {
  return answers(status, JSON.stringify({ code, message: `It is ${code}`, status }), headers);
}

export const breaks: Step = () => Promise.reject(new TypeError('fetch failed'));

/** Never responds, but rejects when the request is aborted, as fetch does. */
export const hangs: Step = ({ init }) =>
  new Promise((_resolve, reject) => {
    init.signal!.addEventListener('abort', () => reject(init.signal!.reason));
  });

export const PET_TEXT = '{"id":1,"name":"Rex","categoryId":7}';

const UPTIME_MS = 1e9;

/** Timers of up to 60 s are waits, which pass immediately. Longer timers are time limits. */
const LONGEST_WAIT_MS = 60_000;
/** The time limit of a client, unless its test has another. */
export const TIMEOUT_MS: number = LONGEST_WAIT_MS + 10_000;

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
