/**
 * The bounds on what a client can make grow, each with its reason. The README has them as a table.
 *
 * Those of a body are with its reader (request-body.ts, drop-body.ts), those of the store's queue
 * with the store.
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
   * A connection on which nothing comes; longer than the 60 s after which most proxies give up. One
   * on which something comes, but no request, is cut off after this and headersTimeout.
   */
  readonly keepAliveTimeout: number;
  /**
   * A connection on which an answer is due, and no byte of it goes out. A client that does not read
   * is cut off, and so is one whose answer never comes, whatever the cause.
   */
  readonly timeout: number;
  readonly maxHeaderSize: number;
  /** Room for a thousand, and for those who look after the service. */
  readonly maxConnections: number;
  /**
   * Requests that wait for their turn, on all connections together: some 3 KB each, and one with
   * many header fields counts once more for each 50 of them. One connection
   * never has more than fit in the 64 KiB that node:http reads at a time, about 3,600.
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
