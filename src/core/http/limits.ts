/**
 * The limits of connections and headers, each with its reason. One table in extras/ops/README.md
 * lists all limits on what a client can make grow.
 *
 *     who closes a connection   when
 *     node:http                 a request takes longer than headersTimeout or requestTimeout (408),
 *                               or it is idle too long
 *     http-server.ts            its bytes are not HTTP, or it asks for CONNECT
 *     stalled-connections.ts    it makes no progress, or it has to make room for a new one
 *     handle-request.ts         after a response: the rest of its request is not read, or breaks a
 *                               rule of HTTP, or has too many fields, or the service stops
 *     stop-server.ts            it is idle during a stop, or busy when the time of the stop ends
 */

import { condition, type Check } from '../base/option-error.ts';

/** Times in milliseconds, sizes in bytes, and the names of node:http, which enforces the limits. */
export type Limits = Readonly<typeof LIMITS>;

export const LIMITS = {
  /** How long a client may take to send a header. */
  headersTimeout: 10_000,
  /** How long a client may take to send the header and the body together. */
  requestTimeout: 20_000,
  /** How often connections are checked: with node:http's 30 s the timeouts would be coarse. */
  connectionsCheckingInterval: 1000,
  /** How long a connection is kept that is idle after a response: most proxies keep it for 60 s. */
  keepAliveTimeout: 65_000,
  /**
   * How long another connection is kept on which no byte goes in either direction: before its first
   * request, or because its client does not read, or its response never comes.
   */
  timeout: 60_000,
  /** The longest header: the default of node:http, and the longest that most proxies send. */
  maxHeaderSize: 16_384,
  /** The most connections: 1,000 clients, and some more for those who operate the service. */
  maxConnections: 1024,
};

/** The longest time of a timer, 24 days: a longer one would be over after a millisecond. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

export const aLimit: Check = from(0);

export const LIMIT_CHECKS: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(Object.keys(LIMITS).map((name) => [name, aLimit])),
  // Of 0, Node.js 20 makes no limit, and later versions no connection.
  maxConnections: from(1),
};

function from(least: number): Check {
  return condition(
    `a number from ${least} on`,
    (value) => typeof value === 'number' && value >= least,
  );
}
