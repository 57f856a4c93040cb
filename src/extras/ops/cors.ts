/**
 * CORS: which web pages may use the service from a browser (the Fetch standard, section 3.3).
 *
 * A browser first asks, without the API key, whether it may send one. The response to this
 * preflight comes before authentication. Pages of an allowed origin may send whatever header fields
 * they ask for: tools that trace requests add their own, such as traceparent.
 */

import type { Policy } from '../../core/http/handle-request.ts';
import type { Operation } from '../../core/http/operation.ts';
import { methodsOf } from '../../core/http/router.ts';
import { emptyResponse } from '../../core/http/http-response.ts';

/**
 * Returns the policy for these origins, such as `https://shop.example`, or `*` for all, and for the
 * methods that the operations have.
 */
export function createCors(
  origins: readonly string[],
  operations: () => readonly Operation[],
): Policy {
  const allowsAll = origins.includes('*');
  const isAllowed = (origin: string | undefined): origin is string =>
    origin !== undefined && (allowsAll || origins.includes(origin));
  // A cache must not reuse a response that depends on the origin for another origin.
  const vary = allowsAll ? [] : ['Vary', 'Origin'];
  return {
    responseFor({ method, headers }) {
      const isPreflight =
        method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      if (!isPreflight || !isAllowed(headers.origin)) return undefined;
      const methods = methodsOf(operations()).join(', ');
      const asked = headers['access-control-request-headers'] ?? '';
      return emptyResponse([
        ...['Access-Control-Allow-Methods', methods, 'Access-Control-Max-Age', '600'],
        ...['Access-Control-Allow-Headers', FIELD_NAMES.test(asked) ? asked : USUAL_FIELDS],
      ]);
    },
    headersFor({ headers: { origin } }, { headers }) {
      // A response that any web page may read has that field already.
      if (headers.includes('Access-Control-Allow-Origin')) return [];
      if (!isAllowed(origin)) return vary;
      return ['Access-Control-Allow-Origin', allowsAll ? '*' : origin, ...vary, ...EXPOSED];
    },
  };
}

const USUAL_FIELDS = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id';
/** Field names, which are tokens (RFC 9110 section 5.6.2), as browsers send them. */
const FIELD_NAMES: RegExp = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;

const EXPOSED: readonly string[] = [
  'Access-Control-Expose-Headers',
  'Link, Location, Idempotent-Replayed, Deprecation, Sunset, Retry-After, Allow, ' +
    'WWW-Authenticate, X-Request-Id',
];

/**
 * Returns true for an origin as browsers send it, and for '*'. A `*` in a host is valid in a URL,
 * but matches no origin.
 */
export function isOrigin(text: string): boolean {
  if (text === '*') return true;
  return !text.includes('*') && URL.canParse(text) && new URL(text).origin === text;
}
