/** A CORS policy: what web pages of other origins may do. */

import type { IncomingMessage } from 'node:http';
import type { ApiResponse } from './api-response.ts';

export interface CorsPolicy {
  /**
   * Returns the response to a preflight from an allowed origin, or undefined for other requests.
   */
  preflight(request: IncomingMessage): ApiResponse | undefined;
  /** Returns the header fields of every response to this origin, except at public paths. */
  headersFor(origin: string | undefined): readonly string[];
}
