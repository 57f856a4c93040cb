/** A CORS policy: what a service lets web pages of other origins do. */

import type { IncomingMessage } from 'node:http';
import type { ApiResponse } from './api-response.ts';

export interface CorsPolicy {
  /** The answer to a preflight from an allowed origin; undefined for every other request. */
  preflight(request: IncomingMessage): ApiResponse | undefined;
  /** Header fields of every answer, but of public operations, which any page may read. */
  headersFor(request: IncomingMessage): readonly string[];
}
