/**
 * The access log: one line for each response of the listener. What the server refuses by itself has
 * none, such as a body that is malformed or late (408), nor has a body that its client cuts off.
 *
 * A line has neither the query nor a header field except the request id. Of an API key it has the
 * name, which is empty if the key is unknown or missing: the client's address then shows who
 * guesses keys.
 *
 * The address is that of the connection, so behind a proxy it is the proxy's. X-Forwarded-For is
 * ignored, since any client can send one.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Logger } from '../../core/base/logger.ts';
import type { Exchange, Policy } from '../../core/http/handle-request.ts';

/** The ids of requests, which their responses carry. */
export interface RequestIds extends Policy {
  idOf(request: IncomingMessage): string;
}

export function createRequestIds(): RequestIds {
  const ids = new WeakMap<IncomingMessage, string>();
  const idOf = (request: IncomingMessage): string => {
    const id = ids.get(request) ?? identify(request);
    ids.set(request, id);
    return id;
  };
  return {
    idOf,
    responseFor(request) {
      // The log asks for both when the response is known. By then the client may have gone.
      idOf(request);
      return undefined;
    },
    headersFor: (request) => ['X-Request-Id', idOf(request)],
  };
}

/** Returns a request's id: its X-Request-Id if that is short and plain, or else a new one. */
function identify({ headers, socket }: IncomingMessage): string {
  // Makes Node.js remember it: a closed socket no longer knows it.
  void socket.remoteAddress;
  const given = headers['x-request-id'];
  return typeof given === 'string' && PLAIN_ID.test(given) ? given : randomUUID();
}

const PLAIN_ID: RegExp = /^[A-Za-z0-9._-]{1,64}$/;

export function logResponse(
  logger: Logger,
  exchange: Exchange,
  requestId: string,
  seconds: number,
): void {
  logger('info', 'Answered', {
    requestId,
    client: exchange.request.socket.remoteAddress ?? '',
    method: exchange.request.method ?? '',
    path: exchange.path,
    operation: exchange.operation ?? '',
    key: exchange.keyName ?? '',
    status: exchange.status,
    bytes: exchange.bodyBytes,
    durationMs: Math.round(seconds * 1e6) / 1000,
  });
}
