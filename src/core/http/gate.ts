/**
 * Gate: when each request of a connection is served.
 *
 * A client may send requests without waiting for the responses before them (pipelining). The server
 * owes it the responses in the order of the requests, and nothing after the last one (RFC 9112
 * sections 9.3.2 and 9.6). A gate keeps both promises, and bounds what waits; the server does all
 * else. Its own gate is the queue in request-queue.ts.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Listener } from './handle-request.ts';

export interface Gate {
  /** Called with each new connection. */
  open(socket: Socket): void;

  /**
   * Called with each request that node:http has parsed. Calls `serve` with it in its turn: after
   * all responses before it have gone out. Never does so behind the last response of a connection.
   */
  request(turn: Turn): void;

  /** Called when a response has gone out. */
  sent(socket: Socket): void;

  /**
   * Called when the parser has stopped: with its error, or with undefined after CONNECT. Calls
   * `write` when all responses before the last one have gone out. Ignores a timeout of a connection
   * that is not read: its client is not late.
   */
  last(socket: Duplex, error: ParserError | undefined, write: WriteLast): void;
}

/** A request, with the function that serves it in its turn. */
export interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly serve: Listener;
}

/**
 * Writes the last response of a connection. If the error is in the body of a request, it is the
 * response to that request; if that has a response already, it is not called.
 */
export type WriteLast = (request: IncomingMessage | undefined) => void;

/** What node:http adds to the errors of its parser. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string;
}

/** The code of a ParserError if a request did not arrive in time. */
export const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
