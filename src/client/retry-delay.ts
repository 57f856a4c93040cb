/**
 * The wait before a retry: exponential backoff with jitter, but at least what the service requests
 * with Retry-After (RFC 9110 section 10.2.3).
 */

/** With a longer Retry-After the client does not retry: the caller gets the failure immediately. */
const MAX_RETRY_AFTER_MS = 30_000;

/** Returns milliseconds, or undefined if Retry-After is too long. `attempt` counts from 0. */
export function retryDelayMs(attempt: number, retryAfter: string | null): number | undefined {
  const askedMs = retryAfter === null ? 0 : readRetryAfter(retryAfter);
  if (askedMs > MAX_RETRY_AFTER_MS) return undefined;
  const backoffMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** attempt);
  // Half of the backoff is random, so that clients that failed together do not retry together.
  return Math.round(askedMs + backoffMs * (0.5 + Math.random() / 2));
}

const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5000;

/** Reads seconds or an HTTP date. Returns milliseconds, 0 for any other text. */
function readRetryAfter(field: string): number {
  if (/^[0-9]+$/.test(field)) return Number(field) * 1000;
  // Date.parse accepts nearly anything, even '-1', so only HTTP dates are passed to it.
  const date = /^[A-Z][a-z]+, [-\w: ]+ GMT$/.test(field) ? Date.parse(field) : NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

/**
 * Resolves after `ms`. Rejects with the reason of `signal` if that is aborted. The listener is not
 * removed, because each call has a new signal.
 */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
