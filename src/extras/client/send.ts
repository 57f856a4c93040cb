/**
 * Sends one request, with retries if they are safe, until its response, its time limit or an abort.
 *
 * A GET is retried after no response, 502, 503 and 504. A POST with an idempotency key is retried
 * after the same and after 500, since the key stores one pet however often it is sent. A POST
 * without a key is retried only after the service's own 503, whose code `unavailable` promises that
 * nothing was added. After no response or a proxy's 503 it may have been executed: the caller must
 * decide.
 */

import { cut } from '../../core/base/quote.ts';
import { errorFrom, withoutKey, type ServiceResponse } from './responses.ts';
import { PetStoreError } from './pet-store-error.ts';

export interface PetStoreRequest {
  readonly operation: 'listPets' | 'createPet' | 'getPet' | 'metrics';
  readonly url: URL;
  /** The NewPet of a POST. A request without a body is a GET. */
  readonly body?: string;
  readonly idempotencyKey?: string | undefined;
}

export interface SendOptions {
  readonly fetch: typeof fetch;
  readonly apiKey: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly retries: number;
}

/**
 * Resolves with the response, which has the expected status. Rejects with a PetStoreError, or with
 * the reason of `signal` if that is aborted.
 */
export async function send(
  request: PetStoreRequest,
  options: SendOptions,
): Promise<ServiceResponse> {
  const { signal, timeoutMs, retries } = options;
  // Aborted when the time has passed or the caller's signal is aborted.
  const limit = new AbortController();
  const calls = signal && callsOf(signal);
  if (signal?.aborted) limit.abort(signal.reason);
  calls?.add(limit);
  const onTime = (): void => {
    const message = `${describe(request)} took longer than ${timeoutMs} ms${effect(request, true)}`;
    limit.abort(new PetStoreError('timeout', message));
  };
  const timer = timeoutMs > MAX_TIMEOUT_MS ? undefined : setTimeout(onTime, timeoutMs);
  const endsAt = performance.now() + timeoutMs;
  let mayBeAdded = false;
  try {
    for (let attempt = 0; ; attempt += 1) {
      limit.signal.throwIfAborted();
      const outcome = await sendOnce(request, options, limit.signal, mayBeAdded);
      if (!('error' in outcome)) return outcome;
      mayBeAdded ||= outcome.mayBeAdded;
      const isFinal = attempt >= retries || outcome.isFinal === true;
      if (isFinal || !isSafeToRepeat(request, outcome.error)) throw outcome.error;
      const delayMs = retryDelayMs(attempt, outcome.askedMs);
      // A wait beyond the time limit would replace the failure by a timeout.
      if (delayMs === undefined || performance.now() + delayMs >= endsAt) throw outcome.error;
      await wait(delayMs, limit.signal);
    }
  } finally {
    clearTimeout(timer);
    calls?.delete(limit);
  }
}

/**
 * Returns the calls in progress that an abort of the caller's signal ends. They share a
 * listener, since Node warns of more than ten on one signal.
 */
function callsOf(signal: AbortSignal): Set<AbortController> {
  const known = callsOfSignals.get(signal);
  if (known !== undefined) return known;
  const calls = new Set<AbortController>();
  callsOfSignals.set(signal, calls);
  const abort = (): void => calls.forEach((call) => call.abort(signal.reason));
  signal.addEventListener('abort', abort, { once: true });
  return calls;
}

const callsOfSignals = new WeakMap<AbortSignal, Set<AbortController>>();

/** The longest time of a timer, 25 days. A longer one would fire immediately. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

interface Failure {
  readonly error: PetStoreError;
  /** False if nothing was sent, or the service has refused the request. */
  readonly mayBeAdded: boolean;
  /** True if the same request would fail again. */
  readonly isFinal?: boolean;
  /** The wait that the service asks for. */
  readonly askedMs: number;
}

async function sendOnce(
  request: PetStoreRequest,
  { fetch, apiKey }: SendOptions,
  signal: AbortSignal,
  wasInDoubt: boolean,
): Promise<ServiceResponse | Failure> {
  const { url, body = null, idempotencyKey } = request;
  const headers: Record<string, string> = {
    Authorization: `Bearer ${apiKey}`,
    Accept: 'application/json',
    ...(body === null ? {} : { 'Content-Type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
  };
  // A redirect may change POST to GET, and may lead to another host.
  const method = body === null ? 'GET' : 'POST';
  const init = { method, headers, body, signal, redirect: 'manual' } as const;
  const receive = async (): Promise<ServiceResponse> => {
    const response = await fetch(url.href, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  };
  let received: ServiceResponse;
  try {
    received = await orAborted(receive(), signal);
  } catch (cause) {
    signal.throwIfAborted();
    const { what, reason, hint = '', ...failure } = whyNoResponse(cause, url, init);
    const why = withoutKey(cut(reason, LONGEST_REASON), apiKey);
    const after = effect(request, wasInDoubt || failure.mayBeAdded);
    const message = `${describe(request)} ${what}: ${why}${hint}${after}`;
    const error = new PetStoreError('network_failure', message, undefined, { cause });
    return { error, ...failure, askedMs: 0 };
  }
  const { status } = received;
  if (status === (body === null ? 200 : 201)) return received;
  const answer = errorFrom(received, apiKey);
  const mayBeAdded = answer.code === 'unexpected_status' || (status >= 500 && !isRefusal(answer));
  const error = withHints(request, answer, wasInDoubt || mayBeAdded);
  return { error, mayBeAdded, askedMs: readRetryAfter(received.headers) };
}

/** The page's address, in a browser. */
declare const location: { readonly origin: string } | undefined;

/**
 * Returns why fetch rejected. In Node the reason is in the cause of fetch's error, for each address
 * if there are several. The error of a browser has no cause, and may be due to CORS.
 */
function whyNoResponse(error: unknown, { origin, href }: URL, init: RequestInit) {
  const { message = String(error), cause } = Object(error) as Cause;
  try {
    // Throws for what fetch refuses before it sends anything, such as a signal of jsdom.
    if (typeof Request === 'function') new Request(href, init);
  } catch {
    return { what: 'cannot be sent', reason: message, mayBeAdded: false, isFinal: true };
  }
  // The error of Bun is its own cause.
  const causes = Array.isArray(cause?.errors)
    ? (cause.errors as Cause[])
    : [cause ?? (error as Cause)];
  const reason = causes[0]?.message || message;
  if (causes.length > 0 && causes.every(isBeforeSending)) {
    return { what: 'cannot reach the service', reason, mayBeAdded: false };
  }
  const page = typeof location === 'undefined' ? undefined : location.origin;
  const hint = cause === undefined && page !== undefined && page !== origin ? CORS : '';
  return { what: 'got no complete response', reason, hint, mayBeAdded: true };
}

const LONGEST_REASON = 200;
const CORS = ', or the page is from an origin that the service does not allow (CORS)';

interface Cause {
  readonly message?: string;
  readonly syscall?: string;
  readonly code?: string;
  readonly errors?: unknown;
  readonly cause?: Cause;
}

/**
 * True for an error from before the first byte of a request: in a system call that happens before
 * it, of undici's own time limit, of a certificate that is not trusted, or of a blocked port.
 */
function isBeforeSending(cause: Cause | undefined): boolean {
  const { message, syscall, code } = Object(cause) as Cause;
  if (syscall !== undefined) return syscall === 'getaddrinfo' || syscall === 'connect';
  return BEFORE_SENDING.test(code ?? '') || message === 'bad port';
}

const BEFORE_SENDING: RegExp = /^UND_ERR_CONNECT|^ConnectionRefused$|^(?!ERR_SSL).*(?:CERT|VERIFY)/;

/**
 * Adds what the service did not say. With the right base URL no request gets 404 or 405, except
 * getPet for an unknown id. And the refusal of a retry is about that request only: an attempt
 * before it may have added the pet.
 */
function withHints(
  request: PetStoreRequest,
  { code, message, status }: PetStoreError,
  mayBeAdded: boolean,
): PetStoreError {
  const isElsewhere = status === 404 || status === 405;
  const isUnknownId = request.operation === 'getPet' && code === 'not_found';
  const hint = isElsewhere && !isUnknownId ? `; ${BASE_URL_HINT}` : '';
  const doubt = mayBeAdded && code !== 'outcome_unknown' ? effect(request, true) : '';
  return new PetStoreError(code, `${message}${hint}${doubt}`, status);
}

const BASE_URL_HINT = 'check the base URL: it ends in /v1, such as https://host/v1';

/** True for the service's own 503: it has added nothing for this request. */
function isRefusal({ status, code }: PetStoreError): boolean {
  return status === 503 && code === 'unavailable';
}

function isSafeToRepeat(request: PetStoreRequest, error: PetStoreError): boolean {
  const { status, code } = error;
  const hasKey = request.idempotencyKey !== undefined;
  if (request.body !== undefined && !hasKey) return isRefusal(error);
  if (hasKey && status === 500) return true;
  return code === 'network_failure' || status === 502 || status === 503 || status === 504;
}

function describe({ operation, url }: PetStoreRequest): string {
  return `${operation} at ${url.origin}`;
}

/** Returns what a message says of the pet that a POST should add. */
function effect({ body }: PetStoreRequest, mayBeAdded: boolean): string {
  if (body === undefined) return '';
  return mayBeAdded ? '; whether the pet was added is not known' : '; no pet was added';
}

/** With a longer Retry-After the client does not retry: the caller gets the failure immediately. */
const MAX_RETRY_AFTER_MS = 30_000;

/**
 * Returns the wait before a retry in milliseconds, or undefined if Retry-After is too long: an
 * exponential backoff with jitter after what the service requests with Retry-After (RFC 9110,
 * section 10.2.3). `attempt` counts from 0.
 */
function retryDelayMs(attempt: number, askedMs: number): number | undefined {
  if (askedMs > MAX_RETRY_AFTER_MS) return undefined;
  const backoffMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** attempt);
  // Half of the backoff is random, so that clients that failed together do not retry together.
  return Math.round(askedMs + backoffMs * (0.5 + Math.random() / 2));
}

const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5000;

/**
 * Reads seconds, or an HTTP date, to which the response's own Date is compared: the two clocks may
 * differ. Returns milliseconds, 0 for any other text.
 */
function readRetryAfter(headers: Headers): number {
  const field = headers.get('Retry-After') ?? '';
  if (/^[0-9]+$/.test(field)) return Number(field) * 1000;
  // Date.parse accepts nearly anything, even '-1', so only HTTP dates are passed to it.
  const date = /^[A-Z][a-z]+, [-\w: ]+ GMT$/.test(field) ? Date.parse(field) : NaN;
  const now = Date.parse(headers.get('Date') ?? '') || Date.now();
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

/** Resolves after `ms`. Rejects with the reason of `signal` if that is aborted. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await orAborted(passed, signal).finally(() => clearTimeout(timer));
}

/**
 * Settles as `work`, or rejects with the reason of `signal` as soon as that is aborted: a fetch of
 * the caller may not look at it. The listener is not removed, since each call has a new signal.
 */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    work.then(resolve, reject);
    signal.throwIfAborted();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
