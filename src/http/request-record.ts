/** A request with its response, for the metrics and the access log. */

import type { IncomingMessage } from 'node:http';
import type { KeyUse } from './keyring.ts';
import type { PreparedOperation } from './routes.ts';

export interface RequestRecord {
  readonly request: IncomingMessage;
  readonly facts: RequestFacts;
  readonly status: number;
  /** Bytes of the response body, 0 for HEAD. */
  readonly bodyBytes: number;
  /** When the listener got the request, after all earlier responses, by performance.now(). */
  readonly startedAt: number;
  /** '' if requests have none. */
  readonly requestId: string;
}

/** What the header of a request says. */
export interface RequestFacts {
  /**
   * The path as it was sent, or '' if the request breaks a rule of HTTP. It has neither the query
   * nor the host, which may be secret.
   */
  readonly path: string;
  /** The use of its API key, or undefined without a valid one. */
  readonly keyUse: KeyUse | undefined;
  /** The requested operation, if any. */
  readonly prepared: PreparedOperation | undefined;
  /** True if web pages of any origin may read the response. */
  readonly isPublic: boolean;
  /** False if it breaks a rule of HTTP: a proxy may have understood it differently. */
  readonly passedRequestRules: boolean;
}
