/**
 * The bounds on what a client can make grow, each with its reason. All bounds are in one table in
 * ops/README.md.
 *
 * Those of a body are with its reader (request-body.ts, lingering-close.ts), those of the store's
 * queue with the store.
 */

/** Times in milliseconds, sizes in bytes; where node:http has a name, it is that. */
export interface Limits {
  /** A client that dribbles its header holds a connection no longer than this. */
  readonly headersTimeout: number;
  /** For the header and the body together. */
  readonly requestTimeout: number;
  /** How often connections are looked at: node:http's own 30 s would make the times coarse. */
  readonly connectionsCheckingInterval: number;
  /**
   * A connection on which nothing comes is closed; longer than the 60 s after which most proxies
   * close theirs. One on which something comes, but no request, has headersTimeout in addition.
   */
  readonly keepAliveTimeout: number;
  /**
   * A connection on which a response is due, and no byte of it goes out, is closed: its client does
   * not read, or its response never comes, whatever the cause.
   */
  readonly timeout: number;
  /** What node:http takes by default, and most proxies send. */
  readonly maxHeaderSize: number;
  /** Room for a thousand, and for those who look after the service. */
  readonly maxConnections: number;
  /**
   * Pipelined requests that wait, on all connections together: about 3 KB each. One with many
   * header fields counts once more for each 50 of them. What happens beyond it: pipelining.ts.
   */
  readonly maxWaitingRequests: number;
}

export const LIMITS: Limits = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  timeout: 60_000,
  maxHeaderSize: 16 << 10,
  maxConnections: 1024,
  maxWaitingRequests: 16_384,
};
