/** A request that has its response, as metrics and the access log see it. */

import type { IncomingMessage } from 'node:http';

export interface RequestRecord {
  readonly request: IncomingMessage;
  /** The operation's name, '' if the request was for none. */
  readonly operation: string;
  /**
   * The path as it was sent, without query and host; '' if the target could not be read. The rest
   * of a target is private.
   */
  readonly path: string;
  readonly status: number;
  /** Bytes of the body that are sent: 0 for HEAD. */
  readonly bodyBytes: number;
  /** When the requests before it on its connection had their responses, by performance.now(). */
  readonly startedAt: number;
  /** '' if requests have none. */
  readonly requestId: string;
}
