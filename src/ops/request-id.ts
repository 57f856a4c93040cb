/** The id of a request: the client's X-Request-Id if it is short and plain, or else a new one. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && PLAIN_ID.test(given) ? given : randomUUID();
}

const PLAIN_ID: RegExp = /^[A-Za-z0-9._-]{1,64}$/;
