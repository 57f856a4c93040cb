/**
 * CORS: which web pages may use the service from a browser (the Fetch standard, section 3.3).
 *
 * A browser asks first, without the API key, whether it may send one: such a preflight is answered
 * before authentication. It tells nothing but what is written here.
 */

import type { CorsPolicy } from '../http/cors-policy.ts';
import { emptyResponse } from '../http/api-response.ts';

/** `origins` are such as `https://shop.example`, or `*` for all. */
export function createCors(origins: readonly string[]): CorsPolicy {
  const allowsAll = origins.includes('*');
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && (allowsAll || origins.includes(origin));
  // An answer that depends on the origin must not be taken from a cache for another.
  const vary = allowsAll ? [] : ['Vary', 'Origin'];
  return {
    preflight({ method, headers }) {
      const isPreflight =
        method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      if (!isPreflight || !isAllowed(headers.origin)) return undefined;
      return emptyResponse(PREFLIGHT_HEADERS);
    },
    headersFor(origin) {
      if (!isAllowed(origin)) return vary;
      return ['Access-Control-Allow-Origin', allowsAll ? '*' : origin, ...vary, ...EXPOSED];
    },
  };
}

const PREFLIGHT_HEADERS: readonly string[] = [
  'Access-Control-Allow-Methods',
  'GET, HEAD, POST',
  'Access-Control-Allow-Headers',
  'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
  'Access-Control-Max-Age',
  '600',
];

const EXPOSED: readonly string[] = [
  'Access-Control-Expose-Headers',
  'Link, Location, Idempotent-Replayed, Deprecation, Sunset, Retry-After, Allow, ' +
    'WWW-Authenticate, X-Request-Id',
];

/** True for an origin as browsers send it, and for '*'. */
export function isOrigin(text: string): boolean {
  return text === '*' || (URL.canParse(text) && new URL(text).origin === text);
}
