/**
 * The id of a request: the client's own, where it can be trusted not to be harmful, or a new one.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A client's X-Request-Id is kept when it is short and plain. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && PLAIN_ID.test(given) ? given : randomUUID();
}

const PLAIN_ID: RegExp = /^[A-Za-z0-9._-]{1,64}$/;
