/** A request that has its response, as metrics and the access log see it. */

import type { IncomingMessage } from 'node:http';
import type { KeyUse } from './keyring.ts';
import type { PreparedOperation } from './routes.ts';

export interface RequestRecord {
  readonly request: IncomingMessage;
  readonly facts: RequestFacts;
  readonly status: number;
  /** Bytes of the body that are sent: 0 for HEAD. */
  readonly bodyBytes: number;
  /** When the requests before it on its connection had their responses, by performance.now(). */
  readonly startedAt: number;
  /** '' if requests have none. */
  readonly requestId: string;
}

/** What is known of a request when its header was looked at. */
export interface RequestFacts {
  /**
   * The path as it was sent, without query and host; '' if the target could not be read. The rest
   * of a target is private.
   */
  readonly path: string;
  /** Of the API key that was presented; undefined without a valid one. */
  readonly keyUse: KeyUse | undefined;
  /** The operation that is asked for, if any. */
  readonly prepared: PreparedOperation | undefined;
  /** True if web pages of any origin may read what is at the path. */
  readonly isPublic: boolean;
  /** False if the request broke a rule of HTTP: others may have understood it differently. */
  readonly passedRequestRules: boolean;
}
