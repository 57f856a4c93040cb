/**
 * The access log: one line for each request that got to the listener. It has neither the query nor
 * a header field except the request id. Of an API key it has the name, which is empty if the key is
 * unknown or missing: the client's address then shows who guesses keys.
 *
 * The address is that of the connection, so behind a proxy it is the proxy's. X-Forwarded-For is
 * ignored, since any client can send one.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Log } from '../base/log.ts';
import type { RequestSummary } from '../http/handle-request.ts';

/** Returns a request's id: its X-Request-Id if that is short and plain, or else a new one. */
export function identifyRequest({ headers, socket }: IncomingMessage): string {
  // Makes Node.js remember it: a closed socket no longer knows it.
  void socket.remoteAddress;
  const given = headers['x-request-id'];
  return typeof given === 'string' && PLAIN_ID.test(given) ? given : randomUUID();
}

const PLAIN_ID: RegExp = /^[A-Za-z0-9._-]{1,64}$/;

export function logRequest(log: Log, summary: RequestSummary, seconds: number): void {
  log('info', 'Answered', {
    requestId: summary.requestId,
    client: summary.request.socket.remoteAddress ?? '',
    method: summary.request.method ?? '',
    path: summary.path,
    operation: summary.operation,
    key: summary.keyUse?.name ?? '',
    status: summary.status,
    bytes: summary.bodyBytes,
    durationMs: Math.round(seconds * 1e6) / 1000,
  });
}
