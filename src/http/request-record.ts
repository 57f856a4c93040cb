/** A request that was answered, as metrics and the access log get to know it. */

import type { IncomingMessage } from 'node:http';

export interface RequestRecord {
  readonly request: IncomingMessage;
  /** The operation's name, '' where the request was for none. */
  readonly operation: string;
  /**
   * The path as it was sent, without query and host; '' where the target could not be read. What
   * else is in a target is private.
   */
  readonly path: string;
  readonly status: number;
  /** Bytes of the body that are sent: none for HEAD. */
  readonly bodyBytes: number;
  /** When the request's turn on its connection had come, by performance.now(). */
  readonly startedAt: number;
  /** '' where requests have none. */
  readonly requestId: string;
}
