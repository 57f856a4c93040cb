/** A CORS policy: what a service lets web pages of other origins do. */

import type { IncomingMessage } from 'node:http';
import type { ApiResponse } from './api-response.ts';

export interface CorsPolicy {
  /** The answer to a preflight from an allowed origin; undefined for every other request. */
  preflight(request: IncomingMessage): ApiResponse | undefined;
  /** Header fields of every response to this origin, except at public paths, open to any page. */
  headersFor(origin: string | undefined): readonly string[];
}
