/**
 * How long to wait before a request is sent again: exponential backoff with jitter, and never less
 * than the service asked for by Retry-After (RFC 9110 section 10.2.3).
 */

import type { Clock } from './clock.ts';

/** A Retry-After longer than this is not waited for: the caller gets the failure at once. */
const MAX_RETRY_AFTER_MS = 30_000;

/** Milliseconds; undefined when another try makes no sense. `attempt` counts from 0. */
export function retryDelayMs(
  attempt: number,
  retryAfter: string | null,
  clock: Clock,
): number | undefined {
  const askedMs = retryAfter === null ? 0 : readRetryAfter(retryAfter, clock.now());
  if (askedMs > MAX_RETRY_AFTER_MS) return undefined;
  const backoffMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** attempt);
  // Clients that failed together must not all come back together: half of the backoff is chance.
  return Math.round(askedMs + backoffMs * (0.5 + clock.random() / 2));
}

const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5000;

/** Seconds or an HTTP date; 0 for anything else. */
function readRetryAfter(field: string, now: number): number {
  if (/^[0-9]+$/.test(field)) return Number(field) * 1000;
  // Date.parse takes nearly anything, '-1' too, so this only lets HTTP dates through to it.
  const date = /^[A-Z][a-z]+, [-\w: ]+ GMT$/.test(field) ? Date.parse(field) : NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
