/**
 * The limits of connections and headers, each with its reason. One table in ops/README.md lists all
 * limits on what a client can make grow.
 *
 *     who closes a connection   when
 *     node:http                 a request takes longer than headersTimeout or requestTimeout (408),
 *                               or it is idle too long
 *     http-server.ts            its bytes are not HTTP, or it asks for CONNECT
 *     stalled-connections.ts    it makes no progress, or too many are open and it is idle longest
 *     handle-request.ts         after a response: the rest of its request is not read, or breaks a
 *                               rule of HTTP, or has too many fields, or the service stops
 *     stop-server.ts            it is idle during a stop, or busy when the time of the stop ends
 */

/** Times in milliseconds, sizes in bytes, and the names of node:http if it has the limit. */
export type Limits = Readonly<typeof LIMITS>;

export const LIMITS = {
  /** How long a client may take to send a header. */
  headersTimeout: 10_000,
  /** How long a client may take to send the header and the body together. */
  requestTimeout: 20_000,
  /** How often connections are checked: with node:http's 30 s the timeouts would be coarse. */
  connectionsCheckingInterval: 1000,
  /**
   * How long a connection is kept that is idle, or on which nothing was sent: longer than the 60 s
   * of most proxies. One that receives bytes, but no request, has headersTimeout in addition.
   */
  keepAliveTimeout: 65_000,
  /**
   * How long a response that is due may make no progress before its connection is closed: its
   * client does not read, or the response never comes, whatever the cause.
   */
  timeout: 60_000,
  /** The longest header: the default of node:http, and the longest that most proxies send. */
  maxHeaderSize: 16_384,
  /** The most connections: 1,000 clients, and some more for those who operate the service. */
  maxConnections: 1024,
};
